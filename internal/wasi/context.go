package wasi

import (
	"context"
	"errors"
	"slices"

	"github.com/joulebox/joulebox/internal/effect"
	"github.com/joulebox/joulebox/internal/toll"
	"github.com/joulebox/joulebox/internal/wasm"
)

// Context is one run's WASI: its descriptors over a System. It is used by the
// run's own goroutine alone.
type Context struct {
	sys      System
	tolls    toll.Table
	recorder effect.Recorder
	fds      table
	iov      [][]byte // the last list of buffers, and where they are
	iovAt    []uint32
	k        call

	lastMonotonic uint64
}

// Carrier is what a run's wasm.Params.State must be for HostFuncs to find their
// Context.
type Carrier interface{ WASI() *Context }

// New opens the standard streams and the preopened directories. Close ends it.
func New(sys System) (*Context, error) {
	c := &Context{sys: sys, tolls: sys.Tolls(), recorder: sys.Recorder()}
	kind := TypeUnknown
	if sys.Terminal() {
		kind = TypeCharacterDevice
	}
	c.fds.list = []*entry{
		{stream: sys.Stdin(), base: stdinRights, kind: kind, stdin: true},
		{stream: sys.Stdout(), base: outputRights, kind: kind},
		{stream: sys.Stderr(), base: outputRights, kind: kind},
	}
	dirs, err := sys.Preopens()
	if err != nil {
		return nil, err
	}
	for _, d := range dirs {
		c.fds.list = append(c.fds.list, &entry{dir: d.Dir, base: dirRights, inherit: fileRights | dirRights,
			kind: TypeDirectory, preopen: d.Name})
	}
	return c, nil
}

// Close closes every descriptor but the standard streams.
func (c *Context) Close() error {
	var errs []error
	for fd, e := range c.fds.list {
		if e != nil {
			errs = append(errs, e.close())
		}
		c.fds.list[fd] = nil
	}
	return errors.Join(errs...)
}

// invoke runs one call for a guest and leaves its errno in stack[0].
func (c *Context) invoke(ctx context.Context, g Guest, v *version, s *signature, stack []uint64) {
	c.k = call{ctx: ctx, g: g, c: c, v: v, mem: g.Memory(), writes: c.k.writes[:0]}
	if c.recorder == nil {
		c.k.charge(c.tolls.Call)
		stack[0] = uint64(s.f(&c.k, stack))
		return
	}
	done := effect.Call{Module: v.module, Name: s.name, Args: slices.Clone(stack[:len(s.params)]), Broke: true}
	defer func() {
		done.Units, done.Writes = c.k.units, c.k.writes
		if err := c.recorder.Record(done); err != nil && !done.Broke {
			effect.Refuse(g)
			stack[0] = uint64(EIO)
		}
	}()
	c.k.charge(c.tolls.Call)
	done.Result = uint64(s.f(&c.k, stack))
	stack[0], done.Broke = done.Result, false
}

// hostFunc adapts a function to the engine.
func hostFunc(s *signature, v *version) func(context.Context, *wasm.Call, []uint64) {
	return func(ctx context.Context, c *wasm.Call, stack []uint64) {
		carrier, ok := c.State.(Carrier)
		if !ok || carrier.WASI() == nil {
			stack[0] = uint64(ENosys)
			return
		}
		carrier.WASI().invoke(ctx, c, v, s, stack)
	}
}
