package mcp

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
)

// tenant is whom a request comes from, by its token; empty over stdio.
func tenant(req *sdk.CallToolRequest) string { return tenantOf(req.Extra) }

func tenantOf(extra *sdk.RequestExtra) string {
	if extra == nil || extra.TokenInfo == nil {
		return ""
	}
	return extra.TokenInfo.UserID
}

// findSession finds the session that a call belongs to: its connection's, or the
// one whose handle it names.
func (s *Server) findSession(c *call, _ tool) (*sdk.CallToolResult, error) {
	if !s.stateless {
		c.session = s.sessions.of(s.base, c.req.Session, tenant(c.req))
		return nil, nil
	}
	handle := c.args.text("session")
	if handle == "" {
		return nil, nil
	}
	if c.session = s.sessions.held(tenant(c.req), handle); c.session == nil {
		return nil, refuse("leave it out, and a run begins a new one and returns its handle", "session: there is none of that handle")
	}
	return nil, nil
}

// sessionArguments: a request that belongs to no session of the transport names
// one that a run began.
func (s *Server) sessionArguments() []string {
	if s.stateless {
		return []string{"session"}
	}
	return nil
}

func (s *Server) sessionProperty() object {
	if s.stateless {
		return object{{"session", textOf("the handle of your session, as a run returned it; runs made under one handle are seen under it alone")}}
	}
	return nil
}

const (
	listed    = 20
	mostLists = 100
)

func (s *Server) listSchema() jsontext.Value {
	return schema(slices.Concat(object{{"limit", numberOf(fmt.Sprintf("how many; unset: %d", listed), 1, mostLists)}}, s.sessionProperty()))
}

func (s *Server) listOutput() jsontext.Value {
	return schema(slices.Concat(object{
		{"status", statusOf("listed")},
		{"runs", object{{"type", "array"}, {"items", object{{"type", "object"}, {"properties", object{
			{"attestation_id", plainText}, {"receipt_id", plainText}, {"tool", plainText}, {"tier", plainText}, {"outcome", plainText}, {"breach", plainText},
			{"exit_code", plainNumber}, {"cause", plainText}, {"estimated_uj", plainNumber}, {"measured_uj", plainNumber}, {"finished_at", plainText}, {"bundle", plainText},
		}}}}}},
		{"total", numberOf("runs of this session in all", 0, 0)},
	}, refusedProperties), "status")
}

func (s *Server) listRuns(_ context.Context, c *call) (*sdk.CallToolResult, error) {
	limit := int(c.args.number("limit", mostLists))
	if err := c.args.err(); err != nil {
		return nil, err
	}
	if limit == 0 {
		limit = listed
	}
	list := struct {
		Status string `json:"status"`
		Runs   []ran  `json:"runs"`
		Total  int    `json:"total"`
	}{"listed", []ran{}, 0}
	if c.session != nil {
		list.Runs, list.Total = c.session.recent(limit)
	}
	lines := []string{fmt.Sprintf("%d of %d runs, newest first", len(list.Runs), list.Total)}
	for _, r := range list.Runs {
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s, %s estimated", r.Finished, r.ID, r.Tool, r.Tier, r.Outcome, microjoules(r.EstimatedUJ)))
	}
	return answer(list, block("%s", strings.Join(lines, "\n")))
}

func (s *Server) getSchema() jsontext.Value {
	return schema(slices.Concat(object{
		{"run", textOf("its attestation, receipt or unit id, or the beginning of one")},
		{"include_bundle", flagOf("hand the whole record over as well, for clients that don't read resources")},
	}, s.sessionProperty()), "run")
}

func (s *Server) getOutput() jsontext.Value {
	return schema(slices.Concat(object{{"status", statusOf("found")}}, recordProperties, refusedProperties), "status")
}

func (s *Server) getRun(ctx context.Context, c *call) (*sdk.CallToolResult, error) {
	text, whole := c.args.text("run"), c.args.flag("include_bundle")
	if text == "" {
		c.args.fail("run", "not set; want an id as list_runs shows it")
	}
	if err := c.args.err(); err != nil {
		return nil, err
	}
	r, err := c.one(text)
	if err != nil {
		return nil, err
	}
	b, report, err := s.kept(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	found := struct {
		Status string `json:"status"`
		Record record `json:",embed"`
	}{"found", newRecord(b, report)}
	found.Record.Bundle = r.Bundle
	content := []sdk.Content{block("%s", found.Record.text(""))}
	if whole {
		content = append(content, &sdk.EmbeddedResource{Resource: bundleContents(r.Bundle, b)})
	} else {
		content = append(content, bundleLink(r.Bundle, r.ID))
	}
	return answer(found, content...)
}

// one is the run of this session that the text means.
func (c *call) one(text string) (ran, error) {
	var found []ran
	if c.session != nil {
		found = c.session.find(text)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return ran{}, refuse("list_runs shows this session's runs", "run: this session has none whose id begins with %q", clip(text))
	}
	return ran{}, refuse("write more of the attestation id, which list_runs shows", "run: %q begins the ids of %d runs", clip(text), len(found))
}

func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}

// kept reads a record from the store and verifies it anew: what lay on a disk is
// anybody's until then.
func (s *Server) kept(ctx context.Context, id joulebox.ID) (*bundle.Bundle, bundle.Report, error) {
	for rec, err := range s.config.Records.Find(ctx, id) {
		if err != nil {
			return nil, bundle.Report{}, err
		}
		b, err := bundle.Parse(rec.Data)
		if err != nil {
			return nil, bundle.Report{}, err
		}
		if b.Statement().ID() != id {
			continue
		}
		report := b.Verify(bundle.Options{Pinned: s.config.Trusted[:1], Challenge: b.Unit().Challenge, MultiTenant: s.config.MultiTenant})
		if report.Verdict != bundle.Valid {
			return nil, report, refuse("the host's operator has the record", "the record of %s doesn't verify, so it isn't handed out", id)
		}
		return b, report, nil
	}
	return nil, bundle.Report{}, fmt.Errorf("record %s: %w", id, errors.New("not in the store"))
}
