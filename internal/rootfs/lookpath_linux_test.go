package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

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
