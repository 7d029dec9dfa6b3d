package main

import (
	"os"
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
