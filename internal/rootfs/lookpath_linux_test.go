package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/unit"
)

func TestHostProgram(t *testing.T) {
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Host(me)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := os.ReadFile(me)
	if err != nil {
		t.Fatal(err)
	}
	want := unit.Image{Kind: unit.Host, Program: unit.Program{Path: me, B3: joulebox.Sum(b)}}
	if id, _ := want.ID(); r.ID != id || r.Image.Program != want.Program || r.Dir != nil {
		t.Errorf("got %+v, want %+v", r, want)
	}
	if id, err := r.Again(context.Background()); err != nil || id != r.ID {
		t.Errorf("again: got %v (%v)", id, err)
	}
}

// TestHostScript: an interpreter reads the bytes that were hashed, whatever the file
// holds by then.
func TestHostScript(t *testing.T) {
	name := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(name, []byte("#!/bin/sh\necho first\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := Host(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.WriteFile(name, []byte("#!/bin/sh\necho second\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{r.Program}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "first\n" {
		t.Errorf("got %q (%v)", out, err)
	}
	if id, err := r.Again(context.Background()); err != nil || id != r.ID {
		t.Errorf("again: got %v (%v), want %v", id, err, r.ID)
	}
	if f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", r.Program.Fd()), os.O_WRONLY, 0); err == nil {
		if _, err := f.Write([]byte("x")); err == nil {
			t.Error("the copy can be written to")
		}
		f.Close()
	}
	second, err := Host(name)
	if err != nil || second.ID == r.ID {
		t.Errorf("got %v (%v)", second, err)
	}
	second.Close()
}

// TestHostProgramChanges shows in Again.
func TestHostProgramChanges(t *testing.T) {
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, []byte("\x7fELF first"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := Host(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.WriteFile(name, []byte("\x7fELF other"), 0o755); err != nil {
		t.Fatal(err)
	}
	if id, err := r.Again(context.Background()); err != nil || id == r.ID {
		t.Errorf("got %v (%v), want another than %v", id, err, r.ID)
	}
}

func TestLookPath(t *testing.T) {
	at := t.TempDir()
	err := errors.Join(os.MkdirAll(at+"/a/dir", 0o755), os.Mkdir(at+"/b", 0o755), os.WriteFile(at+"/a/plain", nil, 0o644), os.WriteFile(at+"/b/run", nil, 0o755), os.WriteFile(at+"/b/plain", nil, 0o755), os.WriteFile(at+"/a/no", nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(at + "/b")
	list := at + "/a:" + at + "/b"
	for _, c := range []struct {
		name, path, want string
		err              error
	}{
		{"run", list, at + "/b/run", nil},
		{"plain", list, at + "/b/plain", nil}, // the one that may be run
		{at + "/b/run", "", at + "/b/run", nil},
		{"./run", "", "./run", nil},
		{"no", list, "", fs.ErrPermission},
		{"dir", list, "", fs.ErrPermission},
		{"nothing", list, "", fs.ErrNotExist},
		{at + "/a/no", list, "", fs.ErrPermission},
		{at + "/nothing", list, "", fs.ErrNotExist},
		{"run", "", "", fs.ErrNotExist},
		{"run", ".:", "", fs.ErrNotExist}, // only absolute entries are looked into
		{"", list, "", fs.ErrNotExist},
	} {
		got, err := LookPath(c.name, c.path)
		if (c.err == nil && got != c.want) || !errors.Is(err, c.err) {
			t.Errorf("%q in %q: got %q, %v, want %q, %v", c.name, c.path, got, err, c.want, c.err)
		}
	}
	for _, path := range []string{"b/run", at + "/a/../b/run", "/nothing", at + "/a/no", at + "/a", ""} {
		if r, err := Host(path); err == nil {
			t.Errorf("%s: got %+v", path, r)
		}
	}
}

// TestLookPathInTheTree: links lead nowhere but within the tree.
func TestLookPathInTheTree(t *testing.T) {
	o := options(t)
	r := open(t, layoutOf(t, dir("usr/bin"), program("usr/bin/sh", "sh"), link("bin", "usr/bin"), link("usr/bin/abs", "/bin/sh"), link("up", "../../../usr/bin/../bin/sh"),
		link("loop", "loop"), file("usr/bin/no", ""), link("host", "/etc/passwd"), dir("w"), program("w/p", "p"), link("usr/bin/file", "sh/x"), program("usr/sh", "other")), o)
	r.Config.WorkingDir = "/w"
	sh, _ := Resolve(r.Image, "/usr/bin/sh")
	for _, c := range []struct {
		name, path, want string
		err              error
	}{
		{"sh", "/bin", "/usr/bin/sh", nil},
		{"abs", "/nothing:relative::/bin", "/usr/bin/sh", nil},
		{"/up", "", "/usr/bin/sh", nil},
		{"./p", "", "/w/p", nil},
		{"../bin/sh", "", "/usr/bin/sh", nil},
		{"../../../bin/sh", "", "/usr/bin/sh", nil},
		{"/bin/../sh", "", "/usr/sh", nil}, // as the kernel has it: .. is that of where the link leads
		{"sh", "", "", fs.ErrNotExist},
		{"/loop", "", "", fs.ErrNotExist},
		{"/host", "", "", fs.ErrNotExist},
		{"no", "/bin", "", fs.ErrPermission},
		{"bin", "/usr", "", fs.ErrPermission},
		{"file", "/bin", "", fs.ErrNotExist},
		{"/usr/bin/sh/", "", "", fs.ErrNotExist},
		{"", "/bin", "", fs.ErrNotExist},
	} {
		got, err := r.LookPath(c.name, c.path)
		if got.Path != c.want || !errors.Is(err, c.err) {
			t.Errorf("%q in %q: got %+v, %v, want %q, %v", c.name, c.path, got, err, c.want, c.err)
		}
		if err == nil && c.want == "/usr/bin/sh" && (got.B3 != sh.B3 || got.Mode != 0o755) {
			t.Errorf("%q: got %+v", c.name, got)
		}
		if err != nil && strings.Contains(err.Error(), "%!") {
			t.Error(err)
		}
	}
}
