package grant

import (
	"fmt"
	"slices"

	"github.com/joulebox/joulebox"
)

// Decision is the answer to one access query.
type Decision struct {
	Allowed bool
	// Reason names the rule that allowed, or says why nothing did.
	Reason string
	// Grant is, for a denial that a grant could turn, the smallest grant that
	// would: "storage.read: /etc/hosts". Empty where none would.
	Grant string
}

func allow(reason string) Decision { return Decision{Allowed: true, Reason: reason} }

func deny(grant, format string, args ...any) Decision {
	return Decision{Reason: fmt.Sprintf(format, args...), Grant: grant}
}

// Enforcer answers access queries for one grant set (C2). It is pure: the same
// set and query always give the same decision. It is safe for concurrent use
// and keeps nothing of what it is asked.
type Enforcer struct {
	devices   [joulebox.Quantum + 1]bool
	paths     [3][]rule
	ceilings  Ceilings
	endpoints map[string]string
	names     map[string]bool
	inbound   bool
	kv        KV
	kvReasons []string
	host      Host
	process   process
	browser   Browser
	origins   map[Origin]string
	display   Display
}

// NewEnforcer compiles a valid set; the error of an invalid one is [Errors].
func NewEnforcer(s Set) (*Enforcer, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	e := &Enforcer{
		ceilings:  s.Storage.clone(),
		endpoints: endpointReasons(s.Network.Outbound),
		names:     granted(s.Network.Outbound),
		inbound:   s.Network.Inbound,
		kv:        s.KV,
		kvReasons: kvReasons(s.KV.Prefixes),
		host:      s.Host,
		process:   newProcess(s.Process),
		browser:   s.Browser,
		origins:   originReasons(s.Browser.Origins),
		display:   s.Display,
	}
	e.kv.Prefixes = slices.Clone(s.KV.Prefixes)
	e.browser.Origins = nil
	for _, c := range s.Compute.Devices {
		e.devices[c] = true
	}
	for m, list := range [][]string{s.Storage.Read, s.Storage.Write, s.Storage.Delete} {
		e.paths[m] = compileRules("storage."+Mode(m).String(), list)
	}
	return e, nil
}

func (c Ceilings) clone() Ceilings {
	return Ceilings{MaxIOPS: clonePtr(c.MaxIOPS), MaxReadBPS: clonePtr(c.MaxReadBPS)}
}

func clonePtr(p *uint64) *uint64 {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// rule is a compiled glob with the reason that it gives, made once.
type rule struct {
	glob   *Glob
	reason string
}

// compileRules expects a validated list.
func compileRules(field string, list []string) []rule {
	rules := make([]rule, 0, len(list))
	for i, s := range list {
		g, err := ParseGlob(s)
		if err != nil {
			continue // refused by Validate; a rule that isn't there allows nothing
		}
		rules = append(rules, rule{g, fmt.Sprintf("%s[%d] %q", field, i, s)})
	}
	return rules
}

func firstMatch(rules []rule, path string) (string, bool) {
	for i := range rules {
		if rules[i].glob.Match(path) {
			return rules[i].reason, true
		}
	}
	return "", false
}

// MayDispatch answers whether work may go to a device class (§5.1). Cpu is
// implicitly present.
func (e *Enforcer) MayDispatch(c joulebox.DeviceClass) Decision {
	switch {
	case int(c) >= len(e.devices):
		return deny("", "%v is no device class", c)
	case e.devices[c]:
		return allow("compute.devices")
	}
	return deny("compute.devices: "+c.String(), "compute.devices does not hold %v", c)
}

// Service is a host service of §5.4.
type Service uint8

// The host services.
const (
	Logging Service = iota
	Clock
	Random
	Inference
)

var serviceNames = [...]string{"logging", "clock", "random", "inference"}

// String is the member's name in the grant.
func (s Service) String() string {
	if int(s) < len(serviceNames) {
		return serviceNames[s]
	}
	return fmt.Sprintf("service %d", uint8(s))
}

// MayHost answers whether a host service may be called (§5.4).
func (e *Enforcer) MayHost(s Service) Decision {
	granted := [...]bool{e.host.Logging, e.host.Clock, e.host.Random, e.host.Inference}
	switch {
	case int(s) >= len(granted):
		return deny("", "%v is no host service", s)
	case granted[s]:
		return allow(serviceReasons[s])
	}
	return deny(serviceReasons[s]+": true", "%s is false", serviceReasons[s])
}

var serviceReasons = [...]string{"host.logging", "host.clock", "host.random", "host.inference"}

// MayDisplay answers whether a framebuffer of that many pixels may be had (§5.7).
func (e *Enforcer) MayDisplay(width, height uint32) Decision {
	d := e.display
	switch {
	case !d.Enabled:
		return deny("display.enabled: true", "display.enabled is false")
	case width == 0 || height == 0:
		return deny("", "a surface of %dx%d pixels is none", width, height)
	case width > d.MaxWidth || height > d.MaxHeight:
		return deny(fmt.Sprintf("display.max_width: %d, display.max_height: %d", max(width, d.MaxWidth), max(height, d.MaxHeight)),
			"%dx%d exceeds display.max_width x display.max_height, %dx%d", width, height, d.MaxWidth, d.MaxHeight)
	}
	return allow("display.enabled")
}

// MayVNC answers whether the display may be exported (§5.7): it must be enabled
// and vnc granted as well.
func (e *Enforcer) MayVNC() Decision {
	switch {
	case !e.display.Enabled:
		return deny("display.enabled: true", "display.enabled is false")
	case !e.display.VNC:
		return deny("display.vnc: true", "display.vnc is false")
	}
	return allow("display.vnc")
}
