package meter_test

import (
	"testing"
	"time"

	"github.com/joulebox/joulebox/meter"
)

// BenchmarkStep is what one reading costs: two sockets with memory, the host's busy
// time, and one run. A budget is looked at twenty times a second, so a reading of
// 500 µs is one percent of a processor.
func BenchmarkStep(b *testing.B) { benchmarkStep(b, 1) }

// BenchmarkStepOf100Runs is the same with a hundred runs to divide between.
func BenchmarkStepOf100Runs(b *testing.B) { benchmarkStep(b, 100) }

func benchmarkStep(b *testing.B, runs int) {
	c, err := meter.Powercap(tree(b, socket("package-0", 5).withMemory(5), socket("package-1", 5).withMemory(5)))
	if err != nil {
		b.Fatal(err)
	}
	node, err := meter.NewNode(meter.NodeConfig{Counter: c, Busy: meter.BusyCPU})
	if err != nil {
		b.Fatal(err)
	}
	var spans []meter.Span
	for range runs {
		s, err := node.Measured(meter.CPUTime(cpu(), meter.DefaultTable())).Begin(b.Context(), func() meter.Counts { return meter.Counts{CPUTime: time.Second} })
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		spans = append(spans, s)
	}
	for b.Loop() {
		if _, _, err := spans[0].Read(); err != nil {
			b.Fatal(err)
		}
	}
}
