package mcp

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/supervisor"
	"github.com/joulebox/joulebox/unit"
)

func explainArguments() []string { return append([]string{"sensitive"}, grantNames()...) }

func (s *Server) explainSchema() jsontext.Value {
	p := s.config.Policy
	sensitive := flagOf("neighbours must not observe the unit through shared devices")
	return schema(append(object{{"sensitive", sensitive}}, p.grantProperties()...))
}

var memberLines = object{{"type", "array"}, {"items", object{{"type", "object"}, {"properties", object{{"grant", plainText}, {"text", plainText}}}}}}

func explainOutput() jsontext.Value {
	return schema(slices.Concat(object{
		{"status", statusOf("explained")},
		{"tier", plainText}, {"tier_name", plainText},
		{"runs_here", flagOf("whether this host would run it")},
		{"declined", textOf("why not")},
		{"granted", memberLines},
		{"denied", object{{"type", "array"}, {"items", plainText}, {"description", "the arguments that grant nothing as they are"}}},
		{"notes", object{{"type", "array"}, {"items", plainText}}},
		{"grants_id", plainText},
	}, refusedProperties), "status")
}

type explained struct {
	Status   string      `json:"status"`
	Tier     string      `json:"tier"`
	TierName string      `json:"tier_name"`
	Reasons  []reason    `json:"reasons"`
	RunsHere bool        `json:"runs_here"`
	Declined string      `json:"declined,omitzero"`
	Hint     string      `json:"hint,omitzero"`
	Granted  []memberRow `json:"granted"`
	Denied   []string    `json:"denied"`
	Notes    []string    `json:"notes"`
	GrantsID joulebox.ID `json:"grants_id"`
}

type memberRow struct {
	Grant string `json:"grant"`
	Text  string `json:"text"`
}

func (s *Server) explain(_ context.Context, c *call) (*sdk.CallToolResult, error) {
	sensitive := c.args.flag("sensitive")
	set, err := s.grants(c.args)
	if err != nil {
		return nil, err
	}
	x, err := grant.Explain(grant.Request{Grants: set, Sensitive: sensitive, MultiTenant: s.config.MultiTenant, Limits: s.config.Ceilings})
	if err != nil {
		return nil, err
	}
	e := explained{Status: "explained", Tier: x.Tier.String(), TierName: x.TierName, GrantsID: x.GrantsID, Granted: []memberRow{}, Denied: []string{}, Notes: []string{}}
	for _, r := range x.Reasons {
		e.Reasons = append(e.Reasons, reason{r.Tier.String(), asArguments.Replace(r.Text)})
	}
	for _, l := range x.Granted {
		e.Granted = append(e.Granted, memberRow{asArguments.Replace(l.Member), l.Text})
	}
	for _, l := range x.Denied {
		if name := asArguments.Replace(l.Member); !slices.Contains(e.Denied, name) {
			e.Denied = append(e.Denied, name)
		}
	}
	for _, n := range x.Notes {
		e.Notes = append(e.Notes, asArguments.Replace(n))
	}
	e.would(s.config.Supervisor, set, sensitive)
	return answer(e, block("%s", e.text()))
}

// would asks the supervisor itself whether it would run such a unit; which module
// it is doesn't matter to that.
func (e *explained) would(s *supervisor.Supervisor, set grant.Set, sensitive bool) {
	r := supervisor.Request{Image: []byte("any module"), Entrypoint: []string{"run"}, Grants: set}
	if sensitive {
		r.Placement.Contention = unit.Sensitive
	}
	_, err := s.Plan(r)
	if e.RunsHere = err == nil; e.RunsHere {
		return
	}
	e.Declined = asArguments.Replace(err.Error())
	if d, ok := asRefused(err); ok {
		e.Declined, e.Hint = d.Message, d.Hint
	}
}

func (e explained) text() string {
	lines := []string{fmt.Sprintf("tier %s (%s)", e.Tier, e.TierName)}
	for _, r := range e.Reasons {
		lines = append(lines, "because of "+r.Tier+": "+r.Text)
	}
	if e.RunsHere {
		lines = append(lines, "this host would run it")
	} else {
		lines = append(lines, e.Declined)
		if e.Hint != "" {
			lines = append(lines, "hint: "+e.Hint)
		}
	}
	for _, g := range e.Granted {
		lines = append(lines, "granted "+g.Grant+": "+g.Text)
	}
	for _, n := range e.Notes {
		lines = append(lines, "note: "+n)
	}
	return strings.Join(append(lines, "grants "+e.GrantsID.String()), "\n")
}
