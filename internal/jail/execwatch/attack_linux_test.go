package execwatch

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/joulebox/joulebox"
)

// Programs that were judged by one content and would run by another.
func TestContentCannotBeExchanged(t *testing.T) {
	everyWay(t, func(t *testing.T, u user, way string) {
		for _, attack := range []string{"rewrite", "rename"} {
			t.Run(attack, func(t *testing.T) {
				dir := folder(t)
				good, _ := program(t, dir, "good", tiny('g', 0, "1"))
				bad, hash := program(t, dir, "bad", tiny('b', 0, "2"))
				o := order{Way: way, Attack: attack, Args: []string{self, good, bad, dir + "/target"}, Dir: dir, Deny: []joulebox.ID{hash}}
				answer, marks := o.run(t, u)
				ended(t, answer, 0)
				if strings.Contains(marks, "b") {
					t.Errorf("a denied program ran %d times", strings.Count(marks, "b"))
				}
				if strings.Count(marks, "g") < 20 {
					t.Errorf("an allowed one ran %d times only: the test proves little", strings.Count(marks, "g"))
				}
				denials := 0
				for _, r := range answer.Records {
					if r.Hash == hash {
						denials++
					}
				}
				if denials < 20 {
					t.Errorf("%d denials: the test proves little", denials)
				}
			})
		}
	})
}

func ended(t *testing.T, answer told, code int) {
	t.Helper()
	if !answer.Status.Exited() || answer.Status.ExitStatus() != code {
		t.Errorf("got status %#x, want exit %d", uint32(answer.Status), code)
	}
}

func TestThreads(t *testing.T) {
	everyWay(t, func(t *testing.T, u user, way string) {
		dir := folder(t)
		good, _ := program(t, dir, "g", tiny('g', 5, ""))
		bad, hash := program(t, dir, "b", tiny('b', 5, ""))
		deny := []joulebox.ID{hash}
		answer, marks := order{Way: way, Attack: "thread", Args: []string{self, good}, Deny: deny}.run(t, u)
		if marks != "g" {
			t.Errorf("got %q from a thread's execve, want \"g\"", marks)
		}
		ended(t, answer, 5)
		answer, marks = order{Way: way, Attack: "thread", Args: []string{self, bad}, Deny: deny}.run(t, u)
		refused(t, answer, marks, "", hash)

		answer, marks = order{Way: way, Attack: "arguments", Args: []string{self, good, bad}, Deny: deny}.run(t, u)
		ended(t, answer, 0)
		if strings.Contains(marks, "b") || !strings.Contains(marks, "g") {
			t.Errorf("got marks %q", marks)
		}
		refused(t, answer, "", "", hash) // some tries have named it
	})
}

// Files without a name.
func TestNameless(t *testing.T) {
	everyWay(t, func(t *testing.T, u user, way string) {
		for _, attack := range []string{"memfd", "memfd+seal", "memfd+swap", "tmpfile"} {
			t.Run(attack, func(t *testing.T) {
				dir := folder(t)
				good, allowed := program(t, dir, "good", tiny('g', 0, ""))
				bad, hash := program(t, dir, "bad", tiny('b', 0, ""))
				args := []string{self, bad}
				if attack == "memfd+swap" {
					args = []string{self, good, bad}
				}
				o := order{Way: way, Attack: attack, Args: args, Dir: dir, Deny: []joulebox.ID{hash}}
				if way == "fanotify" {
					o.Confine = Fanotify // the kernel doesn't ask about memory files
				}
				// A list of what may run shows what isn't known.
				o.Allow = append(filesOf(t, self), allowed)
				answer, marks := o.run(t, u)
				if strings.ContainsAny(marks, "b") {
					t.Errorf("it ran: %q, %+v", marks, answer.Records)
				}
				if attack == "memfd+seal" && way != "fanotify" || attack == "tmpfile" {
					refused(t, answer, marks, "", hash)
				}
			})
		}
	})
}

