package execwatch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
)

// A watched tree does what an unwatched one does.
func TestNothingIsDisturbed(t *testing.T) {
	scripts := map[string]string{
		"exit code":          "exit 3",
		"killed":             "kill -9 $$",
		"terminated":         "kill -TERM $$",
		"trap signal":        "kill -TRAP $$",
		"core signal":        "ulimit -c 0; kill -SEGV $$",
		"handler":            "trap 'echo t >&3' USR1 TRAP; kill -USR1 $$; kill -TRAP $$; echo e >&3; exit 4",
		"ignored":            "trap '' TERM; kill -TERM $$; echo e >&3",
		"a child's end":      "sh -c 'kill -KILL $$'; echo $? >&3; sh -c 'exit 9'; echo $? >&3; /nonexistent; echo $? >&3; /etc/passwd; echo $? >&3",
		"background":         "(sleep 0.05; echo b >&3) & echo a >&3; wait; echo c >&3",
		"pipes":              "seq 1000 | sort -rn | head -1 >&3; yes | head -1 >&3",
		"stopped":            "sleep 60 & p=$!; kill -STOP $p; kill -CONT $p; kill -TERM $p; wait $p; echo $? >&3",
		"stopped for good":   "sleep 60 & p=$!; kill -STOP $p; kill -KILL $p; wait $p; echo $? >&3",
		"orphans":            "(setsid sh -c 'sleep 0.05; echo o >&3' &) ; echo a >&3; sleep 0.2",
		"a loop of commands": "i=0; while [ $i -lt 300 ]; do /bin/true || exit 1; i=$((i+1)); done; echo $i >&3",
		"a chain of execs":   `f() { [ $1 -gt 0 ] && exec sh -c "$F" f $(($1-1)); echo end >&3; }; F='[ $1 -gt 0 ] && exec sh -c "$F" f $(($1-1)); echo end >&3'; export F; exec sh -c "$F" f 300`,
		"a deep tree":        `F='[ $1 -gt 0 ] && { sh -c "$F" f $(($1-1)); exit $?; }; echo end >&3; exit 5'; export F; sh -c "$F" f 60`,
	}
	everyWay(t, func(t *testing.T, u user, way string) {
		for name, script := range scripts {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				o := order{Way: "reap", Args: []string{"/bin/sh", "-c", script}}
				plain, want := o.run(t, u)
				o.Way = way
				watched, got := o.run(t, u)
				if got != want || watched.Status != plain.Status {
					t.Errorf("got %q and status %#x, want %q and %#x", got, uint32(watched.Status), want, uint32(plain.Status))
				}
			})
		}
	})
}

func TestJobControl(t *testing.T) {
	everyWay(t, func(t *testing.T, u user, way string) {
		answer, marks := order{Way: way, Attack: "jobs", Args: []string{self}}.run(t, u)
		ended(t, answer, 0)
		if want := strings.Repeat("sc", 5) + "e"; marks != want {
			t.Errorf("got %q, want %q", marks, want)
		}
	})
}

func TestThousandPrograms(t *testing.T) {
	everyWay(t, func(t *testing.T, u user, way string) {
		good, _ := program(t, folder(t), "good", tiny('g', 0, ""))
		bad, hash := program(t, folder(t), "bad", tiny('b', 0, ""))
		script := "i=0; while [ $i -lt 500 ]; do " + good + "; " + bad + "; i=$((i+1)); done 2>/dev/null"
		answer, marks := order{Way: way, Args: []string{"/bin/sh", "-c", script}, Deny: []joulebox.ID{hash}}.run(t, u)
		refused(t, answer, marks, strings.Repeat("g", 500), hash)
		if n := len(answer.Records); n < 1000 || n > 1010 {
			t.Errorf("got %d decisions, want one for each program", n)
		}
	})
}

// Who traces gains nothing by a file's rights, nor does who is traced.
func TestFileRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make files of another user")
	}
	u := user{"nobody", 65534}
	dir := folder(t)
	id, err := os.ReadFile("/usr/bin/id")
	if err != nil {
		t.Fatal(err)
	}
	path, _ := program(t, dir, "id", id)
	if err := os.Chmod(path, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	hidden, _ := program(t, dir, "hidden", tiny('h', 0, ""))
	if err := os.Chmod(hidden, 0o711); err != nil {
		t.Fatal(err)
	}
	for _, way := range ways(u) {
		_, marks := order{Way: way, Args: []string{"/bin/sh", "-c", path + " -u >&3"}}.run(t, u)
		if strings.TrimSpace(marks) != strconv.Itoa(int(u.id)) {
			t.Errorf("%s: a setuid program ran as %q", way, marks)
		}
		// What can be run and not read has no content: a list doesn't allow it.
		_, other := program(t, dir, "other", tiny('o', 0, ""))
		answer, marks := order{Way: way, Args: []string{hidden}, Allow: []joulebox.ID{other}}.tell(t, u)
		if way == "traceme" { // it can't be taken over either
			if marks != "" || !strings.Contains(answer.Err, "not permitted") {
				t.Errorf("got %q and marks %q", answer.Err, marks)
			}
			continue
		}
		refused(t, answer, marks, "", joulebox.ID{})
	}
}

// A tree ends with the process that traces it.
func TestTreeEndsWithItsTracer(t *testing.T) {
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			dir := folder(t)
			alive := filepath.Join(dir, "alive")
			script := "setsid sh -c 'while :; do echo x >> " + alive + "; sleep 0.02; done' & kill -9 $PPID; sleep 60"
			_, _ = order{Way: "trace", Args: []string{"/bin/sh", "-c", "sleep 0.1; " + script}, Dir: dir}.attempt(t, u)
			size := func() int64 {
				st, err := os.Stat(alive)
				if err != nil {
					return 0
				}
				return st.Size()
			}
			before := size()
			time.Sleep(200 * time.Millisecond)
			if after := size(); after != before {
				t.Errorf("the tree lives: it wrote %d bytes", after-before)
			}
		})
	}
}

// Others who run a file while the tree waits for an answer about it don't wait.
func TestOthersAreNotHeldUp(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: fanotify")
	}
	good, _ := program(t, folder(t), "good", tiny('g', 0, ""))
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		o := order{Way: "fanotify", Args: []string{good}, Slow: true}
		o.run(t, user{"root", 0})
	}()
	deadline := time.After(20 * time.Second)
	ran := 0
	for {
		select {
		case <-done:
			if ran < 10 {
				t.Errorf("%d runs by others while the tree waited: the test proves nothing", ran)
			}
			return
		case <-deadline:
			t.Fatal("held up")
		default:
			cmd := exec.Command(good)
			cmd.ExtraFiles = []*os.File{null}
			began := time.Now()
			if _ = cmd.Run(); time.Since(began) < slow/2 {
				ran++
			}
		}
	}
}
