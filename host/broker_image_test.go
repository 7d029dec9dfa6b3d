package host

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/wasi"
	"github.com/joulebox/joulebox/unit"
)

// imageOf makes an image of files by their paths; "-> x" is a link, and a path
// that ends in a slash a directory.
func imageOf(t testing.TB, files map[string]string) *Tree {
	t.Helper()
	var entries []unit.Entry
	contents := map[joulebox.ID]Content{}
	for p, text := range files {
		e := unit.Entry{Path: strings.TrimSuffix(p, "/"), Type: unit.File, Mode: 0o444}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			e.Type, e.Target = unit.Link, target
		} else if e.Path != p {
			e.Type = unit.Dir
		} else {
			e.B3 = joulebox.Sum([]byte(text))
			contents[e.B3] = Bytes(text)
		}
		entries = append(entries, e)
	}
	image, err := unit.NewTree(entries)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := NewTree(image, contents)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

var imageFiles = map[string]string{
	"/app/main":     "the program",
	"/app/lib/a":    "module a",
	"/app/empty/":   "",
	"/app/rel":      "-> lib/a",
	"/app/abs":      "-> /app/lib",
	"/app/up":       "-> ../app/main",
	"/app/out":      "-> ../../etc/passwd",
	"/app/round":    "-> round",
	"/app/lib/deep": "-> ../rel",
}

func inImage(t testing.TB, set grant.Set, change ...func(*BrokerConfig)) *caller {
	c := BrokerConfig{Grants: set, Image: imageOf(t, imageFiles)}
	for _, f := range change {
		f(&c)
	}
	return newUnit(t, c)
}

func nothing() grant.Set {
	return grant.Empty(grant.Compute{Devices: []joulebox.DeviceClass{joulebox.CPU}, EnergyBudgetUJ: 1, CPUTimeMS: 1, MemoryBytes: 1})
}

// A unit reads its image without any grant, by every way that leads to a file of it.
func TestImageIsReadWithoutAGrant(t *testing.T) {
	u := inImage(t, nothing())
	root := u.preopen("/")
	for path, want := range map[string]string{
		"app/main": "the program", "app/lib/a": "module a", "./app/../app/main": "the program", "app//lib/./a": "module a",
		"app/rel": "module a", "app/abs/a": "module a", "app/up": "the program", "app/lib/deep": "module a",
	} {
		fd := u.mustOpen(root, path, 0, readOnly)
		if got, e := u.read(fd, 100); e != wasi.Success || got != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, e, want)
		}
		if got, e := u.read(fd, 100); e != wasi.Success || got != "" {
			t.Errorf("%s: at the end: got %q, %v", path, got, e)
		}
	}
	usage := u.b.Usage()
	if usage.IOReads == 0 || usage.IOReadBytes == 0 || usage.IODenied != 0 || len(u.b.Probing()) != 0 {
		t.Errorf("got %+v, probing %v: want reads counted, and nothing denied", usage, u.b.Probing())
	}
}

func TestImageSeekAndStat(t *testing.T) {
	u := inImage(t, nothing())
	root := u.preopen("/")
	fd := u.mustOpen(root, "app/main", 0, readOnly)
	if e := u.call("fd_seek", fd, 4, 0, outPtr); e != wasi.Success || u.u64(outPtr) != 4 {
		t.Fatalf("seek: %v", e)
	}
	if got, _ := u.read(fd, 4); got != "prog" {
		t.Errorf("got %q after the seek", got)
	}
	minus := int64(-3)
	if e := u.call("fd_seek", fd, uint64(minus), 2, outPtr); e != wasi.Success {
		t.Fatalf("seek from the end: %v", e)
	}
	if got, _ := u.read(fd, 9); got != "ram" {
		t.Errorf("got %q at the end", got)
	}
	minus = -1
	u.want("seek before the start", u.call("fd_seek", fd, uint64(minus), 0, outPtr), wasi.EInval)
	s, e := u.fstat(fd)
	if e != wasi.Success || s.size != uint64(len("the program")) || s.kind != wasi.TypeRegularFile || s.mtim != 0 {
		t.Errorf("got %+v, %v", s, e)
	}
	for path, want := range map[string]wasi.Filetype{"app": wasi.TypeDirectory, "app/rel": wasi.TypeSymbolicLink, "app/lib/a": wasi.TypeRegularFile} {
		if s, e := u.statAt(root, false, path); e != wasi.Success || s.kind != want {
			t.Errorf("%s: got %+v, %v, want %v", path, s, e, want)
		}
	}
	if got, e := u.readlink(root, "app/rel", 64); e != wasi.Success || got != "lib/a" {
		t.Errorf("readlink: got %q, %v", got, e)
	}
	_, e = u.readlink(root, "app/main", 64)
	u.want("readlink of a file", e, wasi.EInval)
}

