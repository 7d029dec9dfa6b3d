//go:build amd64 || arm64

package cell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/joulebox/joulebox/internal/jail"
)

// The test binary is also the first process of cells, what attacks from within,
// and a supervisor that can be ended by force.
func TestMain(m *testing.M) {
	RunInitIfAsked(Inside{Network: testNetwork, Exec: testExec})
	if name := os.Getenv(attackVariable); name != "" {
		attack(name)
	}
	if os.Getenv(supervisorVariable) != "" {
		supervise()
	}
	os.Exit(m.Run())
}

const (
	attackVariable     = "JOULEBOX_CELL_ATTACK"
	supervisorVariable = "JOULEBOX_CELL_SUPERVISOR"
	userVariable       = "JOULEBOX_CELL_USER"
)

// shell is a cell in which a script runs, in the host's view.
func shell(script string) Spec {
	return Spec{
		Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Env: append([]string{"PATH=/usr/bin:/bin"}, Env...),
		UID: 1000, GID: 1000, Limits: Limits{Memory: 256 << 20, Processes: 64},
	}
}

// start starts a cell whose output can be read.
func start(t testing.TB, s Spec) (*Cell, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if s.Terminal == nil {
		s.Stdout, s.Stderr = w, w
	}
	c, err := Start(context.Background(), s)
	w.Close()
	if err != nil {
		skipUnlessHere(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Kill("the test is over")
		if _, err := c.Wait(); err != nil {
			t.Errorf("wait: %v", err)
		}
	})
	return c, r
}

// skipUnlessHere skips where the machine has no cells at all, which has a reason
// that the survey tells too.
func skipUnlessHere(t testing.TB, err error) {
	var missing *jail.MissingError
	if !errors.As(err, &missing) {
		return
	}
	for _, m := range Survey() {
		if m.Missing != nil && m.Needed == jail.EveryProcess {
			t.Skipf("cells can't be made here: %s: %v", m.Name, m.Missing)
		}
	}
}

// run runs a cell to its end.
func run(t testing.TB, s Spec) (End, string) {
	t.Helper()
	c, r := start(t, s)
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	end, err := c.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return end, string(out)
}

// exits checks how a unit ended.
func exits(t testing.TB, end End, out string, code uint32) {
	t.Helper()
	if end.Code == nil || *end.Code != code || end.Signal != 0 || end.OOM || end.Killed != "" || end.Changed != "" {
		t.Errorf("got %s, want exit code %d; it said %q", shown(end), code, out)
	}
}

func shown(e End) string {
	code := "none"
	if e.Code != nil {
		code = fmt.Sprint(*e.Code)
	}
	return fmt.Sprintf("code %s, signal %v, oom %v, killed %q, probing %q, changed %q, %+v", code, e.Signal, e.OOM, e.Killed, e.Probing, e.Changed, e.Usage)
}

// folder is a directory of the test's that the caller of cells owns.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// file is a place to mount.
func file(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestEnds(t *testing.T) {
	for script, check := range map[string]func(End) bool{
		"exit 0":             func(e End) bool { return e.Code != nil && *e.Code == 0 },
		"exit 7":             func(e End) bool { return e.Code != nil && *e.Code == 7 },
		"kill -TERM $$":      func(e End) bool { return e.Code == nil && e.Signal == 15 },
		"kill -KILL $$":      func(e End) bool { return e.Code == nil && e.Signal == 9 && !e.OOM && e.Killed == "" },
		"kill -KILL 1; :":    func(e End) bool { return e.Code != nil && *e.Code == 0 }, // it isn't heard
		"sleep 1000& exit 4": func(e End) bool { return e.Code != nil && *e.Code == 4 },
	} {
		if end, out := run(t, shell(script)); !check(end) {
			t.Errorf("%s: got %s; it said %q", script, shown(end), out)
		}
	}
}

func TestEnvironmentAndIdentity(t *testing.T) {
	s := shell("env | sort; id -u; id -g; id -un; hostname; pwd; cat /proc/self/cgroup | cut -d: -f3 | sort -u; date +%Z; echo $0 $1")
	s.Env, s.Dir = []string{"PATH=/usr/bin:/bin", "A=b c", "TZ=UTC"}, "/tmp"
	s.Argv = append(s.Argv, "argument")
	s.UID, s.GID = 1234, 1235
	end, out := run(t, s)
	exits(t, end, out, 0)
	want := "A=b c\nPATH=/usr/bin:/bin\nPWD=/tmp\nTZ=UTC\n1234\n1235\nunit\nunit\n/tmp\n/\nUTC\nargument\n"
	if out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestRootInside(t *testing.T) {
	s := shell("id -u; touch /root/x && echo made; touch /usr/x /etc/x /x /dev/x 2>/dev/null && echo bad; cat /etc/shadow 2>/dev/null; echo > /proc/sys/kernel/hostname; exit 0")
	s.UID, s.GID = 0, 0
	end, out := run(t, s)
	exits(t, end, out, 0)
	if !strings.HasPrefix(out, "0\nmade\n") || strings.Contains(out, "bad") || strings.Contains(out, "$") {
		t.Errorf("got %q", out)
	}
}

// What is started and left holds pipes; it ends with the unit, and its pipes do.
func TestGrandchildrenEnd(t *testing.T) {
	s := shell("(setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1000; done' &) ; (sh -c 'sleep 1001' &); echo ready")
	end, out := run(t, s)
	exits(t, end, out, 0)
	if out != "ready\n" {
		t.Errorf("got %q", out)
	}
}

func TestOrphansAreReaped(t *testing.T) {
	s := shell(`for i in 1 2 3 4 5 6 7 8; do (sh -c 'sleep 0.01 & exit' &); done; sleep 0.3; n=0; for p in /proc/[0-9]*/stat; do
read -r a b state c < $p 2>/dev/null && [ "$state" = Z ] && n=$((n+1)); done; echo zombies $n`)
	end, out := run(t, s)
	exits(t, end, out, 0)
	if out != "zombies 0\n" {
		t.Errorf("got %q", out)
	}
}

func TestKill(t *testing.T) {
	c, r := start(t, shell("trap '' TERM INT HUP; echo ready; while :; do sleep 1000; done"))
	b := make([]byte, 6)
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal(err)
	}
	c.Kill("enough")
	c.Kill("again")
	end, err := c.Wait()
	if err != nil || end.Killed != "enough" || end.Code != nil || end.Signal != 9 {
		t.Errorf("got %s, %v", shown(end), err)
	}
	c.Kill("late")
	if err := c.Signal(15); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("got %v", err)
	}
}

