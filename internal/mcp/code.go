package mcp

import (
	"context"
	"encoding/json/jsontext"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox/host"
)

// Languages turns source code into what can run: the artifact of the lowest tier
// that this host has for the language.
type Languages interface {
	// Names are the languages that can run here now.
	Names() []string
	// Prepare makes a program of source code. Its error says what is missing here
	// and how to get it.
	Prepare(ctx context.Context, language, source string, args []string) (*Program, error)
}

// Program is source code ready to run.
type Program struct {
	Image      []byte
	Entrypoint []string // the export, then the arguments
	Env        []string
	Mounts     []host.Mount
	Read       []string // globs that the language itself needs to read
	SIMD       bool     // its runtime uses vector instructions
	Close      func()   // releases what was made for it
}

// languages are those that the tool speaks of, whether this host has them or not.
var languages = []string{"python", "javascript", "shell"}

func (s *Server) codeArguments() []string {
	return slices.Concat([]string{"language", "source"}, runArguments, grantNames(), s.sessionArguments())
}

func (s *Server) codeSchema() jsontext.Value {
	have := "none is installed here"
	if l := s.config.Languages; l != nil && len(l.Names()) > 0 {
		have = "here now: " + strings.Join(l.Names(), ", ")
	}
	p := s.config.Policy
	return schema(slices.Concat(object{
		{"language", object{{"type", "string"}, {"enum", languages}, {"description", have}}},
		{"source", textOf("the program's text")},
	}, p.runProperties(), p.grantProperties(), s.sessionProperty()), "language", "source")
}

func (s *Server) runCode(ctx context.Context, c *call) (*sdk.CallToolResult, error) {
	language, source := c.args.text("language"), c.args.text("source")
	switch {
	case !c.args.has("language"):
		c.args.fail("language", "not set, want one of %s", strings.Join(languages, ", "))
	case !slices.Contains(languages, language):
		c.args.fail("language", "got %q, want one of %s", clip(language), strings.Join(languages, ", "))
	}
	if !c.args.has("source") {
		c.args.fail("source", "not set, want the program's text")
	}
	r, err := s.asked(c.args)
	if err != nil {
		return nil, err
	}
	if s.config.Languages == nil {
		return nil, refuse("install it on the host with joulebox lang, or compile to WebAssembly and call run_wasm",
			"declined: this host has no runtime for %s", language)
	}
	program, err := s.config.Languages.Prepare(ctx, language, source, r.request.Entrypoint[1:])
	if err != nil {
		return nil, err
	}
	if program.Close != nil {
		defer program.Close()
	}
	r.request.Image, r.request.Entrypoint = program.Image, program.Entrypoint
	r.handed.Env = append(program.Env, r.handed.Env...)
	r.handed.Mounts = append(slices.Clone(program.Mounts), r.handed.Mounts...)
	return s.run(ctx, c, "run_code", r)
}
