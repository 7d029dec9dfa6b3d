package mcp

import (
	"context"
	"fmt"
	"os"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/host"
)

// interpreters are the host's own programs for the languages, and the flags after
// which each takes its source: so the source is an argument, which the unit id
// covers.
var interpreters = map[string]struct {
	paths []string
	flags []string
}{
	"python":     {[]string{"/usr/bin/python3"}, []string{"-c"}},
	"javascript": {[]string{"/usr/bin/node"}, []string{"-e"}},
	"shell":      {[]string{"/bin/sh"}, []string{"-c"}},
}

// interpreter finds the host's own program for a language, where native units can
// be run at all.
func (s *Server) interpreter(name string) (path string, flags []string, ok bool) {
	if !s.config.Native {
		return "", nil, false
	}
	i := interpreters[name]
	for _, p := range i.paths {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			return p, i.flags, true
		}
	}
	return "", nil, false
}

// maxArgument is what the kernel takes as one argument of a program.
const maxArgument = 128<<10 - 1

// runNative runs a source on the host's own interpreter, a native unit.
func (s *Server) runNative(ctx context.Context, c *call, name, source string, r asked) (*sdk.CallToolResult, error) {
	path, flags, ok := s.interpreter(name)
	switch {
	case !ok:
		return nil, refuse("the host's operator installs one with joulebox lang add; or compile to WebAssembly and call run_wasm",
			"declined: this host has no runtime for %s", name)
	case len(source) > maxArgument:
		return nil, refuse("make it shorter, or let it read what is large from stdin", "source: got %d bytes, want at most %d for %s here", len(source), maxArgument, name)
	}
	n, err := host.HostProgram(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer n.Close()
	args := r.request.Entrypoint[1:]
	if name == "shell" {
		args = append([]string{"main"}, args...) // sh takes the first for its own name
	}
	r.request.Image, r.request.Native = nil, n
	r.request.Entrypoint = slices.Concat([]string{path}, flags, []string{source}, args)
	if !c.args.has("devices") { // native vector work counts as Cpu
		r.request.Grants.Compute.Devices = []joulebox.DeviceClass{joulebox.CPU}
	}
	return s.run(ctx, c, "run_code", r)
}
