package partition

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	RunInitIfAsked()
	if len(os.Args) == 3 && os.Args[0] == attackName {
		attack(os.Args[1], os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// ran is what became of a program in a partition.
type ran struct {
	End
	out string
}

// run runs a shell script in a partition of the host's files.
func run(t testing.TB, script string, change func(*Spec)) ran {
	t.Helper()
	spec := Spec{
		Argv: []string{"sh", "-c", script}, Path: "/bin/sh", Env: []string{"PATH=/usr/bin:/bin", "HOME=" + Home}, UID: 1000, GID: 1000,
		Limits: Limits{Memory: 256 << 20, Tasks: 200, OpenFiles: 1024},
	}
	if change != nil {
		change(&spec)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	spec.Stdin, spec.Stdout, spec.Stderr = null, w, w
	c, err := Start(t.Context(), spec)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&out, r)
		r.Close()
	}()
	e, err := c.Wait()
	<-done
	if err != nil {
		t.Fatalf("%v; it said %q", err, out.String())
	}
	return ran{e, out.String()}
}

func TestRuns(t *testing.T) {
	r := run(t, "echo hello; id -u; hostname; pwd; env; exit 7", nil)
	if want := "hello\n1000\nunit\n" + Home + "\n"; r.Code != 7 || r.Signal != 0 || !strings.HasPrefix(r.out, want) {
		t.Errorf("got %+v", r)
	}
	if r.Usage.CPUTime == 0 || r.Usage.PeakMemory == 0 {
		t.Errorf("nothing was counted: %+v", r.Usage)
	}
}

// TestLeavesNothing: no process, control group or mount of many partitions is left.
func TestLeavesNothing(t *testing.T) {
	before := traces(t)
	for range 20 {
		run(t, "sleep 100 & exit 0", nil)
	}
	if after := traces(t); after != before {
		t.Errorf("left behind: before\n%s\nafter\n%s", before, after)
	}
}

// traces are what a partition could leave.
func traces(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	g, err := ownGroups()
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{g.unified}
	for _, c := range controllers {
		folders = append(folders, g.at[c])
	}
	var left []string
	for _, f := range folders {
		mine, _ := filepath.Glob(filepath.Join(f, fmt.Sprintf("joulebox-%d-*", os.Getpid())))
		left = append(left, mine...)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d mounts, groups %q, children %q, %d descriptors", strings.Count(string(mounts), "\n"), left, children, len(fds))
}
