//go:build amd64 || arm64

package cell

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// remains is what there could be left of cells that this process made.
func remains(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d mounts, %d descriptors, %d processes, %d groups", bytes.Count(mounts, []byte("\n")), len(fds),
		len(children(t)), len(groupsOf(t, os.Getpid())))
}

// children are the processes that this one has.
func children(t *testing.T) (list []string) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tasks {
		b, _ := os.ReadFile(name)
		list = append(list, strings.Fields(string(b))...)
	}
	return list
}

// groupsOf are the control groups that a supervisor has made.
func groupsOf(t *testing.T, pid int) (list []string) {
	t.Helper()
	all, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := ownPaths()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		if base, err := h.own(paths); err == nil {
			found, _ := filepath.Glob(base + "/" + groupPrefix + strconv.Itoa(pid) + ".*")
			list = append(list, found...)
		}
	}
	return list
}

func TestNothingIsLeft(t *testing.T) {
	run(t, shell("exit 0")) // what is made once
	before := remains(t)
	for n := range 100 {
		s := shell("(setsid sleep 1000 &); touch /tmp/x; exit 0")
		switch n % 4 {
		case 1:
			s.Argv[2] = "kill -9 $$"
		case 2:
			s.Path = "/nowhere"
		case 3:
			s.Terminal = &Size{24, 80}
		}
		c, err := Start(t.Context(), s)
		if n%4 == 2 {
			if err == nil {
				t.Fatal("it was started")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		if c.Terminal() != nil {
			c.Terminal().Close()
		}
	}
	if after := remains(t); after != before {
		t.Errorf("got %s, want %s", after, before)
	}
}

func TestManyAtOnce(t *testing.T) {
	run(t, shell("exit 0"))
	before := remains(t)
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			c, err := Start(t.Context(), shell("sleep 0.05; exit 6"))
			if err != nil {
				t.Error(err)
				return
			}
			if end, err := c.Wait(); err != nil || end.Code == nil || *end.Code != 6 {
				t.Errorf("got %s, %v", shown(end), err)
			}
		})
	}
	all.Wait()
	if after := remains(t); after != before {
		t.Errorf("got %s, want %s", after, before)
	}
}

// A supervisor that is ended by force takes its cells with it. Their groups go
// with it too, or with the next supervisor.
func TestSupervisorIsKilled(t *testing.T) {
	run(t, shell("exit 0"))
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), supervisorVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	first, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "ready ")))
	if err != nil {
		t.Fatalf("got %q", line)
	}
	groups := groupsOf(t, cmd.Process.Pid)
	if len(groups) == 0 {
		t.Fatal("the cell has no groups: it proves nothing")
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	waitFor(t, "its first process is there", func() bool { return startOf(first) == "" })
	for _, g := range groups {
		waitFor(t, g+" has processes", func() bool {
			b, err := os.ReadFile(g + "/cgroup.procs")
			return err != nil || len(b) == 0
		})
	}
	sweepGroups(filepath.Dir(groups[0]))
	for _, g := range groups {
		sweepGroups(filepath.Dir(g))
		if _, err := os.Stat(g); err == nil {
			t.Errorf("%s is left", g)
		}
	}
}

func waitFor(t *testing.T, what string, gone func() bool) {
	t.Helper()
	for range 500 {
		if gone() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("after five seconds %s", what)
}
