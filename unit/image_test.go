package unit_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
	"github.com/joulebox/joulebox/unit"
)

const idText = "b3:XJzIxT1Joxci9oVX4O8PEuwVIypPtDwoTpKyI2eSfpk"

const tree = `{"agent":"` + idText + `","entries":[{"mode":493,"path":"/","type":"dir"},{"mode":493,"path":"/bin","type":"dir"},{"b3":"` + idText + `","mode":2541,"path":"/bin/a","type":"file"},{"mode":511,"path":"/lib","target":"usr/lib","type":"link"}],"kernel":"` + idText + `","kind":"tree","schema":"sandbox.image/1"}`

const host = `{"kind":"host","program":{"b3":"` + idText + `","path":"/usr/bin/python3"},"schema":"sandbox.image/1"}`

func TestImagesRoundTrip(t *testing.T) {
	for _, src := range []string{tree, host} {
		im, err := unit.ParseImage([]byte(src))
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if b, err := im.Canonical(); err != nil || string(b) != src {
			t.Errorf("got %s (%v), want %s", b, err, src)
		}
		if im.Pinned() != (im.Kind == unit.Tree) {
			t.Errorf("%s: pinned %v", im.Kind, im.Pinned())
		}
	}
}

func TestImageRefused(t *testing.T) {
	for _, c := range []struct{ from, old, new, want string }{
		{tree, `"kind":"tree"`, `"kind":"host"`, ""},
		{tree, `"kind":"tree"`, `"kind":"oci"`, "kind"},
		{tree, `"kind":"tree",`, ``, "kind"},
		{tree, `sandbox.image/1`, `sandbox.image/2`, "schema"},
		{tree, `"kernel":"` + idText + `",`, ``, "agent without kernel"},
		{tree, `"mode":511`, `"mode":33279`, "entries[3]: mode"},
		{tree, `"mode":511`, `"mode":-1`, "mode"},
		{tree, `"mode":511,`, ``, "mode"},
		{tree, `"path":"/lib"`, `"path":"lib"`, "entries[3]: path"},
		{tree, `"path":"/lib"`, `"path":"/lib/"`, "canonical"},
		{tree, `"path":"/lib"`, `"path":"/lib/../x"`, "canonical"},
		{tree, `"path":"/lib"`, `"path":"/l\u0000"`, "absolute path in UTF-8"},
		{tree, `"path":"/lib"`, `"path":"/a"`, "sorted"},
		{tree, `"path":"/lib"`, `"path":"/bin/a"`, "each path once"},
		{tree, `"path":"/lib"`, `"path":"/bin/a/b"`, `is beneath "/bin/a", which is a file`},
		{tree, `"type":"link"`, `"type":"symlink"`, "type"},
		{tree, `"type":"link"`, `"type":"file"`, "a file has b3"},
		{tree, `"type":"link"`, `"type":"dir"`, "a dir has neither"},
		{tree, `"target":"usr/lib"`, `"target":""`, "target"},
		{tree, `"target":"usr/lib"`, `"target":"a\u0000"`, "target"},
		{tree, `"target":"usr/lib"`, `"b3":"` + idText + `","target":"usr/lib"`, "a link has target"},
		{tree, `"target":"usr/lib"`, `"size":1,"target":"usr/lib"`, "size"},
		{tree, `"entries":[`, `"entries":[null,`, "null"},
		{host, `"path":"/usr/bin/python3"`, `"path":"python3"`, "program.path"},
		{host, `"b3":"` + idText + `",`, ``, "b3"},
		{host, `"b3":"` + idText + `"`, `"b3":"b3:` + strings.Repeat("A", 43) + `"`, "program.b3"},
		{host, `"kind":"host"`, `"entries":[],"kind":"host"`, "entries"},
	} {
		src := strings.Replace(c.from, c.old, c.new, 1)
		if src == c.from {
			t.Fatalf("%q is not in the image", c.old)
		}
		if im, err := unit.ParseImage([]byte(src)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v, %v; want an error with %q", c.new, im, err, c.want)
		}
	}
	if _, err := unit.ParseImage([]byte(`{"entries":[],"kind":"tree","schema":"sandbox.image/1"}`)); err == nil {
		t.Error("an empty tree is accepted")
	}
}

