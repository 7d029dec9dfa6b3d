package cli

import (
	"encoding/json/jsontext"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/unit"
)

func newExplain(c *console) *cobra.Command {
	var g grantFlags
	asJSON, native := false, false
	cmd := &cobra.Command{
		Use:   "explain [flags]",
		Short: "show what grants amount to, without running anything",
		Long: `Takes the grants of joulebox run and shows the tier that they require and which of
them raised it, what is granted, what is denied, and the grants id.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			set, err := g.grants()
			if err != nil {
				return fail(exitUsage, err, "")
			}
			e, err := explain(set, g.placement(), native)
			if err != nil {
				return fail(exitUsage, err, "")
			}
			if asJSON {
				return c.document(e)
			}
			c.showExplained(e)
			return nil
		},
	}
	g.register(cmd.Flags())
	cmd.Flags().BoolVar(&native, "native", false, "explain them for a native program, and not for a WASM module")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// placement is the part of a request that grants can't hold.
func (g *grantFlags) placement() (p unit.Placement) {
	p.Trusted = g.trusted
	if g.sensitive {
		p.Contention = unit.Sensitive
	}
	return p
}

// explained is what explain shows: the explanation, and the grants themselves.
type explained struct {
	grant.Explanation
	Grants jsontext.Value `json:"grants"`
}

func explain(set grant.Set, p unit.Placement, native bool) (e explained, err error) {
	if e.Grants, err = set.Canonical(); err != nil {
		return e, err
	}
	r := tierRequest(set, p)
	if native {
		r.Artifact = grant.Native
		if _, err := set.Views(); err != nil {
			return e, err
		}
	}
	e.Explanation, err = grant.Explain(r)
	return e, err
}

// tierRequest is a one-shot run's: a WASM module on a host of one tenant.
func tierRequest(set grant.Set, p unit.Placement) grant.Request {
	return grant.Request{
		Grants: set, Trusted: p.Trusted, Sensitive: p.IsSensitive(), Boundary: p.Boundary, Passthrough: p.Passthrough,
		Confidential: p.Confidential, Locality: p.Locality != nil, Limits: hostCeilings(),
	}
}

func (c *console) showExplained(e explained) {
	fmt.Fprintf(c.out, "tier     %s (%s)\n", e.Tier, e.TierName)
	for _, r := range e.Reasons {
		mark := "also"
		if r.Tier == e.Tier {
			mark = "because"
		}
		fmt.Fprintf(c.out, "         %s %s: %s\n", mark, r.Tier, r.Text)
	}
	showLines(c.out, "granted", e.Granted)
	showLines(c.out, "denied", e.Denied)
	for _, n := range e.Notes {
		fmt.Fprintf(c.out, "note     %s\n", n)
	}
	fmt.Fprintf(c.out, "grants   %s\n", e.GrantsID)
}

func showLines(w io.Writer, head string, lines []grant.Line) {
	for _, l := range lines {
		fmt.Fprintf(w, "%-8s %-25s %s\n", head, l.Member, l.Text)
		head = ""
	}
}
