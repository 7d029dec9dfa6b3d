package main

import (
	"os"
	"sync"
	"testing"

	"github.com/joulebox/joulebox/host"
)

func TestMain(m *testing.M) {
	host.RunCompilerIfAsked()
	os.Exit(m.Run())
}

// BenchmarkAttested is for profiles; the comparison is in attested.
func BenchmarkAttested(b *testing.B) {
	run, _, done, err := attestedRun(b.TempDir() + "/house")
	if err != nil {
		b.Fatal(err)
	}
	defer done()
	for b.Loop() {
		if err := run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParts is what BenchmarkAttested can't be without.
func BenchmarkParts(b *testing.B) {
	run, done, err := leastRun(b.TempDir()+"/parts", 3000)
	if err != nil {
		b.Fatal(err)
	}
	defer done()
	for b.Loop() {
		if err := run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkKept is BenchmarkAttested in a host process that is kept, as many at
// once as hostproc has.
func BenchmarkKept(b *testing.B) {
	processes, err := host.NewProcesses(host.ProcessConfig{Keep: atOnce})
	if err != nil {
		b.Fatal(err)
	}
	defer processes.Close()
	run, _, done, err := attestedRunOn(b.TempDir()+"/house", func(e *host.Engine) host.Executor { return processes.Jailed(host.S2(e)) })
	if err != nil {
		b.Fatal(err)
	}
	defer done()
	var wg sync.WaitGroup
	left := make(chan struct{}, b.N)
	for range b.N {
		left <- struct{}{}
	}
	close(left)
	b.ResetTimer()
	for range atOnce {
		wg.Go(func() {
			for range left {
				if err := run(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
