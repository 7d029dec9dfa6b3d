package supervisor

import (
	"time"

	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
)

// result is how the run ended and what it used, as the record has it.
func result(e host.Exit, b *host.Broker) bundle.Result {
	stdin, stdout, stderr := b.Digests()
	return bundle.Result{
		Cause:    e.Cause,
		ExitCode: e.Code,
		Signal:   e.Signal,
		Stdin:    stdin,
		Stdout:   stdout,
		Stderr:   stderr,
		Usage:    usage(e.Counts, b.Usage()),
	}
}

func usage(c host.Counts, u host.Usage) bundle.Usage {
	return bundle.Usage{
		Instructions:      c.Instructions,
		CPUUS:             us(c.CPUTime),
		WallUS:            us(c.Wall),
		PeakMemoryBytes:   c.PeakMemory,
		IOReads:           u.IOReads,
		IOReadBytes:       u.IOReadBytes,
		IOWrites:          u.IOWrites,
		IOWrittenBytes:    u.IOWrittenBytes,
		IODenied:          u.IODenied,
		Connections:       u.Connections,
		ConnectionsDenied: u.ConnectionsDenied,
		Execs:             u.Execs,
		ExecsDenied:       u.ExecsDenied,
	}
}

func us(d time.Duration) uint64 { return uint64(max(0, d.Microseconds())) }

func probing(b *host.Broker) (probes []attestation.Probe) {
	for _, name := range b.Probing() {
		probes = append(probes, attestation.Probe(name))
	}
	return probes
}