// A sealed memory file is as good as any.
func TestSealedMemoryRuns(t *testing.T) {
	everyWay(t, func(t *testing.T, u user, way string) {
		if way == "fanotify" {
			return
		}
		good, hash := program(t, folder(t), "good", tiny('g', 0, ""))
		o := order{Way: way, Attack: "memfd+seal", Args: []string{self, good}, Allow: append(filesOf(t, self), hash)}
		answer, marks := o.run(t, u)
		if marks != "g" {
			t.Errorf("got %q, %+v", marks, answer.Records)
		}
	})
}

// The call that leaves a tree, and the filter that keeps it in.
func TestUntracedChildren(t *testing.T) {
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			bad, hash := program(t, folder(t), "bad", tiny('b', 0, ""))
			o := order{Way: "attach", Attack: "untraced", Args: []string{self, bad}, Deny: []joulebox.ID{hash}}
			if _, marks := o.run(t, u); marks != "b" {
				t.Errorf("without the filter: got %q; the attack doesn't work, so the test proves nothing", marks)
			}
			o.Confine = Ptrace
			if _, marks := o.run(t, u); marks != "" {
				t.Errorf("got %q, want nothing", marks)
			}
		})
	}
}

func TestTracersInside(t *testing.T) {
	everyWay(t, func(t *testing.T, u user, way string) {
		if way == "fanotify" {
			return // tracers may be: the kernel is asked all the same
		}
		bad, hash := program(t, folder(t), "bad", tiny('b', 0, ""))
		good, _ := program(t, folder(t), "good", tiny('g', 6, ""))
		o := order{Way: way, Attack: "trace", Args: []string{self, bad}, Deny: []joulebox.ID{hash}}
		if way != "traceme" && way != "starter" {
			o.Confine, o.Args = Ptrace, append(o.Args, "confined")
		}
		answer, marks := o.run(t, u)
		refused(t, answer, marks, "", hash)
		o.Args[1] = good
		answer, marks = o.run(t, u)
		if marks != "g" {
			t.Errorf("got %q", marks)
		}
		ended(t, answer, 6)
	})
}

// sealedWays are the ways in which a view can be sealed for a user.
func sealedWays(t *testing.T, test func(t *testing.T, u user, way string, m Mechanism)) {
	for _, u := range users() {
		t.Run(u.name+"/ptrace", func(t *testing.T) { test(t, u, "attach", Ptrace) })
		t.Run(u.name+"/starter", func(t *testing.T) { test(t, u, "starter", Ptrace) })
		if u.id == 0 {
			t.Run(u.name+"/fanotify", func(t *testing.T) { test(t, u, "fanotify", Fanotify) })
		}
	}
}

func TestNoOtherCode(t *testing.T) {
	sealedWays(t, func(t *testing.T, u user, way string, m Mechanism) {
		o := order{Way: way, Attack: "mappings", Args: []string{self, "/bin/sh"}, Dir: folder(t), View: true, Sealed: true, Confine: m}
		answer, marks := o.run(t, u)
		ended(t, answer, 0)
		if want := strings.Repeat(".", 14); marks != want {
			t.Logf("%+v", answer.Records)
			t.Errorf("got marks %q, want %q", marks, want)
		}
	})
}

