package rootfs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// small1 is a layout with one image of these entries.
func layoutOf(t testing.TB, all ...tarEntry) string {
	t.Helper()
	p := newParts(t)
	p.one(tarOf(t, all...))
	return "oci:" + p.path
}

func reopen(t testing.TB, ref string, o Options) *Root {
	t.Helper()
	r, err := Open(context.Background(), ref, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func inode(t testing.TB, path string) uint64 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

// TestChangedTrees: a tree in the store that isn't what it was is never handed out
// again, whatever was done to it.
func TestChangedTrees(t *testing.T) {
	ref := layoutOf(t, dir("d"), file("d/f", "12345"), file("g", "1"), link("l", "g"))
	for name, change := range map[string]func(tree string) error{
		"written": func(tree string) error { return os.WriteFile(tree+"/d/f", []byte("54321"), 0) },
		"written with its time": func(tree string) error {
			info, err := os.Stat(tree + "/d/f")
			return errors.Join(err, os.WriteFile(tree+"/d/f", []byte("54321"), 0), os.Chtimes(tree+"/d/f", info.ModTime(), info.ModTime()))
		},
		"longer":            func(tree string) error { return os.Truncate(tree+"/g", 9) },
		"another mode":      func(tree string) error { return os.Chmod(tree+"/g", 0o755) },
		"another root mode": func(tree string) error { return os.Chmod(tree, 0o700) },
		"a file more":       func(tree string) error { return os.WriteFile(tree+"/d/new", nil, 0o644) },
		"a file less":       func(tree string) error { return os.Remove(tree + "/g") },
		"another link":      func(tree string) error { return errors.Join(os.Remove(tree+"/l"), os.Symlink("d", tree+"/l")) },
		"a file replaced": func(tree string) error {
			return errors.Join(os.WriteFile(tree+"/../new", []byte("54321"), 0o644), os.Rename(tree+"/../new", tree+"/d/f"))
		},
		"a pipe":             func(tree string) error { return errors.Join(os.Remove(tree+"/g"), syscall.Mkfifo(tree+"/g", 0o644)) },
		"the tree replaced":  func(tree string) error { return errors.Join(os.Rename(tree, tree+"2"), os.Mkdir(tree, 0o755)) },
		"the tree gone":      func(tree string) error { return os.RemoveAll(tree) },
		"the record gone":    func(tree string) error { return os.Remove(tree + "/../record") },
		"the record damaged": func(tree string) error { return os.Truncate(tree+"/../record", 100) },
		"the lock gone":      func(tree string) error { return os.Remove(tree + "/../lock") },
		"the key damaged": func(tree string) error {
			names, err := filepath.Glob(tree + "/../../../keys/*")
			return errors.Join(err, os.WriteFile(names[0], []byte("b3:"), 0o600))
		},
	} {
		o := options(t)
		r := open(t, ref, o)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := change(r.Path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again := open(t, ref, o) // looks at the disk itself
		if again.ID != r.ID || shape(t, again) != "d/ d/f=12345 g=1 l->g" {
			t.Errorf("%s: got %v %s", name, again.ID, shape(t, again))
		}
	}
}

// TestChangedWhileHeld shows in what Again says.
func TestChangedWhileHeld(t *testing.T) {
	r := open(t, layoutOf(t, file("f", "12345")), options(t))
	if err := os.WriteFile(r.Path+"/f", []byte("54321"), 0); err != nil {
		t.Fatal(err)
	}
	if id, err := r.Again(context.Background()); err != nil || id == r.ID {
		t.Errorf("got %v (%v), want another id than %v", id, err, r.ID)
	}
	if err := os.WriteFile(r.Path+"/f", []byte("12345"), 0); err != nil {
		t.Fatal(err)
	}
	if id, err := r.Again(context.Background()); err != nil || id != r.ID {
		t.Errorf("got %v (%v), want %v, as it was", id, err, r.ID)
	}
}

// TestSameTree: what only looks different is read anew and found to be the same.
func TestSameTree(t *testing.T) {
	ref := layoutOf(t, dir("d"), file("d/f", "12345"), moded(file("secret", "s"), 0))
	for name, change := range map[string]func(r *Root) error{
		"nothing":  func(*Root) error { return nil },
		"touched":  func(r *Root) error { return os.Chtimes(r.Path+"/d/f", time.Now(), time.Now()) },
		"a secret": func(r *Root) error { return os.Chtimes(r.Path+"/secret", time.Now(), time.Now()) },
		"another start of the machine": func(r *Root) error {
			name := filepath.Join(filepath.Dir(r.Path), recordName)
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			rec, err := parseRecord(b)
			if err != nil {
				return err
			}
			rec.boot = "another"
			return os.WriteFile(name, rec.encode(), 0o600)
		},
	} {
		o := options(t)
		r := open(t, ref, o)
		before := inode(t, r.Path)
		if err := change(r); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			again := reopen(t, ref, o)
			if again.ID != r.ID || inode(t, again.Path) != before {
				t.Errorf("%s: the tree was unpacked anew", name)
			}
			if h := recordOf(t, again); h.boot != bootID() || h.id != r.ID {
				t.Errorf("%s: the record is of %q", name, h.boot)
			}
		}
		o.Rehash = true
		if again := open(t, ref, o); inode(t, again.Path) != before {
			t.Errorf("%s: read anew: unpacked", name)
		}
	}
}

func recordOf(t testing.TB, r *Root) *record {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(r.Path), recordName))
	if err != nil {
		t.Fatal(err)
	}
	rec, err := parseRecord(b)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// TestRehashSeesWhatStatesDont: a record that fits a changed tree is seen through.
func TestRehashSeesWhatStatesDont(t *testing.T) {
	ref, o := layoutOf(t, file("f", "12345")), options(t)
	r := open(t, ref, o)
	if err := os.WriteFile(r.Path+"/f", []byte("54321"), 0); err != nil {
		t.Fatal(err)
	}
	rec := recordOf(t, r)
	var st syscall.Stat_t
	if err := syscall.Lstat(r.Path+"/f", &st); err != nil {
		t.Fatal(err)
	}
	for i, e := range rec.entries {
		if e.Path == "/f" {
			rec.states[i].changed = time.Unix(st.Ctim.Unix()).UnixNano()
		}
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(r.Path), recordName), rec.encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	o.Rehash = true
	if got := shape(t, open(t, ref, o)); got != "f=12345" {
		t.Errorf("got %s", got)
	}
}

// TestPrune removes what was not used for longest, and nothing that is in use.
func TestPrune(t *testing.T) {
	o := options(t)
	o.StoreBytes = 3500
	var refs []string
	var roots []*Root
	for i := range 4 {
		refs = append(refs, layoutOf(t, file("f", strings.Repeat(string(rune('a'+i)), 1000))))
	}
	for i, ref := range refs[:2] { // about 1500 each
		r := open(t, ref, o)
		roots = append(roots, r)
		old := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(filepath.Join(filepath.Dir(r.Path), lockName), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := roots[1].Close(); err != nil {
		t.Fatal(err)
	}
	third := open(t, refs[2], o)
	if _, err := os.Stat(roots[0].Path); err != nil {
		t.Errorf("the tree in use: %v", err)
	}
	if _, err := os.Stat(roots[1].Path); err == nil {
		t.Error("the tree that nobody uses is there still")
	}
	if err := errors.Join(roots[0].Close(), third.Close()); err != nil {
		t.Fatal(err)
	}
	// The first was used last before the third: it goes now.
	open(t, refs[3], o)
	if _, err := os.Stat(roots[0].Path); err == nil {
		t.Error("the tree that was used long ago is there still")
	}
	if _, err := os.Stat(third.Path); err != nil {
		t.Errorf("the tree that was used just now: %v", err)
	}
	nothingLeft(t, o)
	if got := shape(t, open(t, refs[1], o)); !strings.HasPrefix(got, "f=bbb") {
		t.Errorf("a removed tree: got %s", got)
	}
}

// TestManyAtOnce: all get the tree, and one of them made it.
func TestManyAtOnce(t *testing.T) {
	ref, o := layoutOf(t, dir("d"), file("d/f", "1")), options(t)
	var wait sync.WaitGroup
	inodes := make([]uint64, 20)
	for i := range inodes {
		wait.Go(func() {
			r, err := Open(context.Background(), ref, o)
			if err != nil {
				t.Error(err)
				return
			}
			inodes[i] = inode(t, r.Path)
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, n := range inodes {
		if n != inodes[0] {
			t.Errorf("got trees %v, want one", inodes)
			break
		}
	}
	nothingLeft(t, o)
}

// TestManyAtOnceAndPruning: a store that is too small for anything still hands out
// whole trees.
func TestManyAtOnceAndPruning(t *testing.T) {
	o := options(t)
	o.StoreBytes = 1
	var refs []string
	for i := range 4 {
		refs = append(refs, layoutOf(t, file("f", string(rune('a'+i)))))
	}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for range 10 {
				r, err := Open(context.Background(), refs[i%4], o)
				if err != nil {
					t.Error(err)
					return
				}
				if b, err := os.ReadFile(r.Path + "/f"); err != nil || string(b) != string(rune('a'+i%4)) {
					t.Errorf("got %q (%v)", b, err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

// TestStoreOfOthers is refused: what lies there would be run.
func TestStoreOfOthers(t *testing.T) {
	ref := layoutOf(t, file("f", "1"))
	for name, store := range map[string]func(dir string) string{
		"open to others": func(dir string) string {
			_ = os.Mkdir(dir+"/s", 0o755)
			_ = os.Chmod(dir+"/s", 0o755)
			return dir + "/s"
		},
		"a link": func(dir string) string {
			_ = os.Mkdir(dir+"/r", 0o700)
			_ = os.Symlink("r", dir+"/s")
			return dir + "/s"
		},
		"a file": func(dir string) string { _ = os.WriteFile(dir+"/s", nil, 0o700); return dir + "/s" },
		"none":   func(string) string { return "" },
		"trees elsewhere": func(dir string) string {
			_ = os.MkdirAll(dir+"/s", 0o700)
			_ = os.Symlink("/tmp", dir+"/s/trees")
			return dir + "/s"
		},
	} {
		if r, err := Open(context.Background(), ref, Options{Store: store(t.TempDir())}); err == nil || !strings.Contains(err.Error(), "store") {
			t.Errorf("%s: got %v, %v, want it refused", name, r, err)
		}
	}
}

// TestLeftovers of a process that was killed go with the next image.
func TestLeftovers(t *testing.T) {
	o := options(t)
	open(t, layoutOf(t, file("f", "1")), o)
	long := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{"tree-1", "tree-2", "old-3", "file-4"} {
		path := filepath.Join(o.Store, tmpDir, name)
		if name == "file-4" {
			writeFile(t, path, nil)
		} else if err := os.MkdirAll(path+"/tree/ro", 0o700); err != nil {
			t.Fatal(err)
		}
		if name == "tree-1" {
			writeFile(t, path+"/lock", nil) // nobody holds it
		}
		if err := errors.Join(os.Chtimes(path, long, long)); err != nil {
			t.Fatal(err)
		}
	}
	open(t, layoutOf(t, file("f", "2")), o)
	nothingLeft(t, o)
}

// TestCancelled leaves nothing.
func TestCancelled(t *testing.T) {
	o := options(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := Open(ctx, layoutOf(t, file("f", "1")), o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", r, err)
	}
	nothingLeft(t, o)
}
