package disktest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/joulebox/joulebox/internal/disk"
)

// both runs a test on the machine's disk and on the simulated one: what holds
// for one must hold for the other, or proofs on the second prove nothing.
func both(t *testing.T, test func(t *testing.T, d disk.FS, root string)) {
	t.Run("os", func(t *testing.T) { test(t, disk.OS, t.TempDir()) })
	t.Run("sim", func(t *testing.T) {
		d := New()
		if err := d.Mkdir("/root"); err != nil {
			t.Fatal(err)
		}
		test(t, d, "/root")
	})
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func want(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) || want == nil && got != nil {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func TestFiles(t *testing.T) {
	both(t, func(t *testing.T, d disk.FS, root string) {
		name := filepath.Join(root, "file")
		_, err := d.Open(name, os.O_RDWR)
		want(t, "open", err, fs.ErrNotExist)
		f := must(d.Open(name, disk.CreateNew))(t)
		_, err = d.Open(name, disk.CreateNew)
		want(t, "make again", err, fs.ErrExist)
		must(f.WriteAt([]byte("hello"), 3))(t)
		s := must(f.Stat())(t)
		if s.Size != 8 || s.Mode != 0o600 || s.Owner != os.Geteuid() || s.Links != 1 || s.Inode == 0 {
			t.Fatalf("got %+v, want 8 bytes, mode 0600 and ours", s)
		}
		p := make([]byte, 10)
		n, err := f.ReadAt(p, 0)
		if n != 8 || string(p[:n]) != "\x00\x00\x00hello" {
			t.Fatalf("got %q", p[:n])
		}
		want(t, "read beyond", err, io.EOF)
		want(t, "truncate", f.Truncate(4), nil)
		want(t, "sync", f.Sync(), nil)
		want(t, "chmod", f.Chmod(0o400), nil)
		if s := must(d.Stat(name))(t); s.Size != 4 || s.Mode != 0o400 {
			t.Fatalf("got %+v, want 4 bytes, mode 0400", s)
		}
		want(t, "remove", d.Remove(name), nil)
		if s := must(f.Stat())(t); s.Links != 0 {
			t.Fatalf("got %d links of a removed file", s.Links)
		}
		want(t, "close", f.Close(), nil)
		want(t, "close again", f.Close(), fs.ErrClosed)
	})
}

func TestFolders(t *testing.T) {
	both(t, func(t *testing.T, d disk.FS, root string) {
		deep := filepath.Join(root, "a", "b")
		want(t, "mkdir without a parent", d.Mkdir(deep), fs.ErrNotExist)
		want(t, "mkdirs", disk.MakeDirs(d, deep), nil)
		want(t, "mkdirs again", disk.MakeDirs(d, deep), nil)
		want(t, "sync up", disk.SyncUp(d, deep), nil)
		want(t, "mkdir again", d.Mkdir(deep), fs.ErrExist)
		if s := must(d.Stat(deep))(t); s.Mode != fs.ModeDir|0o700 {
			t.Fatalf("got %v, want a folder of mode 0700", s.Mode)
		}
		want(t, "write", disk.WriteNew(d, filepath.Join(deep, "x"), []byte("x")), nil)
		if err := d.Remove(deep); err == nil {
			t.Fatal("a folder with a file was removed")
		}
		want(t, "another", d.Mkdir(filepath.Join(root, "c")), nil)
		if err := d.Rename(filepath.Join(root, "c"), deep); err == nil {
			t.Fatal("a folder took the place of one that isn't empty")
		}
		want(t, "move", d.Rename(filepath.Join(root, "a"), filepath.Join(root, "d")), nil)
		if got := must(d.List(root))(t); !slices.Equal(got, []string{"c", "d"}) {
			t.Fatalf("got %v", got)
		}
		want(t, "list", second(d.List(filepath.Join(root, "a"))), fs.ErrNotExist)
		want(t, "syncdir", d.SyncDir(filepath.Join(root, "a")), fs.ErrNotExist)
		if err := disk.MakeDirs(d, filepath.Join(root, "d", "b", "x")); err == nil {
			t.Fatal("a file passes for a folder")
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestReplace(t *testing.T) {
	both(t, func(t *testing.T, d disk.FS, root string) {
		name, temp := filepath.Join(root, "file"), filepath.Join(root, "temp")
		for _, text := range []string{"first", "second, longer", "third"} {
			want(t, "left by a crash", disk.WriteNew(d, temp, []byte("torn")), nil)
			want(t, "replace", disk.Replace(d, name, temp, []byte(text)), nil)
			if got := must(disk.Read(d, name, 100))(t); string(got) != text {
				t.Fatalf("got %q, want %q", got, text)
			}
		}
		if got := must(d.List(root))(t); !slices.Equal(got, []string{"file"}) {
			t.Fatalf("got %v, want the file alone", got)
		}
		if _, err := disk.Read(d, name, 4); err == nil {
			t.Fatal("a file beyond the limit was read")
		}
		if _, err := disk.Read(d, root, 1<<20); err == nil {
			t.Fatal("a folder was read")
		}
	})
}

func TestLocks(t *testing.T) {
	both(t, func(t *testing.T, d disk.FS, root string) {
		name := filepath.Join(root, "lock")
		var f [3]disk.File
		for i := range f {
			f[i] = must(d.Open(name, os.O_RDWR|os.O_CREATE))(t)
			defer f[i].Close()
		}
		try := func(i int, how disk.LockKind, want bool) {
			t.Helper()
			if got := must(f[i].TryLock(how))(t); got != want {
				t.Fatalf("got %t, want %t", got, want)
			}
		}
		try(0, disk.Shared, true)
		try(1, disk.Shared, true)
		try(2, disk.Exclusive, false)
		want(t, "unlock", f[0].Unlock(), nil)
		want(t, "unlock", f[1].Unlock(), nil)
		try(2, disk.Exclusive, true)
		try(0, disk.Shared, false)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		want(t, "wait", f[0].Lock(ctx, disk.Exclusive), context.DeadlineExceeded)
		got := make(chan error)
		go func() { got <- f[0].Lock(context.Background(), disk.Exclusive) }()
		want(t, "close the holder", f[2].Close(), nil)
		want(t, "the one who waited", <-got, nil)
		try(1, disk.Shared, false)
	})
}

func TestLinksAreNotFollowed(t *testing.T) {
	root := t.TempDir()
	file, link := filepath.Join(root, "file"), filepath.Join(root, "link")
	want(t, "write", disk.WriteNew(disk.OS, file, []byte("x")), nil)
	want(t, "link", os.Symlink(file, link), nil)
	_, err := disk.OS.Open(link, os.O_RDWR)
	want(t, "open", err, syscall.ELOOP)
	if s := must(disk.OS.Stat(link))(t); s.Mode&fs.ModeSymlink == 0 {
		t.Fatalf("got %v, want the link itself", s.Mode)
	}
	want(t, "folder link", os.Symlink(root, filepath.Join(root, "dir")), nil)
	if err := disk.MakeDirs(disk.OS, filepath.Join(root, "dir")); err == nil {
		t.Fatal("a link passes for a folder of ours")
	}
	want(t, "below a link", disk.MakeDirs(disk.OS, filepath.Join(root, "dir", "sub")), nil)
}

// TestCut checks that the simulated disk does forget, and only what it may.
func TestCut(t *testing.T) {
	d := New()
	for _, name := range []string{"/kept", "/half", "/lost"} {
		f := must(d.Open(name, disk.CreateNew))(t)
		must(f.WriteAt(make([]byte, 4*sector), 0))(t)
		want(t, "sync", f.Sync(), nil)
		if name != "/lost" {
			want(t, "syncdir", d.SyncDir("/"), nil)
		}
		if name == "/half" {
			must(f.WriteAt([]byte(string(slices.Repeat([]byte("x"), 4*sector))), 0))(t)
		}
	}
	want(t, "move", d.Rename("/kept", "/moved"), nil)
	seen := map[string]bool{}
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		c := d.Cut(random)
		names := must(c.List("/"))(t)
		if !slices.Contains(names, "lost") {
			seen["forgotten"] = true
		}
		if slices.Contains(names, "kept") == slices.Contains(names, "moved") {
			t.Fatalf("got %v, want a rename done or not done", names)
		}
		for _, name := range names {
			seen[name] = true
		}
		half := must(disk.Read(c, "/half", 1<<20))(t)
		if len(half) != 4*sector {
			t.Fatalf("got %d bytes, want what was synced", len(half))
		}
		seen[map[bool]string{true: "torn"}[half[0] != half[len(half)-1]]] = true
	}
	for _, what := range []string{"kept", "moved", "half", "torn", "lost", "forgotten"} {
		if !seen[what] {
			t.Errorf("in 200 cuts %q never came up", what)
		}
	}
}
