package wasm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

// link finds the host function of every import. All that is wrong is reported
// at once, with what there is instead.
func (e *Engine) link(info *rewrite.Info) (map[string][]*HostFunc, error) {
	found := map[string][]*HostFunc{}
	var wrong []string
	for i := range info.Imports {
		imp := &info.Imports[i]
		f, problem := e.resolve(imp)
		if problem != "" {
			wrong = append(wrong, fmt.Sprintf("%q %q: %s", imp.Module, imp.Name, problem))
		} else if !slices.Contains(found[imp.Module], f) { // a module may import one twice
			found[imp.Module] = append(found[imp.Module], f)
		}
	}
	if len(wrong) == 0 {
		return found, nil
	}
	const shown = 8
	if more := len(wrong) - shown; more > 0 {
		wrong = append(wrong[:shown], fmt.Sprintf("and %d more", more))
	}
	return nil, refuse(RefusedImport, "%s; this host has %s", strings.Join(wrong, "; "), e.offer(info))
}

func (e *Engine) resolve(imp *rewrite.Import) (*HostFunc, string) {
	if imp.Kind != rewrite.FuncKind {
		return nil, fmt.Sprintf("a %s can't be imported, functions only", imp.Kind)
	}
	funcs := e.hosts[imp.Module]
	if funcs == nil {
		return nil, "no such module"
	}
	f := funcs[imp.Name]
	if f == nil {
		return nil, "no such function"
	}
	if want := hostType(f); !sameType(want, *imp.Func) {
		return nil, fmt.Sprintf("got type %s, want %s", imp.Func, want)
	}
	return f, ""
}

// offer lists what could have been imported: the functions of a module that was
// asked for, or else the modules.
func (e *Engine) offer(info *rewrite.Info) string {
	for _, imp := range info.Imports {
		if funcs := e.hosts[imp.Module]; funcs != nil && funcs[imp.Name] == nil {
			return fmt.Sprintf("in %q: %s", imp.Module, strings.Join(slices.Sorted(maps.Keys(funcs)), " "))
		}
	}
	if len(e.hosts) == 0 {
		return "nothing to import"
	}
	return "modules " + strings.Join(slices.Sorted(maps.Keys(e.hosts)), " ")
}

func hostType(f *HostFunc) rewrite.FuncType {
	return rewrite.FuncType{Params: valTypes(f.Params), Results: valTypes(f.Results)}
}

func valTypes(ts []api.ValueType) []rewrite.ValType {
	out := make([]rewrite.ValType, len(ts))
	for i, t := range ts {
		out[i] = rewrite.ValType(t) // both are the byte of the binary format
	}
	return out
}

func sameType(a, b rewrite.FuncType) bool {
	return slices.Equal(a.Params, b.Params) && slices.Equal(a.Results, b.Results)
}
