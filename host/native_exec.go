//go:build linux

package host

import (
	"fmt"
	"sync/atomic"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/jail/cell"
	"github.com/joulebox/joulebox/internal/jail/execwatch"
)

// execs decides what a native unit may start. Its own entrypoint needs no grant;
// whatever comes after it does (§5.5).
type execs struct {
	broker *Broker
	sealed bool        // hashes bind
	want   joulebox.ID // of the program, in a host image
	cell   atomic.Pointer[cell.Cell]
	// learner watches instead.
	learner *Learner
	// refused is why the unit's own program wasn't started.
	refused atomic.Pointer[string]
}

func newExecs(j Job) *execs {
	return &execs{broker: j.Broker, sealed: hashesBind(j.Broker.config.Grants), want: j.Native.Image.Program.B3, learner: j.Learner}
}

func (x *execs) decide(e execwatch.Exec) execwatch.Verdict {
	if x.learner != nil {
		x.learner.exec(e, x.cell.Load())
	}
	if e.Entry {
		return x.entry(e)
	}
	if x.learner != nil {
		return execwatch.Verdict{Allowed: true, Reason: asSeen.Reason}
	}
	d := x.broker.enforcer.MayExec(e.Path, e.Hash)
	if e.Role == execwatch.Loader && !(x.sealed && e.Writable) && !x.denied(e) {
		// What the kernel loads a program with is part of the program. Where names decide
		// they are advisory anyway; where contents do, it must be as it was.
		d = grant.Decision{Allowed: true, Reason: "the loader of a program that is allowed"}
	}
	if d.Allowed && !x.room() {
		d = tooMany
	}
	if !d.Allowed {
		x.broker.deny(d)
	}
	return execwatch.Verdict{Allowed: d.Allowed, Reason: d.Reason}
}

// tooMany is what a process over the bound is denied with.
var tooMany = grant.Decision{Reason: "process.max_processes are running already", Grant: "process.max_processes: more"}

// entry decides about the unit's own program. What was hashed is what runs.
func (x *execs) entry(e execwatch.Exec) execwatch.Verdict {
	named := e.Role == execwatch.Program || e.Role == execwatch.Script
	if named && !x.want.IsZero() && e.Hash != x.want {
		return execwatch.Verdict{Reason: fmt.Sprintf("the program is %v now, and was %v when it was looked at", e.Hash, x.want)}
	}
	if x.denied(e) {
		return execwatch.Verdict{Reason: fmt.Sprintf("process.deny_hashes holds %v", e.Hash)}
	}
	return execwatch.Verdict{Allowed: true, Reason: "the unit's entrypoint"}
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

// refusal is what the caller gets when the unit's own program was refused.
func (x *execs) refusal(j Job) error {
	return &RefusedError{Reason: j.Unit.Entrypoint[0] + " may not be started", Err: fmt.Errorf("%w: %s", ErrDenied, *x.refused.Load())}
}

// room reports whether one more program may run beside the entrypoint's own.
func (x *execs) room() bool {
	c := x.cell.Load()
	if c == nil {
		return true // the entrypoint is only beginning
	}
	n, err := c.Programs()
	return err == nil && n-1 <= int(x.broker.enforcer.MaxProcesses())
}

// record counts what was decided, once a call.
func (x *execs) record(r execwatch.Record) {
	switch {
	case r.Entry && !r.Allowed:
		x.refused.Store(&r.Reason)
	case r.Entry:
	case !r.Allowed:
		x.broker.counts.execsDenied.Add(1)
	case r.Role == execwatch.Program || r.Role == execwatch.Script:
		x.broker.counts.execs.Add(1)
	}
}
