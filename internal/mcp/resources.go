package mcp

import (
	"context"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
)

// A bundle's address: it names the run, and the session's handle where the
// transport has no session of its own. Nobody else's session reads it.
const (
	bundleScheme = "joulebox"
	bundlePrefix = bundleScheme + "://runs/"
	bundleSuffix = "/bundle"
	bundleType   = "application/json"
)

func (s *Server) bundleURI(of *session, id joulebox.ID) string {
	uri := bundlePrefix + id.String() + bundleSuffix
	if of.handle != "" {
		uri += "?session=" + of.handle
	}
	return uri
}

func bundleLink(uri string, id joulebox.ID) sdk.Content {
	return &sdk.ResourceLink{URI: uri, Name: "bundle of " + id.String(), MIMEType: bundleType,
		Description: "the run's whole record: descriptor, receipt, attestation, EAT; verify_bundle or joulebox verify checks it"}
}

func bundleContents(uri string, b *bundle.Bundle) *sdk.ResourceContents {
	return &sdk.ResourceContents{URI: uri, MIMEType: bundleType, Text: string(b.Marshal())}
}

func (s *Server) addResources(server *sdk.Server) {
	template := bundlePrefix + "{+attestation_id}" + bundleSuffix
	if s.stateless {
		template += "{?session}"
	}
	server.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "bundle", Title: "A run's whole record", URITemplate: template, MIMEType: bundleType,
		Description: "the self-contained, signed record of a run of this session",
	}, s.readBundle)
}

func (s *Server) readBundle(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	r, ok := s.runAt(uri, req)
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	ctx, done := s.until(ctx, req.Extra)
	defer done()
	b, _, err := s.kept(ctx, r.ID)
	if err != nil {
		return nil, s.internal(s.config.Log, "resources/read", err)
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{bundleContents(uri, b)}}, nil
}

// runAt is the run of the asking session that the address names.
func (s *Server) runAt(uri string, req *sdk.ReadResourceRequest) (ran, bool) {
	u, err := url.Parse(uri)
	if err != nil || !strings.HasPrefix(uri, bundlePrefix) {
		return ran{}, false
	}
	text, ok := strings.CutSuffix(strings.TrimPrefix(u.Path, "/"), bundleSuffix)
	id, err := joulebox.ParseID(text)
	if !ok || err != nil {
		return ran{}, false
	}
	of := s.sessionOf(req.Session, req.Extra, u.Query().Get("session"))
	if of == nil {
		return ran{}, false
	}
	for _, r := range of.find(id.String()) {
		if r.ID == id {
			return r, true
		}
	}
	return ran{}, false
}

func (s *Server) sessionOf(conn *sdk.ServerSession, extra *sdk.RequestExtra, handle string) *session {
	if s.stateless {
		return s.sessions.held(tenantOf(extra), handle)
	}
	return s.sessions.of(s.base, conn, tenantOf(extra))
}

// listResources shows the session's latest bundles on one page. Where requests
// have no session there is none to list.
func (s *Server) listResources(req *sdk.ListResourcesRequest) *sdk.ListResourcesResult {
	list := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}}
	list.CacheScope = "private"
	if s.stateless {
		return list
	}
	runs, _ := s.sessions.of(s.base, req.Session, tenantOf(req.Extra)).recent(mostLists)
	for _, r := range runs {
		list.Resources = append(list.Resources, &sdk.Resource{URI: r.Bundle, Name: "bundle of " + r.ID.String(), MIMEType: bundleType})
	}
	return list
}
