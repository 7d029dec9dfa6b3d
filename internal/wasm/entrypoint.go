package wasm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

const (
	entryRun        = "run"         // () -> i32, the exit code
	entryStart      = "_start"      // a WASI command
	entryInitialize = "_initialize" // a WASI reactor, before anything else
)

// entry resolves the export to call and checks what it is.
func (m *Module) entry(name string) (string, error) {
	if name == "" {
		name = entryStart
		if _, ok := m.exports[entryRun]; ok {
			name = entryRun
		}
	}
	exp, ok := m.exports[name]
	if !ok {
		return "", refuse(RefusedEntry, "the module has no export %q; %s", name, m.entries())
	}
	if exp.Kind != rewrite.FuncKind {
		return "", refuse(RefusedEntry, "export %q is a %s, want a function", name, exp.Kind)
	}
	want := entryTypes(name)
	if !slices.Contains(want, exp.Func.String()) {
		return "", refuse(RefusedEntry, "export %q is %s, want %s", name, exp.Func, strings.Join(want, " or "))
	}
	return name, nil
}

// entryTypes are the signatures that an entry of this name may have.
func entryTypes(name string) []string {
	switch name {
	case entryRun:
		return []string{"() -> (i32)"}
	case entryStart, entryInitialize:
		return []string{"() -> ()"}
	}
	return []string{"() -> ()", "() -> (i32)"}
}

// entries lists what could have been called.
func (m *Module) entries() string {
	var names []string
	for name, exp := range m.exports {
		if exp.Kind == rewrite.FuncKind && slices.Contains(entryTypes(name), exp.Func.String()) {
			names = append(names, fmt.Sprintf("%q", name))
		}
	}
	slices.Sort(names)
	const shown = 20
	switch {
	case len(names) == 0:
		return "it has no export that could be called"
	case len(names) > shown:
		return fmt.Sprintf("it has %s and %d more", strings.Join(names[:shown], " "), len(names)-shown)
	}
	return "it has " + strings.Join(names, " ")
}

// calls lists what is called in order: the start function that the rewriting
// turned into an export, a reactor's _initialize, and the entry itself.
func (m *Module) calls(entry string) []string {
	var calls []string
	if m.info.HasStart {
		calls = append(calls, exportStart)
	}
	exp, ok := m.exports[entryInitialize]
	if ok && exp.Kind == rewrite.FuncKind && entry != entryStart && entry != entryInitialize {
		calls = append(calls, entryInitialize)
	}
	return append(calls, entry)
}
