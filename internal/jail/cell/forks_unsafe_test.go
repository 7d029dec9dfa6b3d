//go:build linux && (amd64 || arm64)

package cell

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// fork makes a process that runs nothing else. It has the calling thread alone, so it
// can't use Go's own calls.
func fork() (pid uintptr, errno unix.Errno) {
	pid, _, errno = unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	return pid, errno
}

// forkAlone makes processes without execve until no more go, and again when they have
// ended; meanwhile threads can be made.
func forkAlone() {
	for range 2 {
		var made []uintptr
		for {
			pid, errno := fork()
			if pid == 0 && errno == 0 {
				for {
					_, _, _ = unix.RawSyscall(unix.SYS_PPOLL, 0, 0, 0) // forever
				}
			}
			if errno != 0 {
				fmt.Println(len(made), errno)
				break
			}
			made = append(made, pid)
		}
		var threads sync.WaitGroup
		hold := make(chan struct{})
		for range 8 {
			threads.Go(func() { runtime.LockOSThread(); <-hold })
		}
		close(hold)
		threads.Wait()
		for _, pid := range made {
			_ = unix.Kill(int(pid), unix.SIGKILL)
			_, _ = unix.Wait4(int(pid), nil, 0, nil)
		}
	}
}

// forkStorm has each process make more of them, all at once.
func forkStorm() {
	for range 200 {
		_, _ = fork()
	}
	for {
		if _, _, errno := unix.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), 0, 0, 0, 0, 0); errno != 0 {
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
}

// bounded is a cell with few processes, in which it is either process that counts.
func bounded(t *testing.T, attack string, most uint32, gated bool) (Spec, *atomic.Int64) {
	var denied atomic.Int64
	s := attackSpec(t, attack)
	s.Limits.Programs, s.Crowded = &most, func() { denied.Add(1) }
	if !gated {
		s.Program, s.Mounts = file(t, "/proc/self/exe"), nil
	}
	return s, &denied
}

// TestForks: processes are bounded whatever makes them, and threads aren't; when some
// have ended there is room again.
func TestForks(t *testing.T) {
	for _, gated := range []bool{false, true} {
		s, denied := bounded(t, "fork alone", 3, gated)
		end, out := run(t, s)
		exits(t, end, out, 0)
		if want := fmt.Sprintf("3 %v\n3 %v\n", unix.EAGAIN, unix.EAGAIN); out != want || denied.Load() != 2 {
			t.Errorf("gated %v: got %q, %d denied", gated, out, denied.Load())
		}
	}
}

// TestForkStorm: nor are there ever more when all make some at once.
func TestForkStorm(t *testing.T) {
	for _, gated := range []bool{false, true} {
		const most = 6
		s, denied := bounded(t, "fork storm", most, gated)
		c, _ := start(t, s)
		// A list isn't of one moment: who is on two was there between them.
		var before []string
		largest := 0
		for ended := false; !ended; {
			select {
			case <-c.done:
				ended = true
			default:
				now, _ := c.programs()
				both := slices.DeleteFunc(slices.Clone(now), func(p string) bool { return !slices.Contains(before, p) })
				largest, before = max(largest, len(both)), now
			}
		}
		if _, err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		if largest > most+1 || denied.Load() == 0 {
			t.Errorf("gated %v: got %d processes at once, %d denied", gated, largest, denied.Load())
		}
	}
}

// TestForkProbes: what makes a namespace with a process is denied as ever.
func TestForkProbes(t *testing.T) {
	for _, gated := range []bool{false, true} {
		s, _ := bounded(t, "calls", 3, gated)
		end, out := run(t, s)
		exits(t, end, out, 0)
		if !slices.Contains(end.Probing, "clone") || strings.Contains(out, "clone user") {
			t.Errorf("gated %v: got %q, %s", gated, end.Probing, out)
		}
	}
}