func TestImageIsListed(t *testing.T) {
	u := inImage(t, nothing())
	app := u.mustOpen(u.preopen("/"), "app", directory, wasi.RightFdReaddir|wasi.RightPathOpen)
	var names []string
	cookie := uint64(0)
	for { // one entry a call, so that each cookie is tried
		if e := u.call("fd_readdir", app, bufPtr, 24+8, cookie, outPtr); e != wasi.Success {
			t.Fatal(e)
		}
		if used := u.u32(outPtr); used == 0 {
			break
		}
		cookie = u.u64(bufPtr)
		n := u.u32(bufPtr + 16)
		names = append(names, string(u.g.mem[bufPtr+24:][:n]))
	}
	want := []string{".", "..", "abs", "empty", "lib", "main", "out", "rel", "round", "up"}
	if !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

// What an image can't be made to do. A directory of it is no way out of it.
func TestImageRefuses(t *testing.T) {
	u := inImage(t, nothing())
	root := u.preopen("/")
	lib := u.mustOpen(root, "app/lib", directory, wasi.RightFdReaddir|wasi.RightPathOpen)
	for _, c := range []struct {
		what   string
		dir    uint64
		path   string
		oflags uint64
		rights wasi.Rights
		want   wasi.Errno
	}{
		{"missing", root, "app/none", 0, readOnly, wasi.ENoent},
		{"missing above", root, "app/none/x", 0, readOnly, wasi.ENoent},
		{"beneath a file", root, "app/main/x", 0, readOnly, wasi.ENotdir},
		{"a file as a directory", root, "app/main", directory, readOnly, wasi.ENotdir},
		{"a file with a slash", root, "app/main/", 0, readOnly, wasi.ENotdir},
		{"absolute", root, "/app/main", 0, readOnly, wasi.ENotcapable},
		{"above the root", root, "..", 0, readOnly, wasi.ENotcapable},
		{"above a directory", lib, "../main", 0, readOnly, wasi.ENotcapable},
		{"a link above a directory", lib, "deep", 0, readOnly, wasi.ENotcapable},
		{"a link out", root, "app/out", 0, readOnly, wasi.ENotcapable},
		{"a link to itself", root, "app/round", 0, readOnly, wasi.ELoop},
		{"writing", root, "app/main", 0, readWrite, wasi.ERofs},
		{"cutting", root, "app/main", trunc, readOnly, wasi.ERofs},
		{"making", root, "app/new", creat, readWrite, wasi.ERofs},
		{"making what is there", root, "app/main", creat | excl, readWrite, wasi.EExist},
		{"writing a directory", root, "app/lib", 0, readWrite, wasi.EIsdir},
		{"another name of the root", root, "etc/passwd", 0, readOnly, wasi.EAcces},
		{"making beside it", root, "new", creat, readWrite, wasi.EAcces},
	} {
		_, e := u.open(c.dir, true, c.path, c.oflags, c.rights, allRights, 0)
		u.want(c.what, e, c.want)
	}
	u.want("mkdir", u.path("path_create_directory", root, "app/d"), wasi.ERofs)
	u.want("rmdir", u.path("path_remove_directory", root, "app/empty"), wasi.ERofs)
	u.want("unlink", u.path("path_unlink_file", root, "app/main"), wasi.ERofs)
	u.want("rename", u.rename(root, "app/main", root, "app/other"), wasi.ERofs)
	u.want("link", u.link(root, false, "app/main", root, "app/other"), wasi.ERofs)
	u.want("symlink", u.symlink("main", root, "app/l"), wasi.ERofs)
	if n := u.b.Usage().IODenied; n < 12 {
		t.Errorf("got %d denials counted", n)
	}
}

// A grant or a mount over the image would let the record name what the unit
// didn't see.
func TestNothingLiesOverTheImage(t *testing.T) {
	image := imageOf(t, imageFiles)
	for _, read := range []string{"/app", "/app/**", "/app/main", "/app/data/**"} {
		set := nothing()
		set.Storage.Read = []string{read}
		if b, err := NewBroker(BrokerConfig{Grants: set, Image: image}); err == nil || !strings.Contains(err.Error(), "over the unit's own image") {
			t.Errorf("grant for %s: got %v", read, err)
			if b != nil {
				b.Close()
			}
		}
	}
	for _, guest := range []string{"/app", "/app/lib", "/"} {
		c := BrokerConfig{Grants: nothing(), Image: image, Mounts: []Mount{{Guest: guest, Host: t.TempDir()}}}
		if _, err := NewBroker(c); err == nil || !strings.Contains(err.Error(), "over the unit's own image") {
			t.Errorf("mount at %s: got %v", guest, err)
		}
	}
}

func TestTreeRefusesOtherContent(t *testing.T) {
	id := joulebox.Sum([]byte("right"))
	image, err := unit.NewTree([]unit.Entry{{Path: "/a", Type: unit.File, B3: id}})
	if err != nil {
		t.Fatal(err)
	}
	for what, contents := range map[string]map[joulebox.ID]Content{"none": {}, "other": {id: Bytes("wrong")}} {
		if _, err := NewTree(image, contents); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	data := Bytes("right")
	tree, err := NewTree(image, map[joulebox.ID]Content{id: data})
	if err != nil {
		t.Fatal(err)
	}
	data[0]++
	if tree.Check() == nil {
		t.Error("content that changed isn't noticed")
	}
}

// FuzzImageWalk: whatever the path, a walk ends within the directory that it
// began at.
func FuzzImageWalk(f *testing.F) {
	for p := range maps.Keys(imageFiles) {
		f.Add(p[1:], uint8(0))
	}
	f.Add("../../..", uint8(1))
	root := imageOf(f, imageFiles).root
	starts := []*imageNode{root, root.children["app"], root.children["app"].children["lib"]}
	f.Fuzz(func(t *testing.T, p string, from uint8) {
		start := starts[int(from)%len(starts)]
		n, err := start.walk(p, true)
		if err == nil && !holds(start.entry.Path, n.entry.Path) {
			t.Errorf("%q from %s leads to %s", p, start.entry.Path, n.entry.Path)
		}
	})
}
