package rewrite

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"
)

// counts is what a script did, by command.
type counts map[string]int

// unsupported are the modules, by line, that want a proposal which is refused.
var unsupported = map[string]string{
	"imports.json:3":      "exceptions",
	"imports.json:35":     "exceptions",
	"memory_grow.json:1":  "multi-memory",
	"memory_grow.json:7":  "multi-memory",
	"memory_grow.json:81": "multi-memory",
}

// runner runs one script, each module passed through prepare first.
type runner struct {
	t       *testing.T
	s       *script
	m       *machine
	prepare func([]byte) []byte
	last    *instance
	byName  map[string]*instance
	n       counts
	log     []result // of all actions
}

func runScript(t *testing.T, s *script, prepare func([]byte) []byte, n counts) []result {
	r := &runner{t: t, s: s, m: newMachine(t), prepare: prepare, byName: map[string]*instance{}, n: n}
	r.m.spectest()
	for k := range s.Commands {
		r.command(&s.Commands[k])
	}
	return r.log
}

// spectest is the module that scripts may import from.
func (m *machine) spectest() {
	ctx := context.Background()
	b := m.rt.NewHostModuleBuilder("spectest")
	i32, i64, f32, f64 := api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeF32, api.ValueTypeF64
	for name, params := range map[string][]api.ValueType{"print": nil, "print_i32": {i32}, "print_i64": {i64}, "print_f32": {f32}, "print_f64": {f64}, "print_i32_f32": {i32, f32}, "print_f64_f64": {f64, f64}} {
		b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), params, nil).Export(name)
	}
	must(b.Instantiate(ctx))
}

func (r *runner) errorf(c *command, format string, args ...any) {
	r.t.Helper()
	r.t.Errorf("%s:%d %s: %s", filepath.Base(r.s.File), c.Line, c.Type, fmt.Sprintf(format, args...))
}

func (r *runner) command(c *command) {
	r.n[c.Type]++
	switch c.Type {
	case "module":
		r.module(c)
	case "register":
		r.register(c)
	case "assert_invalid", "assert_malformed":
		if b := r.s.wasm(c); b != nil {
			if _, err := Scan(b, DefaultLimits()); err == nil {
				r.errorf(c, "accepted, want a refusal: %s", c.Text)
			}
		}
	case "assert_return", "action":
		r.returns(c)
	case "assert_trap", "assert_exhaustion":
		r.traps(c)
	case "assert_uninstantiable":
		r.uninstantiable(c)
	}
}

// module instantiates; a module that wants things which this machine doesn't
// have, or which an engine refuses at the link, leaves no instance.
func (r *runner) module(c *command) {
	r.last = nil
	b := r.s.wasm(c)
	info, err := Scan(b, DefaultLimits())
	if err != nil {
		if why := unsupported[fmt.Sprintf("%s:%d", filepath.Base(r.s.File), c.Line)]; why == "" || !strings.Contains(err.Error(), why) {
			r.errorf(c, "refused: %v", err)
		}
		return
	}
	for _, i := range info.Imports {
		if i.Kind != FuncKind || r.m.rt.Module(i.Module) == nil {
			r.n["module not linked"]++
			r.forget(info)
			return
		}
	}
	in, err := r.m.start(r.prepare(b), "")
	if err != nil {
		r.errorf(c, "instantiate: %v", err)
		return
	}
	r.last = in
	if c.Name != "" {
		r.byName[c.Name] = in
	}
}

// forget drops the instances that a module which isn't linked would have
// reached through a table or memory of theirs.
func (r *runner) forget(info *Info) {
	for _, i := range info.Imports {
		if i.Module != "spectest" && i.Kind != FuncKind {
			r.last, r.byName = nil, map[string]*instance{}
		}
	}
}

// register is left out: no guest imports from another.
func (r *runner) register(*command) {}

func (r *runner) act(c *command) (result, bool) {
	in := r.last
	if c.Action.Module != "" {
		in = r.byName[c.Action.Module]
	}
	if in == nil {
		r.n["not run"]++
		return result{}, false
	}
	if c.Action.Type == "get" {
		return result{values: []uint64{in.mod.ExportedGlobal(c.Action.Field).Get()}}, true
	}
	var args []uint64
	for _, v := range c.Action.Args {
		w, ok := v.bits()
		if !ok {
			r.n["not run"]++
			return result{}, false
		}
		args = append(args, w...)
	}
	r.m.budget(ample)
	in.empty()
	got := in.call(c.Action.Field, args...)
	got.line = c.Line
	r.log = append(r.log, got)
	return got, true
}

func (r *runner) returns(c *command) {
	got, ok := r.act(c)
	if !ok {
		return
	}
	if got.err != nil {
		r.errorf(c, "%s: %v", c.Action.Field, got.err)
		return
	}
	rest := got.values
	for _, want := range c.Expected {
		n, ok := want.matches(rest)
		if !ok {
			r.errorf(c, "%s: got %x, want %v", c.Action.Field, got.values, c.Expected)
			return
		}
		rest = rest[n:]
	}
}

func (r *runner) traps(c *command) {
	got, ok := r.act(c)
	if !ok {
		return
	}
	if got.err == nil {
		r.errorf(c, "%s: got %x, want %q", c.Action.Field, got.values, c.Text)
		return
	}
	if c.Type == "assert_exhaustion" && got.trap != "stack overflow" {
		r.errorf(c, "%s: got %q, want a stack overflow", c.Action.Field, got.trap)
	}
}

// uninstantiable modules trap in a segment or in their start function.
func (r *runner) uninstantiable(c *command) {
	b := r.s.wasm(c)
	info, err := Scan(b, DefaultLimits())
	if err != nil {
		r.errorf(c, "refused: %v", err)
		return
	}
	if info.TrapsAtStart != "" {
		return
	}
	for _, i := range info.Imports {
		if i.Kind != FuncKind || r.m.rt.Module(i.Module) == nil {
			r.forget(info)
			return
		}
	}
	if _, err := r.m.start(r.prepare(b), ""); err == nil {
		r.errorf(c, "instantiated, want %q", c.Text)
	}
}
