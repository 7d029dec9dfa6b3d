package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/internal/wasi"
)

// What is granted is found beside the image: by its own name, and relative to the
// working directory, which C libraries take for the root.
func TestGrantsBesideTheImage(t *testing.T) {
	dir := tree(t, map[string]string{"a": "granted", "sub/b": "below", "app/main": "not the program"})
	set := nothing()
	set.Storage.Read, set.Storage.Write, set.Storage.Delete = []string{dir, dir + "/**"}, []string{dir + "/**"}, []string{dir + "/**"}
	u := inImage(t, set, func(c *BrokerConfig) { c.WorkDir = dir })
	root := u.preopen("/")
	for path, want := range map[string]string{
		dir[1:] + "/a": "granted", "a": "granted", "sub/b": "below", "./sub/../a": "granted", "app/main": "the program",
	} {
		fd := u.mustOpen(root, path, 0, readOnly)
		if got, e := u.read(fd, 100); e != wasi.Success || got != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, e, want)
		}
	}
	fd := u.mustOpen(root, "new", creat, readWrite)
	if _, e := u.write(fd, "text"); e != wasi.Success {
		t.Fatal(e)
	}
	u.want("mkdir", u.path("path_create_directory", root, "d"), wasi.Success)
	u.want("rename", u.rename(root, "new", root, "d/new"), wasi.Success)
	u.want("rename between preopens", u.rename(u.preopen(dir), "d/new", root, "newer"), wasi.Success)
	u.want("rename into the image", u.rename(root, "newer", root, "app/x"), wasi.ERofs)
	if b, err := os.ReadFile(filepath.Join(dir, "newer")); err != nil || string(b) != "text" {
		t.Errorf("got %q, %v", b, err)
	}
	u.want("unlink", u.path("path_unlink_file", root, "newer"), wasi.Success)
	_, e := u.open(root, true, "sub/b/", 0, readOnly, allRights, 0)
	u.want("a file with a slash", e, wasi.ENotdir)
}

// Where all is granted, the image's own names are still the image's.
func TestImageIsBeforeAGrantOfTheRoot(t *testing.T) {
	dir := tree(t, map[string]string{"a": "on the host"})
	set := nothing()
	set.Storage.Read = []string{"/", "/**"}
	u := inImage(t, set)
	root := u.preopen("/")
	for path, want := range map[string]string{dir[1:] + "/a": "on the host", "app/main": "the program"} {
		fd := u.mustOpen(root, path, 0, readOnly)
		if got, e := u.read(fd, 100); e != wasi.Success || got != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, e, want)
		}
	}
	_, e := u.open(root, true, "app/none", 0, readOnly, allRights, 0)
	u.want("what the image hasn't", e, wasi.ENoent)
}

// A refused name that the unit may have meant relative is spoken of so.
func TestRefusedNamesBesideTheImage(t *testing.T) {
	dir := tree(t, map[string]string{"secret": "hush"})
	u := inImage(t, nothing(), func(c *BrokerConfig) { c.WorkDir = dir })
	_, e := u.open(u.preopen("/"), true, "secret", 0, readOnly, allRights, 0)
	u.want("relative", e, wasi.EAcces)
	_, e = u.open(u.preopen("/"), true, "etc/passwd", 0, readOnly, allRights, 0)
	u.want("absolute", e, wasi.EAcces)
	denials := u.b.Denials()
	if len(denials) != 2 {
		t.Fatalf("got %+v", denials)
	}
	for i, want := range []string{dir + "/secret", "/etc/passwd"} {
		if got := denials[i].Reason + denials[i].Grant; !strings.Contains(got, want) {
			t.Errorf("got %q, want %s in it", got, want)
		}
	}
}