// What a loader could run by itself.
func TestLoaderByItself(t *testing.T) {
	sealedWays(t, func(t *testing.T, u user, way string, m Mechanism) {
		dir := folder(t)
		denied := filesOf(t, "/usr/bin/id")[:1]
		sh, err := os.Open("/bin/sh")
		if err != nil {
			t.Fatal(err)
		}
		defer sh.Close()
		ld := parseHeader(sh).loader
		o := order{Way: way, Args: []string{"/bin/sh", "-c", ""}, Dir: dir, View: true, Sealed: true, Confine: m, Deny: denied}
		for _, script := range []string{
			"/usr/bin/id >&3",
			ld + " /usr/bin/id >&3",
			"cp /usr/bin/id copy && ./copy >&3",
			"cp /usr/bin/id copy && " + ld + " ./copy >&3",
			"cp " + ld + " ld && ./ld /usr/bin/id >&3",
			"echo '#!/usr/bin/id' > script && chmod +x script && ./script >&3",
			"echo '#!" + ld + "' > script && chmod +x script && ./script /usr/bin/id >&3",
			"cat /usr/bin/id | /dev/stdin >&3",
			"/dev/fd/9 9< /usr/bin/id >&3",
			"cp /usr/bin/id copy && exec 9< copy && /proc/self/fd/9 >&3",
		} {
			o.Args[2] = script
			answer, marks := o.run(t, u)
			if marks != "" {
				t.Errorf("%s: got %q, %+v", script, marks, answer.Records)
			}
		}
		o.Args[2] = "/usr/bin/printf ok >&3"
		if answer, marks := o.run(t, u); marks != "ok" {
			t.Errorf("what isn't denied doesn't run: %q, %+v", marks, answer)
		}
	})
}

// A call that fails late must not lend its loader to the next.
func TestCallsThatFail(t *testing.T) {
	sealedWays(t, func(t *testing.T, u user, way string, m Mechanism) {
		sh, err := os.Open("/bin/sh")
		if err != nil {
			t.Fatal(err)
		}
		defer sh.Close()
		ld := parseHeader(sh).loader
		o := order{Way: way, Attack: "too long", Args: []string{self, "/bin/echo", ld, "/bin/sh", "-c", "echo b >&3"}, Dir: folder(t), View: true, Sealed: true, Confine: m}
		answer, marks := o.run(t, u)
		if marks != "" {
			t.Errorf("the loader ran: %q, %+v", marks, answer.Records)
		}
		last := answer.Records[len(answer.Records)-1]
		if last.Allowed || last.Role != Program || !strings.Contains(last.Reason, "loader") {
			t.Errorf("got %+v, want the loader refused as a program", last)
		}
	})
}

// Where hashes bind, the view has to hold what was judged.
func TestOpenViewIsDeclined(t *testing.T) {
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			good, _ := program(t, folder(t), "good", tiny('g', 0, ""))
			o := order{Way: "trace", Args: []string{good}, Sealed: true}
			if answer, marks := o.tell(t, u); !strings.Contains(answer.Err, "noexec") || !strings.Contains(answer.Err, "/proc") || marks != "" {
				t.Errorf("got %q and marks %q, want the mounts to be named", answer.Err, marks)
			}
		})
	}
}

func TestSealMemfds(t *testing.T) {
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			cmd := exec.Command(self)
			cmd.Env = []string{modeVariable + "=attack:seal"}
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
				UidMappings: []syscall.SysProcIDMap{{HostID: int(u.id), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{HostID: int(u.id), Size: 1}},
			}
			if u.id != uint32(os.Geteuid()) { // from that user's own process
				cmd.SysProcAttr.Credential = &syscall.Credential{NoSetGroups: true}
			}
			out, err := cmd.CombinedOutput()
			if u.id != 0 { // the file is root's, whoever the namespace's is
				if !strings.Contains(string(out), "permission denied") {
					t.Errorf("got %v: %s", err, out)
				}
				return
			}
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// A program that runs itself again, on a machine that is slow to get there.
func TestSelfAgain(t *testing.T) {
	sealedWays(t, func(t *testing.T, u user, way string, m Mechanism) {
		const again = `[ $1 -gt 0 ] && exec sh -c "$F" f $(($1-1)); echo -n . >&3`
		script := "export F='" + again + "'; for i in 1 2 3 4 5 6 7 8; do sh -c \"$F\" f 60 & done; wait"
		o := order{Way: way, Args: []string{"/bin/sh", "-c", script}, Dir: folder(t), View: true, Sealed: true, Confine: m}
		if answer, marks := o.run(t, u); marks != "........" {
			t.Errorf("got %q, last record %+v", marks, answer.Records[len(answer.Records)-1])
		}
	})
}
