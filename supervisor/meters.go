package supervisor

import (
	"sync"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/meter"
)

// Meters are the meters of this machine, one for each class and way of counting
// that has one: the package counters where they can be read, estimates
// otherwise. Why there is no measured figure is what Unmeasured returns.
type Meters struct {
	instructions, vectors, cpuTime meter.Meter
	// Node divides what the counters show between runs; nil when there are none.
	Node *meter.Node
	// Unmeasured says why the Cpu class is estimated; nil when it is measured.
	Unmeasured error
	// GPUs are the graphics devices. They are looked for when they are asked for:
	// their libraries are slow to come up.
	GPUs func() []meter.GPU
}

// HostMeters looks at what this machine can measure.
func HostMeters(t meter.Table) *Meters {
	return NewMeters(t, func() (*meter.Node, error) { return meter.HostNode(t) })
}

// NewMeters are meters over a table and a node's counters, if there are any.
func NewMeters(t meter.Table, node func() (*meter.Node, error)) *Meters {
	cpu, simd := meter.HostCPU(joulebox.CPU), meter.HostCPU(joulebox.SIMD)
	m := &Meters{
		instructions: meter.Instructions(cpu, t),
		vectors:      meter.Vectors(simd, t),
		cpuTime:      meter.CPUTime(cpu, t),
		GPUs:         sync.OnceValue(meter.HostGPUs),
	}
	if m.Node, m.Unmeasured = node(); m.Unmeasured != nil {
		m.Node = nil
		return m
	}
	// One node for both, or a joule could be given twice.
	m.instructions, m.cpuTime = m.Node.Measured(m.instructions), m.Node.Measured(m.cpuTime)
	return m
}

// Find is the meter of a class for runs that are counted this way. Vector work
// can't be told from scalar work by CPU time, so there it has none.
func (m *Meters) Find(how host.Counting, class joulebox.DeviceClass) (meter.Meter, bool) {
	switch {
	case class == joulebox.CPU && how == host.CountsInstructions:
		return m.instructions, true
	case class == joulebox.CPU && how == host.CountsCPUTime:
		return m.cpuTime, true
	case class == joulebox.SIMD && how == host.CountsInstructions:
		return m.vectors, true
	case class == joulebox.GPU:
		return onlyGPU(m.GPUs())
	}
	return nil, false
}

// onlyGPU is the meter of the one device there is. Of several nobody can say yet
// which one a run would get, and one that can't be metered isn't granted (§5.1).
func onlyGPU(list []meter.GPU) (meter.Meter, bool) {
	if len(list) != 1 || list[0].Meter == nil {
		return nil, false
	}
	return list[0].Meter, true
}
