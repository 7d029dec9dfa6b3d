package cli

import (
	"encoding/json/jsontext"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/unit"
)

func newExplain(c *console) *cobra.Command {
	var g grantFlags
	asJSON := false
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
			e, err := explain(set, g.placement())
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

// explained is what explain shows.
type explained struct {
	Tier     joulebox.Tier          `json:"tier"`
	Name     string                 `json:"tier_name"`
	Reasons  []grant.Reason         `json:"reasons"`
	Devices  []joulebox.DeviceClass `json:"devices"`
	Budgets  []string               `json:"budgets"`
	Access   []access               `json:"access"`
	GrantsID joulebox.ID            `json:"grants_id"`
	Grants   jsontext.Value         `json:"grants"`
}

func explain(set grant.Set, p unit.Placement) (explained, error) {
	canonical, err := set.Canonical()
	if err != nil {
		return explained{}, err
	}
	tier, reasons := grant.RequiredTier(grant.Request{Grants: set, Trusted: p.Trusted, Sensitive: p.IsSensitive(), Limits: hostCeilings()})
	return explained{
		Tier: tier, Name: tier.Name(), Reasons: reasons, Devices: set.Compute.Devices, Budgets: budgets(set),
		Access: accesses(set), GrantsID: joulebox.Sum(canonical), Grants: canonical,
	}, nil
}

func (c *console) showExplained(e explained) {
	fmt.Fprintf(c.out, "tier     %s (%s)\n", e.Tier, e.Name)
	for _, r := range e.Reasons {
		mark := "also"
		if r.Tier == e.Tier {
			mark = "because"
		}
		fmt.Fprintf(c.out, "         %s %s: %s\n", mark, r.Tier, r.Text)
	}
	devices := make([]string, len(e.Devices))
	for i, d := range e.Devices {
		devices[i] = d.String()
	}
	fmt.Fprintf(c.out, "devices  %s\n", strings.Join(devices, ", "))
	fmt.Fprintf(c.out, "budgets  %s\n", strings.Join(e.Budgets, "; "))
	showAccess(c.out, "granted", e.Access, true)
	showAccess(c.out, "denied ", e.Access, false)
	fmt.Fprintf(c.out, "grants   %s\n", e.GrantsID)
}

func showAccess(w io.Writer, head string, list []access, granted bool) {
	any := false
	for _, a := range list {
		if a.Granted != granted {
			continue
		}
		line := a.Member
		if len(a.Values) > 0 {
			line += ": " + strings.Join(a.Values, "  ")
		}
		if a.Note != "" {
			line += " (" + a.Note + ")"
		}
		fmt.Fprintf(w, "%s  %s\n", head, line)
		head, any = "       ", true
	}
	if !any {
		fmt.Fprintf(w, "%s  nothing\n", head)
	}
}