func TestContextKills(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c, err := Start(ctx, shell("sleep 1000"))
	if err != nil {
		skipUnlessHere(t, err)
		t.Fatal(err)
	}
	cancel(errors.New("out of patience"))
	end, err := c.Wait()
	if err != nil || end.Killed != "out of patience" {
		t.Errorf("got %s, %v", shown(end), err)
	}
	if _, err := Start(ctx, shell("true")); err == nil {
		t.Error("a cell was started after its context had ended")
	}
}

func TestSignal(t *testing.T) {
	c, r := start(t, shell("trap 'echo caught; exit 9' USR1; echo ready; while :; do sleep 0.05; done"))
	b := make([]byte, 6)
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal(err)
	}
	if err := c.Signal(10); err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(r)
	end, err := c.Wait()
	if err != nil {
		t.Fatal(err)
	}
	exits(t, end, string(out), 9)
	if !strings.Contains(string(out), "caught\n") {
		t.Errorf("got %q", out)
	}
}

func TestRefusals(t *testing.T) {
	for name, s := range map[string]Spec{
		"argv":     {Path: "/bin/true"},
		"path":     {Path: "bin/true", Argv: []string{"x"}},
		"dir":      {Path: "/bin/true", Argv: []string{"x"}, Dir: "/tmp/.."},
		"target":   {Path: "/bin/true", Argv: []string{"x"}, Mounts: []Mount{{File: file(t, "/tmp"), Target: "/"}}},
		"target2":  {Path: "/bin/true", Argv: []string{"x"}, Mounts: []Mount{{File: file(t, "/tmp"), Target: "/a/../b"}}},
		"writable": {Path: "/bin/true", Argv: []string{"x"}, Root: Root{Writable: true}},
		"NUL":      {Path: "/bin/true", Argv: []string{"x\x00y"}},
		"absent":   {Path: "/bin/nothing-like-it", Argv: []string{"x"}},
		"no dir":   {Path: "/bin/true", Argv: []string{"x"}, Dir: "/nowhere"},
		"weight":   {Path: "/bin/true", Argv: []string{"x"}, Limits: Limits{CPUWeight: 10001}},
	} {
		c, err := Start(context.Background(), s)
		if err == nil {
			c.Wait()
			t.Errorf("%s: started", name)
		}
	}
}

func TestProgramThatCannotRun(t *testing.T) {
	dir := folder(t)
	write(t, dir+"/junk", "\x00\x01\x02\x03 no program")
	write(t, dir+"/orphan", "#!/no/such/interpreter\n")
	for name, want := range map[string]syscall.Errno{"junk": syscall.ENOEXEC, "orphan": syscall.ENOENT, "absent": syscall.ENOENT, ".": syscall.EACCES} {
		s := shell("")
		s.Path = filepath.Join("/data", name)
		s.Mounts = []Mount{{File: file(t, dir), Target: "/data", Read: true, Exec: true}}
		c, err := Start(context.Background(), s)
		if err == nil {
			c.Wait()
		} else {
			skipUnlessHere(t, err)
		}
		var p *os.PathError
		if !errors.As(err, &p) || p.Op != "exec" || !errors.Is(err, want) {
			t.Errorf("%s: got %v, want exec's %v", name, err, want)
		}
	}
}
