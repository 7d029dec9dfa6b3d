package host

import (
	"sync/atomic"

	"github.com/joulebox/joulebox/grant"
)

// Usage is what a unit did through its Broker. An operation is one call that
// reaches the disk: opening, looking, listing and reading are reads; creating,
// changing, removing and writing are writes. The standard streams aren't storage.
type Usage struct {
	IOReads, IOReadBytes           uint64
	IOWrites, IOWrittenBytes       uint64
	IODenied                       uint64 // calls that the grants or the roots refused
	Connections, ConnectionsDenied uint64
	Execs, ExecsDenied             uint64 // programs that a native unit started, and was refused
	LogDropped                     uint64 // log lines over the cap
}

// counters may be read while the run goes on.
type counters struct {
	reads, readBytes, writes, writtenBytes, ioDenied atomic.Uint64
	connections, connectionsDenied                   atomic.Uint64
	execs, execsDenied                               atomic.Uint64
}

// Usage is what was used until now.
func (b *Broker) Usage() Usage {
	c, r := &b.counts, b.report.usage
	return Usage{
		IOReads: c.reads.Load() + r.IOReads, IOReadBytes: c.readBytes.Load() + r.IOReadBytes,
		IOWrites: c.writes.Load() + r.IOWrites, IOWrittenBytes: c.writtenBytes.Load() + r.IOWrittenBytes,
		IODenied: c.ioDenied.Load() + r.IODenied, Connections: c.connections.Load(),
		ConnectionsDenied: c.connectionsDenied.Load(), Execs: c.execs.Load(), ExecsDenied: c.execsDenied.Load(), LogDropped: b.log.dropped.Load() + r.LogDropped,
	}
}

// maxDenials is how many denials are kept to be shown.
const maxDenials = 16

// Denial is one access that was refused, and the smallest grant that would have
// allowed it; empty where none would.
type Denial struct{ Reason, Grant string }

// deny remembers the first few denials, each once. It is for people: the count
// is what goes on the record.
func (b *Broker) deny(d grant.Decision) {
	b.probes.mu.Lock()
	defer b.probes.mu.Unlock()
	n := Denial{d.Reason, d.Grant}
	for _, old := range b.probes.denials {
		if old == n {
			return
		}
	}
	if len(b.probes.denials) < maxDenials {
		b.probes.denials = append(b.probes.denials, n)
	}
}

// Denials lists the first few different denials, for the summary of a run.
func (b *Broker) Denials() []Denial {
	b.probes.mu.Lock()
	defer b.probes.mu.Unlock()
	return append(append([]Denial(nil), b.probes.denials...), b.report.denials...)
}
