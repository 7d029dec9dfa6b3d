//go:build amd64 || arm64

package cell

import (
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// aloneTrue runs a program that does nothing, with every limit on.
func aloneTrue(b *testing.B) {
	c, err := Start(context.Background(), Spec{Path: "/usr/bin/true", Argv: []string{"true"}, UID: 1000, GID: 1000, Limits: Limits{
		Memory: 1 << 30, Processes: 100, CPUWeight: 100, ReadIOPS: 10000, WriteIOPS: 10000, ReadBPS: 1 << 30, WriteBPS: 1 << 30}})
	if err != nil {
		b.Fatal(err)
	}
	if end, err := c.Wait(); err != nil || end.Code == nil || *end.Code != 0 {
		b.Fatal(end, err)
	}
}

func bubblewrapTrue(b *testing.B) {
	if err := exec.Command("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
		"--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
		"--tmpfs", "/tmp", "--new-session", "true").Run(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkTrue(b *testing.B) {
	for b.Loop() {
		aloneTrue(b)
	}
}

// BenchmarkBeside runs both by turns, so that what else the machine does is the
// same for both.
func BenchmarkBeside(b *testing.B) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		b.Skip("bubblewrap isn't installed")
	}
	var took [2][]time.Duration
	for b.Loop() {
		for n, f := range []func(*testing.B){aloneTrue, bubblewrapTrue} {
			begun := time.Now()
			f(b)
			took[n] = append(took[n], time.Since(begun))
		}
	}
	for n, name := range []string{"cell", "bwrap"} {
		slices.Sort(took[n])
		b.ReportMetric(float64(took[n][len(took[n])/2].Microseconds()), name+"-median-us")
		b.ReportMetric(float64(took[n][len(took[n])/10].Microseconds()), name+"-tenth-us")
	}
}

// BenchmarkAhead is what is left when a first process is ready.
func BenchmarkAhead(b *testing.B) {
	defer EndAhead()
	for b.Loop() {
		b.StopTimer()
		Ahead(1000, 1000)
		time.Sleep(20 * time.Millisecond)
		b.StartTimer()
		aloneTrue(b)
	}
}