// TestNewTreeSorts by bytes, which is not the order of a walk: "/a-b" is before
// "/a/b".
func TestNewTreeSorts(t *testing.T) {
	id := joulebox.Sum(nil)
	im, err := unit.NewTree([]unit.Entry{
		{Path: "/a/b", Type: unit.File, B3: id}, {Path: "/a-b", Type: unit.File, B3: id}, {Path: "/a", Type: unit.Dir, Mode: 0o755},
		{Path: "/\U0001F600", Type: unit.File, B3: id}, {Path: "/\ufb33", Type: unit.File, B3: id},
	})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range im.Entries {
		paths = append(paths, e.Path)
	}
	if got := strings.Join(paths, " "); got != "/a /a-b /a/b /\ufb33 /\U0001F600" {
		t.Errorf("got %s", got)
	}
	for what, entries := range map[string][]unit.Entry{
		"twice":        {{Path: "/a", Type: unit.Dir}, {Path: "/a", Type: unit.File, B3: id}},
		"beneath link": {{Path: "/a", Type: unit.Link, Target: "b"}, {Path: "/a/c/d", Type: unit.Dir}},
		"root is file": {{Path: "/", Type: unit.File, B3: id}},
		"no UTF-8":     {{Path: "/\xff", Type: unit.Dir}},
		"none":         nil,
	} {
		if _, err := unit.NewTree(entries); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

// stable wants one canonical form for a parsed object, and the same object of it.
func stable(t *testing.T, src []byte, o object, parse func([]byte) (object, error)) {
	t.Helper()
	got, err := o.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if want, err := jcs.Strict(src); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%q:\n got %s\nwant %s (%v)", src, got, want, err)
	}
	again, err := parse(got)
	if err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if b, err := again.Canonical(); err != nil || !bytes.Equal(b, got) {
		t.Fatalf("%s became %s (%v)", got, b, err)
	}
}

// FuzzImageParse is FuzzUnitParse for image objects.
func FuzzImageParse(f *testing.F) {
	f.Add([]byte(tree))
	f.Add([]byte(host))
	f.Fuzz(func(t *testing.T, src []byte) {
		im, err := unit.ParseImage(src)
		if err != nil {
			return
		}
		stable(t, src, im, func(b []byte) (object, error) { return unit.ParseImage(b) })
	})
}

func BenchmarkUnitID(b *testing.B) {
	u := minimal()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := u.ID(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestModuleOfATree(t *testing.T) {
	id := joulebox.Sum(nil)
	im, err := unit.NewTree([]unit.Entry{
		{Path: "/bin/a.wasm", Type: unit.File, B3: id}, {Path: "/bin/b", Type: unit.File, B3: id},
		{Path: "/bin/c.wasm", Type: unit.Dir}, {Path: "/bin/d.wasm", Type: unit.Link, Target: "a.wasm"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for entrypoint, want := range map[string]bool{
		"/bin/a.wasm": true, "/bin/b": false, "/bin/c.wasm": false, "/bin/d.wasm": false, "/bin/e.wasm": false,
		"bin/a.wasm": false, "/bin/../bin/a.wasm": false, "/bin/A.WASM": false, "": false, ".wasm": false,
	} {
		if e, ok := im.Module(entrypoint); ok != want || (ok && e.Path != entrypoint) {
			t.Errorf("%q: got %+v, %v, want %v", entrypoint, e, ok, want)
		}
	}
	if _, ok := (unit.Image{Kind: unit.Host, Program: unit.Program{Path: "/a.wasm", B3: id}}).Module("/a.wasm"); ok {
		t.Error("a program of the host is taken for a module")
	}
}
