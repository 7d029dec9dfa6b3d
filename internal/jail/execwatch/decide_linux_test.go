package execwatch

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/joulebox/joulebox"
)

func TestAllowedRuns(t *testing.T) {
	everyWay(t, func(t *testing.T, u user, way string) {
		good, hash := program(t, folder(t), "good", tiny('g', 7, ""))
		answer, marks := order{Way: way, Args: []string{good}}.run(t, u)
		if marks != "g" || answer.Status.ExitStatus() != 7 {
			t.Errorf("got marks %q and status %#x, want \"g\" and exit 7", marks, uint32(answer.Status))
		}
		want := Exec{Path: good, Hash: hash, Size: int64(len(tiny('g', 7, ""))), Entry: true, Writable: true}
		if len(answer.Records) != 1 {
			t.Fatalf("got records %+v, want one", answer.Records)
		}
		got := answer.Records[0].Exec
		if got.PID == 0 {
			t.Error("the process isn't told")
		}
		if got.PID = 0; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// refused wants a denied program to have written nothing, and to be on record.
func refused(t *testing.T, answer told, marks, want string, hash joulebox.ID) {
	t.Helper()
	if marks != want {
		t.Errorf("got marks %q, want %q", marks, want)
	}
	for _, r := range answer.Records {
		if r.Hash == hash {
			if r.Allowed {
				t.Errorf("allowed: %+v", r)
			}
			return
		}
	}
	t.Errorf("no decision about %v in %+v", hash, answer.Records)
}

// The same bytes are refused however they are reached; and others in the same
// place run.
func TestDeniedByEveryName(t *testing.T) {
	type scene struct {
		name string
		// set puts a file that leads to the program, and gives what to run.
		set func(t *testing.T, dir, bad string) []string
	}
	must := func(t *testing.T, errs ...error) {
		t.Helper()
		if err := firstOf(errs...); err != nil {
			t.Fatal(err)
		}
	}
	script := func(t *testing.T, dir, name, text string) string {
		path, _ := program(t, dir, name, []byte(text))
		return path
	}
	scenes := []scene{
		{"plain", func(_ *testing.T, _, bad string) []string { return []string{bad} }},
		{"renamed", func(t *testing.T, dir, bad string) []string {
			must(t, os.Rename(bad, dir+"/ls"))
			return []string{dir + "/ls"}
		}},
		{"copied", func(t *testing.T, dir, bad string) []string {
			b, err := os.ReadFile(bad)
			must(t, err)
			path, _ := program(t, dir, "copy", b)
			return []string{path}
		}},
		{"symlink", func(t *testing.T, dir, bad string) []string {
			must(t, os.Symlink(bad, dir+"/link"))
			return []string{dir + "/link"}
		}},
		{"hard link", func(t *testing.T, dir, bad string) []string {
			must(t, os.Link(bad, dir+"/link"))
			return []string{dir + "/link"}
		}},
		{"wrapper", func(t *testing.T, dir, bad string) []string {
			return []string{script(t, dir, "wrapper", "#!/bin/sh\n"+bad+"\nexec "+bad+"\n")}
		}},
		{"shell", func(_ *testing.T, _, bad string) []string { return []string{"/bin/sh", "-c", bad + "; " + bad} }},
		{"env", func(_ *testing.T, _, bad string) []string { return []string{"/usr/bin/env", "A=b", bad} }},
		{"interpreter", func(t *testing.T, dir, bad string) []string {
			return []string{script(t, dir, "script", "#! "+bad+" -x\n")}
		}},
		{"interpreter of an interpreter", func(t *testing.T, dir, bad string) []string {
			inner := script(t, dir, "inner", "#!"+bad+"\n")
			middle := script(t, dir, "middle", "#!"+inner+" x\n")
			return []string{script(t, dir, "outer", "#!"+middle+"\n")}
		}},
		{"relative interpreter", func(t *testing.T, dir, bad string) []string {
			return []string{script(t, dir, "script", "#!"+filepath.Base(bad)+"\n")}
		}},
	}
	everyWay(t, func(t *testing.T, u user, way string) {
		for _, s := range scenes {
			t.Run(s.name, func(t *testing.T) {
				dir := folder(t)
				bad, hash := program(t, dir, "bad", tiny('b', 7, ""))
				args := s.set(t, dir, bad)
				answer, marks := order{Way: way, Args: args, Dir: dir, Deny: []joulebox.ID{hash}}.run(t, u)
				refused(t, answer, marks, "", hash)
				answer, marks = order{Way: way, Args: args, Dir: dir}.run(t, u)
				if marks == "" {
					t.Errorf("it doesn't run when it is allowed either: %+v", answer)
				}
			})
		}
	})
}

func TestDeniedScript(t *testing.T) {
	everyWay(t, func(t *testing.T, u user, way string) {
		dir := folder(t)
		good, _ := program(t, dir, "good", tiny('g', 0, ""))
		text := []byte(fmt.Sprintf("#!/bin/sh\nexec %s\n", good))
		for _, name := range []string{"script", "with a space"} {
			path, hash := program(t, dir, name, text)
			answer, marks := order{Way: way, Args: []string{path}, Deny: []joulebox.ID{hash}}.run(t, u)
			refused(t, answer, marks, "", hash)
			answer, marks = order{Way: way, Args: []string{"./" + name}, Dir: dir}.run(t, u)
			if marks != "g" || answer.Records[0].Role != Script || answer.Records[0].Path != path || answer.Records[1].Role != Interpreter {
				t.Errorf("got %q, %+v", marks, answer.Records)
			}
			if !answer.Records[1].Entry || answer.Records[len(answer.Records)-1].Entry {
				t.Errorf("the entrypoint is the first call with all its files, and no other: %+v", answer.Records)
			}
		}
	})
}

// The list says all that runs: the shell, its loader and one program.
func TestAllowlistIsAuthoritative(t *testing.T) {
	everyWay(t, func(t *testing.T, u user, way string) {
		dir := folder(t)
		good, allowed := program(t, dir, "good", tiny('g', 0, ""))
		other, hash := program(t, dir, "other", tiny('o', 0, ""))
		list := append(filesOf(t, "/bin/sh"), allowed)
		args := []string{"/bin/sh", "-c", good + "; " + other + "; cp " + good + " copy; ./copy; " + good}
		if cp := filesOf(t, "/bin/cp"); true {
			list = append(list, cp...)
		}
		answer, marks := order{Way: way, Args: args, Dir: dir, Allow: list}.run(t, u)
		refused(t, answer, marks, "ggg", hash)
		answer, marks = order{Way: way, Args: args, Dir: dir, Allow: list, Deny: []joulebox.ID{allowed}}.run(t, u)
		refused(t, answer, marks, "", allowed) // the denylist is over the allowlist
		answer, marks = order{Way: way, Args: args, Dir: dir, Allow: []joulebox.ID{allowed}}.run(t, u)
		refused(t, answer, marks, "", list[0]) // not even the shell
	})
}

// filesOf are a program of this machine and its loader.
func filesOf(t *testing.T, path string) []joulebox.ID {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	content := func(path string) joulebox.ID {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return joulebox.Sum(b)
	}
	list := []joulebox.ID{content(path)}
	if h := parseHeader(f); h.loader != "" {
		list = append(list, content(h.loader))
	}
	return list
}

func TestDeniedLoader(t *testing.T) {
	everyWay(t, func(t *testing.T, u user, way string) {
		dir := folder(t)
		good, _ := program(t, dir, "good", tiny('g', 0, ""))
		list := filesOf(t, "/bin/sh")
		if len(list) < 2 {
			t.Fatal("/bin/sh has no loader: the test would prove nothing")
		}
		answer, marks := order{Way: way, Args: []string{"/bin/sh", "-c", good}, Deny: list[1:]}.run(t, u)
		refused(t, answer, marks, "", list[1])
		if last := answer.Records[len(answer.Records)-1]; last.Role != Loader {
			t.Errorf("got %+v, want the loader to be refused as one", last)
		}
	})
}
