package rootfs

import (
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// someName is one of few, so that names meet.
func someName(r *rand.Rand) string {
	names := []string{"a", "b", "c", "a/b", "a/c", "b/a", "a/b/c", "./a", "/b", "c/a/b", "a//b", "b/c/.."}
	return names[r.IntN(len(names)-1)]
}

func someEntry(r *rand.Rand, links bool) string {
	name := someName(r)
	base, dir := path.Base(name), path.Dir(name)
	switch n := r.IntN(10); {
	case n < 4:
		return fmt.Sprintf("f %s %d", name, r.IntN(100))
	case n < 6:
		return "d " + name
	case n < 7:
		return fmt.Sprintf("f %s/.wh.%s", dir, base)
	case n < 8 && r.IntN(3) == 0:
		return "f " + name + "/.wh..wh..opq"
	case n < 9 && links:
		return "l " + name + " " + []string{"a", "b", "..", "/", "../../a", "/b/c", "OUT", "c/../b", "."}[r.IntN(9)]
	case links:
		return "h " + name + " " + someName(r)
	}
	return "c " + name
}

func someScript(r *rand.Rand, links bool) string {
	var lines []string
	for layer := range 1 + r.IntN(3) {
		if layer > 0 {
			lines = append(lines, "-")
		}
		for range r.IntN(8) {
			lines = append(lines, someEntry(r, links))
		}
	}
	return strings.Join(lines, "\n")
}

// TestRandomLayers holds the merge against a plain one that knows no links: a map of
// paths.
func TestRandomLayers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	merged := 0
	for range 1000 {
		script := someScript(r, false)
		layers := scripted(t, script)
		got, err := applied(t, layers...)
		want, ok := naive(layers)
		if (err == nil) != ok || err == nil && got != want {
			t.Fatalf("%s:\n got %s (%v)\nwant %s (%v)", script, got, err, want, ok)
		}
		if ok {
			merged++
		}
	}
	if merged < 200 {
		t.Errorf("only %d of the layers can be merged: the test proves little", merged)
	}
}

// naive merges as the standard of images says, without links.
func naive(layers []entries) (string, bool) {
	tree := map[string]string{} // path: "/" for a folder, or the data
	under := func(p string) {
		for k := range tree {
			if strings.HasPrefix(k, p+"/") || p == "." {
				delete(tree, k)
			}
		}
	}
	for _, l := range layers {
		for _, e := range l { // what is taken away
			p := path.Clean(strings.TrimLeft(e.Name, "/"))
			dir, name := path.Dir(p), path.Base(p)
			if name == whiteoutAll {
				if v, ok := tree[dir]; (ok && v == "/") || dir == "." {
					under(dir)
				}
			} else if hidden, ok := strings.CutPrefix(name, whiteout); ok {
				under(path.Join(dir, hidden))
				delete(tree, path.Join(dir, hidden))
			}
		}
		for _, e := range l {
			p := path.Clean(strings.TrimLeft(e.Name, "/"))
			if strings.Contains(p, whiteout) {
				continue
			}
			for at := path.Dir(p); at != "."; at = path.Dir(at) {
				if v, ok := tree[at]; ok && v != "/" {
					return "", false
				}
				tree[at] = "/"
			}
			isDir := e.Typeflag == '5'
			if v, ok := tree[p]; ok && (v != "/" || !isDir) {
				under(p)
			}
			switch {
			case isDir:
				tree[p] = "/"
			case e.Typeflag == '3':
				delete(tree, p)
			default:
				tree[p] = "=" + e.data
			}
		}
	}
	var out []string
	for p, v := range tree {
		out = append(out, p+v)
	}
	slices.SortFunc(out, func(a, b string) int { return slices.Compare(segments(a), segments(b)) })
	return strings.Join(out, " "), true
}

// segments are a path's, in the order of a walk.
func segments(s string) []string {
	p, _, _ := strings.Cut(strings.TrimSuffix(s, "/"), "=")
	return strings.Split(p, "/")
}

// TestRandomTrees is FuzzTrees with names that meet more often, links included.
func TestRandomTrees(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	store := filepath.Join(t.TempDir(), "store")
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "a"), []byte("mine"))
	made := 0
	for range 150 {
		script := strings.ReplaceAll(someScript(r, true), "OUT", outside)
		var raw [][]byte
		for _, l := range scripted(t, script) {
			raw = append(raw, tryTar(l))
		}
		root, err := unpackRaw(t, store, raw)
		if err == nil {
			made++
			checkOnDisk(t, root)
			root.Close()
		}
		if t.Failed() {
			t.Fatalf("%v: %s", err, script)
		}
	}
	nothingLeft(t, Options{Store: store})
	if made < 40 {
		t.Errorf("only %d trees came to be: the test proves little", made)
	}
	b, err := filepath.Glob(outside + "/*")
	if err != nil || len(b) != 1 {
		t.Errorf("outside: %v (%v)", b, err)
	}
}
