//go:build amd64 || arm64

package cell

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMemoryRunsOut(t *testing.T) {
	s := attackSpec(t, "memory")
	s.Limits.Memory = 48 << 20
	end, out := run(t, s)
	if !end.OOM || end.Code != nil || end.Killed != "" {
		t.Errorf("got %s; it said %q", shown(end), out)
	}
	if end.Usage.Memory > 48<<20 || end.Usage.Memory < 24<<20 {
		t.Errorf("got a peak of %d bytes", end.Usage.Memory)
	}
}

// Files in memory count, and their end is an error before it is the unit's.
func TestMemoryFiles(t *testing.T) {
	s := shell("cat /dev/zero > /tmp/a || cat /dev/zero > /dev/shm/b; echo done")
	s.Limits.Memory = 48 << 20
	end, out := run(t, s)
	if end.Usage.Memory > 48<<20 || !end.OOM && !strings.Contains(out, "No space") {
		t.Errorf("got %s; it said %q", shown(end), out)
	}
}

func TestForkBomb(t *testing.T) {
	s := shell("echo")
	s.Path, s.Argv = "/attack", []string{"attack"}
	s.Env = append(s.Env, attackVariable+"=forks")
	s.Mounts = []Mount{attacker(t)}
	s.Limits.Processes = 40
	end, out := run(t, s)
	exits(t, end, out, 0)
	var forked int
	if _, err := fmt.Sscanf(out, "forked %d", &forked); err != nil || forked < 10 || forked > 39 {
		t.Errorf("got %q, want 10 to 39", out)
	}
}

func TestProcessesAreExact(t *testing.T) {
	// The shell is one; each sleep is another.
	s := shell("sleep 0.3; i=0; while sleep 1000 & do i=$((i+1)); echo $i; [ $i -gt 20 ] && break; done 2>/dev/null")
	s.Limits.Processes = 8
	_, out := run(t, s)
	if lines := strings.Count(out, "\n"); lines != 7 {
		t.Errorf("got %d beside the shell, want 7: %q", lines, out)
	}
}

func TestProcessorQuota(t *testing.T) {
	s := shell("for i in 1 2 3; do (while :; do :; done)& done; sleep 1; exit 0")
	s.Limits.CPUs = 200
	begun := time.Now()
	end, out := run(t, s)
	exits(t, end, out, 0)
	if most := time.Since(begun)/5 + 150*time.Millisecond; end.Usage.CPU > most || end.Usage.CPU < 10*time.Millisecond {
		t.Errorf("got %v of processor time, want at most %v", end.Usage.CPU, most)
	}
}

func TestUsageOfTheDead(t *testing.T) {
	s := shell("(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done); echo ready; sleep 1000")
	c, r := start(t, s)
	if _, err := io.ReadFull(r, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	u, err := c.Usage()
	if err != nil || u.CPU < 20*time.Millisecond || u.Memory == 0 || u.Processes < 1 || u.Processes > 3 {
		t.Errorf("got %+v, %v", u, err)
	}
}

func TestFilesAreBounded(t *testing.T) {
	s := shell("ulimit -n; ulimit -n 100 2>/dev/null; ulimit -n; ulimit -n 90000 2>/dev/null || echo refused; ulimit -c; trap '' XFSZ; head -c 9000 /dev/zero > /tmp/f; wc -c < /tmp/f")
	s.Limits.OpenFiles, s.Limits.FileSize = 321, 4096
	end, out := run(t, s)
	exits(t, end, out, 0)
	if !strings.HasPrefix(out, "321\n100\nrefused\n0\n") || !strings.HasSuffix(out, "\n4096\n") {
		t.Errorf("got %q", out)
	}
}

// onDisk is a folder on a device, or none.
func onDisk(t *testing.T) string {
	t.Helper()
	dir := folder(t)
	f := file(t, dir)
	devices, err := deviceOf(f)
	if err != nil || len(devices) == 0 {
		t.Skipf("the folder for temporary files is on no device that can be bounded: %v", err)
	}
	return dir
}

// Reads take as long as their number says, however fast the device is.
func TestReadsAreCounted(t *testing.T) {
	dir := onDisk(t)
	name := filepath.Join(dir, "data")
	if err := os.WriteFile(name, bytes.Repeat([]byte("x"), 64*4096), 0o644); err != nil {
		t.Fatal(err)
	}
	s := shell("dd if=/data/data of=/dev/null bs=4096 count=48 iflag=direct 2>/dev/null; echo $?")
	s.Mounts = []Mount{{File: file(t, dir), Target: "/data", Read: true}}
	s.Limits.ReadIOPS = 30
	begun := time.Now()
	end, out := run(t, s)
	exits(t, end, out, 0)
	if out != "0\n" {
		t.Skipf("this filesystem has no direct reads: %q", out)
	}
	if end.Usage.Reads < 48 || end.Usage.ReadBytes < 48*4096 {
		t.Errorf("got %+v, want 48 reads at least", end.Usage)
	}
	if took := time.Since(begun); took < time.Second {
		t.Errorf("48 reads at 30 a second took %v", took)
	}
}

func TestWritesAreBounded(t *testing.T) {
	dir := onDisk(t)
	s := shell("dd if=/dev/zero of=/data/out bs=65536 count=32 oflag=direct 2>/dev/null; echo $?")
	s.Mounts = []Mount{{File: file(t, dir), Target: "/data", Read: true, Write: true}}
	s.Limits.WriteBPS = 1 << 20
	begun := time.Now()
	end, out := run(t, s)
	exits(t, end, out, 0)
	if out != "0\n" {
		t.Skipf("this filesystem has no direct writes: %q", out)
	}
	if took := time.Since(begun); took < time.Second {
		t.Errorf("2 MiB at 1 MiB a second took %v", took)
	}
	if end.Usage.WriteBytes < 2<<20 {
		t.Errorf("got %+v", end.Usage)
	}
}
