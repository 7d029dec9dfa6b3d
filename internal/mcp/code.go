package mcp

import (
	"context"
	"encoding/json/jsontext"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/lang"
)

// languages are those that run_code speaks of, whether this host has them or not,
// with the extension that their scripts go by. An interpreter that is a WASM module
// has the lowest required tier; the host's own program comes after it.
var languages = []struct{ name, extension string }{{"python", ".py"}, {"javascript", ".js"}, {"shell", ".sh"}}

func languageNames() []string {
	names := make([]string, len(languages))
	for i, l := range languages {
		names[i] = l.name
	}
	return names
}

// language finds what runs a language here; nil when nothing does.
func (s *Server) language(name string) (*lang.Language, error) {
	if s.config.Languages == nil {
		return nil, nil
	}
	for _, l := range languages {
		if l.name == name {
			return s.config.Languages.ForExtension(l.extension)
		}
	}
	return nil, nil
}

// languagesHere says which there are, for the schema.
func (s *Server) languagesHere() string {
	var here []string
	for _, name := range languageNames() {
		if l, err := s.language(name); err == nil && l != nil {
			here = append(here, name+" ("+l.Version+", S2)")
		} else if _, _, ok := s.interpreter(name); ok {
			here = append(here, name+" (the host's own, S3)")
		}
	}
	if here == nil {
		return "none is installed here"
	}
	return "installed here: " + strings.Join(here, ", ")
}

func (s *Server) codeArguments() []string {
	return slices.Concat([]string{"language", "source"}, runArguments, grantNames(), s.sessionArguments())
}

func (s *Server) codeSchema() jsontext.Value {
	p := s.config.Policy
	return schema(slices.Concat(object{
		{"language", object{{"type", "string"}, {"enum", languageNames()}, {"description", s.languagesHere()}}},
		{"source", textOf("the program's text")},
	}, p.runProperties(), p.grantProperties(), s.sessionProperty()), "language", "source")
}

func (s *Server) runCode(ctx context.Context, c *call) (*sdk.CallToolResult, error) {
	name, source := c.args.text("language"), c.args.text("source")
	switch {
	case !c.args.has("language"):
		c.args.fail("language", "not set, want one of %s", strings.Join(languageNames(), ", "))
	case !slices.Contains(languageNames(), name):
		c.args.fail("language", "got %q, want one of %s", clip(name), strings.Join(languageNames(), ", "))
	}
	if !c.args.has("source") {
		c.args.fail("source", "not set, want the program's text")
	}
	r, err := s.asked(c.args)
	if err != nil {
		return nil, err
	}
	l, err := s.language(name)
	switch {
	case err != nil:
		return nil, err
	case l == nil:
		return s.runNative(ctx, c, name, source, r)
	}
	if err := enough(l, r.request.Grants); err != nil {
		return nil, err
	}
	if err := script(&r, l, source); err != nil {
		return nil, err
	}
	return s.run(ctx, c, "run_code", r)
}

// enough says what an interpreter can't start without, before it fails in its own
// way. What it needs grants nothing.
func enough(l *lang.Language, g grant.Set) error {
	if l.Needs.MemoryBytes > g.Compute.MemoryBytes {
		return refuse("", "memory_bytes: %s needs %d to start, and %d is granted", l.Name, l.Needs.MemoryBytes, g.Compute.MemoryBytes)
	}
	for _, d := range l.Needs.Devices {
		if !slices.Contains(g.Compute.Devices, d) {
			return refuse("", "devices: %s needs %s among them", l.Name, d)
		}
	}
	return nil
}

// script makes the unit's image: the interpreter, its files and the source
// together, so that the record covers all of them.
func script(r *asked, l *lang.Language, source string) error {
	name := "main"
	if len(l.Extensions) > 0 {
		name += l.Extensions[0]
	}
	p, err := l.Program(lang.Named{Path: name, Data: []byte(source)}, nil, r.request.Entrypoint[1:])
	if err != nil {
		return err
	}
	r.request.Tree, r.request.Entrypoint = p.Image, p.Entrypoint
	for _, e := range p.Env {
		variable, _, _ := strings.Cut(e, "=")
		set := func(named string) bool { return strings.HasPrefix(named, variable+"=") }
		if !slices.ContainsFunc(r.handed.Env, set) {
			r.handed.Env = append(r.handed.Env, e)
		}
	}
	return nil
}
