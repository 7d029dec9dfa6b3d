//go:build amd64 || arm64

package cell

import (
	"context"
	"os/exec"
	"testing"
)

func BenchmarkTrue(b *testing.B) {
	for b.Loop() {
		c, err := Start(context.Background(), Spec{Path: "/usr/bin/true", Argv: []string{"true"}, UID: 1000, GID: 1000})
		if err != nil {
			b.Fatal(err)
		}
		if end, err := c.Wait(); err != nil || end.Code == nil || *end.Code != 0 {
			b.Fatal(end, err)
		}
	}
}

func BenchmarkBubblewrap(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
			"--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
			"--tmpfs", "/tmp", "--new-session", "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
