package wasm

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestChildClosesWhatItInherits(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{childName}
	cmd.ExtraFiles = []*os.File{w} // survives exec
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	_ = r.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the child holds on to a descriptor that it inherited: got %v, want EOF", err)
	}
	stdin.Close() // no job: it fails
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != childFailed {
		t.Errorf("a child without a job: got %v, want exit code %d", err, childFailed)
	}
}

// TestChildDiesWithItsParent kills a process that waits for its compiler.
func TestChildDiesWithItsParent(t *testing.T) {
	if dir := os.Getenv("JOULEBOX_TEST_PARENT"); dir != "" {
		e, err := NewEngine(Config{CacheDir: dir})
		if err == nil {
			_, err = e.Compile(t.Context(), slow(8000, 1000), Options{Metered: true})
		}
		t.Fatalf("compiled before it was killed: %v", err)
	}
	parent := exec.Command("/proc/self/exe", "-test.run=^TestChildDiesWithItsParent$")
	parent.Env = append(os.Environ(), "JOULEBOX_TEST_PARENT="+t.TempDir())
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	child := eventually(t, func() string { return childOf(parent.Process.Pid) })
	_ = parent.Process.Signal(syscall.SIGKILL)
	_ = parent.Wait()
	eventually(t, func() string {
		if alive(child) {
			return ""
		}
		return "gone"
	})
}

func eventually(t *testing.T, f func() string) string {
	t.Helper()
	for range 500 {
		if s := f(); s != "" {
			return s
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("nothing within 5 s")
	return ""
}

// childOf finds the compiling child of a process in /proc.
func childOf(pid int) string {
	stats, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range stats {
		status, _ := os.ReadFile(path)
		cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", pid)) && strings.HasPrefix(string(cmdline), childName) {
			return filepath.Base(filepath.Dir(path))
		}
	}
	return ""
}

func alive(pid string) bool {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	return err == nil && !strings.Contains(string(status), "\nState:\tZ")
}
