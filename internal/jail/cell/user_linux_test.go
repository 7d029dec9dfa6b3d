//go:build amd64 || arm64

package cell

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/jail"
)

const nobody = 65534

// delegate makes groups of this process's that belong to an ordinary user.
func delegate(t *testing.T) []string {
	t.Helper()
	list, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := ownPaths()
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, h := range list {
		base, err := h.own(paths)
		if err != nil || !h.two && !slices.ContainsFunc(h.controllers, func(c string) bool {
			return slices.Contains([]string{controlCPU, controlTime, controlMemory, controlPIDs, controlIO}, c)
		}) {
			continue
		}
		dir := filepath.Join(base, "joulebox-cell-test-"+strconv.Itoa(os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() {
			if err := unix.Rmdir(dir); err != nil {
				t.Errorf("%s: %v: something is left in it", dir, err)
			}
		})
		for _, f := range []string{"", "tasks", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"} {
			_ = os.Chown(filepath.Join(dir, f), nobody, nobody) // versions differ
		}
		made = append(made, dir)
	}
	return made
}

// asNobody runs tests of this binary as an ordinary user, in groups.
func asNobody(t *testing.T, groups []string, tests string, env ...string) ([]byte, error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "joulebox-cell-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(dir+"/tmp", 0o755), os.Chown(dir+"/tmp", nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/test", string(program))
	// What a thread is in its children are born in.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var back []string
	paths, _ := ownPaths()
	list, _ := hierarchies()
	cmd := exec.Command(dir+"/test", "-test.run="+tests, "-test.v")
	cmd.Env = append(os.Environ(), append(env, userVariable+"=1", "TMPDIR="+dir+"/tmp", "HOME="+dir+"/tmp")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Dir = dir
	for _, g := range groups {
		for _, h := range list {
			base, err := h.own(paths)
			if err != nil || filepath.Dir(g) != base {
				continue
			}
			if h.two {
				f, err := os.Open(g)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(f.Fd())
				continue
			}
			if err := writeFile(g+"/tasks", "0"); err != nil {
				t.Fatal(err)
			}
			back = append(back, base)
		}
	}
	out, err := cmd.CombinedOutput()
	for _, base := range back {
		if err := writeFile(base+"/tasks", "0"); err != nil {
			t.Fatal(err)
		}
	}
	return out, err
}

// All tests once more, as an ordinary user who was given control groups.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to delegate control groups")
	}
	out, err := asNobody(t, delegate(t), ".")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if n := bytes.Count(out, []byte("--- PASS")); n < 30 {
		t.Errorf("%d tests passed, want 30 at least: it proves nothing\n%s", n, out)
	}
}

// Without groups of their own an ordinary user has no cells, and is told why.
func TestWithoutDelegation(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become an ordinary user without control groups")
	}
	out, err := asNobody(t, nil, "TestIsDeclined", "JOULEBOX_CELL_DECLINED=1")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestIsDeclined(t *testing.T) {
	if os.Getenv("JOULEBOX_CELL_DECLINED") == "" {
		t.Skip("running as root; TestWithoutDelegation runs this as an ordinary user")
	}
	c, err := Start(context.Background(), shell("exit 0"))
	if err == nil {
		c.Wait()
		t.Fatal("it was started without limits")
	}
	var missing *jail.MissingError
	if !errors.As(err, &missing) || missing.Mechanisms[0].Missing == nil {
		t.Fatalf("got %v, want a mechanism that is missing", err)
	}
	t.Log(err)
	if jail.Missing(Survey(), true) == nil {
		t.Error("the survey finds nothing missing")
	}
}
