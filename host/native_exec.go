//go:build linux

package host

import (
	"sync/atomic"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/jail/execwatch"
)

// crowd counts a partition's processes.
type crowd interface{ Processes() (int, error) }

// execs decides what a native unit may start. Its own entrypoint needs no grant;
// whatever comes after it does (§5.5).
type execs struct {
	broker *Broker
	sealed bool // hashes bind
	cell   atomic.Value
}

func newExecs(b *Broker) *execs {
	p := b.config.Grants.Process
	return &execs{broker: b, sealed: len(p.AllowHashes)+len(p.DenyHashes) > 0}
}

func (x *execs) decide(e execwatch.Exec) execwatch.Verdict {
	if e.Entry {
		return execwatch.Verdict{Allowed: true, Reason: "the unit's entrypoint"}
	}
	d := x.broker.enforcer.MayExec(e.Path, e.Hash)
	if e.Role == execwatch.Loader && !e.Writable && !x.denied(e) {
		// What the kernel loads a program with is part of the program.
		d = grant.Decision{Allowed: true, Reason: "the loader of a program that is allowed"}
	}
	if d.Allowed && !x.room() {
		d = grant.Decision{Reason: "process.max_processes are running already", Grant: "process.max_processes: more"}
	}
	if !d.Allowed {
		x.broker.deny(d)
	}
	return execwatch.Verdict{Allowed: d.Allowed, Reason: d.Reason}
}

// denied reports whether the denylist names a content.
func (x *execs) denied(e execwatch.Exec) bool {
	for _, id := range x.broker.config.Grants.Process.DenyHashes {
		if id == e.Hash {
			return true
		}
	}
	return false
}

// room reports whether one more program may run: the partition's own first process
// and the entrypoint's aren't counted.
func (x *execs) room() bool {
	c, ok := x.cell.Load().(crowd)
	if !ok {
		return true // the entrypoint is only beginning
	}
	n, err := c.Processes()
	return err == nil && n-2 <= int(x.broker.enforcer.MaxProcesses())
}

// record counts what was decided, once a call.
func (x *execs) record(r execwatch.Record) {
	switch {
	case r.Entry:
	case !r.Allowed:
		x.broker.counts.execsDenied.Add(1)
	case r.Role == execwatch.Program || r.Role == execwatch.Script:
		x.broker.counts.execs.Add(1)
	}
}
