package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/joulebox/joulebox/internal/wasm/rewrite"
	"github.com/joulebox/joulebox/internal/wat"
)

// maxModule is what a module may weigh that is named by path.
var maxModule = int64(rewrite.DefaultLimits().ModuleBytes)

// module is what run_wasm is asked to run. Trouble with it is collected with the
// rest, but for what makes the rest beside the point.
func (s *Server) module(a *arguments) ([]byte, error) {
	var given []string
	for _, name := range []string{"wat", "wasm_base64", "path"} {
		if a.has(name) {
			given = append(given, name)
		}
	}
	switch {
	case len(given) > 1:
		a.fail(given[1], "is there beside %s; keep one", given[0])
	case a.has("wat"):
		return assemble(a)
	case a.has("path"):
		path := a.text("path")
		if a.err() != nil {
			return nil, nil
		}
		image, err := s.readModule(path)
		if err != nil {
			return nil, err
		}
		return image, nil
	case a.has("wasm_base64"):
		image := a.bytes("wasm_base64")
		if image == nil && a.err() == nil {
			a.fail("wasm_base64", "is empty")
		}
		return image, nil
	case a.err() == nil:
		a.fail("wasm_base64", "not set; hand over the module so or as wat, or name it with path")
	}
	return nil, nil
}

// assemble makes a module of the text format. Where the text is wrong is told by
// line and column, which an agent can mend.
func assemble(a *arguments) ([]byte, error) {
	src := a.text("wat")
	if a.err() != nil {
		return nil, nil
	}
	image, err := wat.Assemble([]byte(src))
	if err != nil {
		return nil, refuse("mend the text there and call again", "wat: %v", err)
	}
	return image, nil
}

// readModule reads a module beneath one of the operator's directories. No link
// leads out of them.
func (s *Server) readModule(path string) ([]byte, error) {
	if len(s.config.Policy.Modules) == 0 {
		return nil, refuse("hand the module over as wasm_base64, or have the operator name directories under modules in the policy",
			"path: no directory is open to modules here")
	}
	for _, dir := range s.config.Policy.Modules {
		name := path
		if filepath.IsAbs(path) {
			rel, err := filepath.Rel(dir, path)
			if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
				continue
			}
			name = rel
		}
		image, err := readBeneath(dir, name)
		if err == nil {
			return image, nil
		}
		var mine *refused
		if errors.As(err, &mine) {
			return nil, mine
		}
	}
	return nil, refuse("name a file beneath "+strings.Join(s.config.Policy.Modules, " or "), "path: no module at %q", path)
}

func readBeneath(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// A pipe or a device must not be waited for, and isn't read.
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	image, err := io.ReadAll(io.LimitReader(f, maxModule+1))
	if err == nil && int64(len(image)) > maxModule {
		return nil, refuse("", "path: the module is larger than %d bytes", maxModule)
	}
	return image, err
}
