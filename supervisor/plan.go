package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/unit"
)

// Request is what someone wants run.
type Request struct {
	Image      []byte       // a WASM module; nil if Tree is set
	Tree       *host.Tree   // an image of several files, one of which the entrypoint names
	Native     *host.Native // a program that isn't WASM, and the root filesystem that it is in
	Entrypoint []string
	Grants     grant.Set
	Placement  unit.Placement
	Manifest   joulebox.ID
	Challenge  []byte // a relying party's freshness value, 8 to 64 bytes
}

// Plan is a request made canonical once: the same values are checked, enforced,
// kept and signed.
type Plan struct {
	Unit     unit.Unit
	UnitID   joulebox.ID
	GrantsID joulebox.ID
	Grants   grant.Set
	Tier     joulebox.Tier
	Reasons  []grant.Reason

	image     []byte
	tree      *host.Tree
	native    *host.Native
	unitBytes []byte
	executor  host.Executor
	meters    []meter.Meter
	tampered  bool
}

// Plan settles what a request is and at which tier it would run. It returns a
// *DeclinedError, with the plan as far as it got, when this host won't run it.
func (s *Supervisor) Plan(r Request) (*Plan, error) {
	p, err := newPlan(r)
	if err != nil {
		return nil, err
	}
	p.Tier, p.Reasons = grant.RequiredTier(s.tierRequest(r))
	return p, s.place(p)
}

func newPlan(r Request) (*Plan, error) {
	canonical, err := r.Grants.Canonical()
	if err != nil {
		return nil, fmt.Errorf("grants: %w", err)
	}
	p := &Plan{Grants: r.Grants, GrantsID: joulebox.Sum(canonical), image: r.Image, tree: r.Tree, native: r.Native}
	p.Unit = unit.Unit{
		ImageID:    r.imageID(),
		Entrypoint: r.Entrypoint,
		Grants:     canonical,
		Placement:  r.Placement,
		Manifest:   r.Manifest,
		Challenge:  r.Challenge,
	}
	if p.unitBytes, err = p.Unit.Canonical(); err != nil {
		return nil, fmt.Errorf("unit: %w", err)
	}
	p.UnitID = joulebox.Sum(p.unitBytes)
	return p, nil
}

// place finds the executor of exactly the required tier (§1.1: never lower,
// never higher) and a meter for every granted class (§5.1).
func (s *Supervisor) place(p *Plan) error {
	decline := func(what, hint string) error {
		return &DeclinedError{Tier: p.Tier, Reasons: p.Reasons, What: what, Hint: hint}
	}
	i := slices.IndexFunc(s.config.Executors, func(e host.Executor) bool {
		return e.Tier() == p.Tier && host.RunsNative(e) == (p.native != nil)
	})
	if i < 0 {
		hint := "joulebox explain shows which part of the request raised the tier"
		if p.native != nil && p.Tier == joulebox.S2 {
			hint = "native code has no managed runtime, so there is no S2 for it; without --trusted it runs at S3"
		}
		return decline(fmt.Sprintf("this request needs tier %s (%s), which this host does not have", p.Tier, p.Tier.Name()), hint)
	}
	p.executor = s.config.Executors[i]
	if x, ok := p.executor.(host.Unavailable); ok {
		if err := x.Unavailable(); err != nil {
			return decline(fmt.Sprintf("tier %s can't be established on this host: %v", p.Tier, err),
				p.unavailableHint())
		}
	}
	if missing := slices.DeleteFunc(p.Grants.Needs(), p.executor.Provides); len(missing) > 0 {
		return decline(fmt.Sprintf("no mechanism at tier %s for %s", p.Tier, strings.Join(missing, ", ")),
			"leave it out of the grants, or run on a host that has it")
	}
	for _, class := range p.Grants.Compute.Devices {
		if !slices.Contains(p.executor.Classes(), class) {
			return decline(fmt.Sprintf("device class %s can't be confined at tier %s here", class, p.Tier), "")
		}
		m, ok := s.config.Meters(p.executor.Counting(), class)
		if !ok {
			return decline(fmt.Sprintf("device class %s has no meter here, and metering is not optional (§5.1)", class), "")
		}
		p.meters = append(p.meters, m)
	}
	return nil
}

func (p *Plan) unavailableHint() string {
	if p.native != nil {
		return "joulebox doctor shows what is missing"
	}
	return "joulebox doctor shows what is missing; --host-process=in-process runs units without a process of their own"
}

// tierRequest is what the required tier depends on: the request, and this host.
func (s *Supervisor) tierRequest(r Request) grant.Request {
	return grant.Request{
		Grants:       r.Grants,
		Artifact:     r.artifact(),
		Trusted:      r.Placement.Trusted,
		Sensitive:    r.Placement.IsSensitive(),
		Boundary:     r.Placement.Boundary,
		Passthrough:  r.Placement.Passthrough,
		Confidential: r.Placement.Confidential,
		Locality:     r.Placement.Locality != nil,
		MultiTenant:  s.config.MultiTenant,
		Limits:       s.config.Ceilings,
	}
}
