package rootfs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// folder makes a directory to be opened.
func folder(t testing.TB) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "root")
	err := errors.Join(os.MkdirAll(at+"/usr/bin", 0o755), os.WriteFile(at+"/usr/bin/a", []byte("#!a"), 0o755), os.Chmod(at+"/usr/bin/a", 0o755|os.ModeSetuid),
		os.Symlink("usr/bin", at+"/bin"), os.Symlink("/etc/passwd", at+"/out"), os.WriteFile(at+"/f", []byte("1"), 0o640), os.Link(at+"/f", at+"/f2"), os.Chmod(at, 0o751))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

const folderShape = "bin->usr/bin f=1 f2=1 out->/etc/passwd usr/ usr/bin/ usr/bin/a=#!a"

func TestDir(t *testing.T) {
	at, o := folder(t), options(t)
	r := open(t, "dir:"+at, o)
	if got := shape(t, r); got != folderShape {
		t.Errorf("got %s", got)
	}
	if e, err := Resolve(r.Image, "/usr/bin/a"); err != nil || e.Mode != 0o4755 || r.Image.Entries[0].Mode != 0o751 {
		t.Errorf("got %+v (%v) in %#o", e, err, r.Image.Entries[0].Mode)
	}
	// What changes outside has no effect on what runs.
	if err := os.WriteFile(at+"/f", []byte("2"), 0); err != nil {
		t.Fatal(err)
	}
	if id, err := r.Again(context.Background()); err != nil || id != r.ID || shape(t, r) != folderShape {
		t.Errorf("got %v (%v) %s", id, err, shape(t, r))
	}
	second := open(t, at, o)
	if second.ID == r.ID || !strings.Contains(shape(t, second), "f=2 f2=2") {
		t.Errorf("after a change: got %s", shape(t, second))
	}
	nothingLeft(t, o)
}

// TestDirAndImage: the same files are the same image, wherever they come from.
func TestDirAndImage(t *testing.T) {
	d := open(t, folder(t), options(t))
	im := open(t, layoutOf(t, moded(dir("/"), 0o751), moded(program("usr/bin/a", "#!a"), 0o4755), link("bin", "usr/bin"), link("out", "/etc/passwd"), moded(file("f", "1"), 0o640), hard("f2", "f")), options(t))
	if d.ID != im.ID {
		t.Errorf("got %v and %v:\n%v\n%v", d.ID, im.ID, d.Image, im.Image)
	}
}

// TestDirIsKept: a directory that hasn't changed for a while isn't copied again.
func TestDirIsKept(t *testing.T) {
	at, o := folder(t), options(t)
	time.Sleep(settled + 100*time.Millisecond)
	first := open(t, at, o)
	for name, change := range map[string]func() error{
		"a file":  func() error { return os.WriteFile(at+"/f", []byte("3"), 0) },
		"a mode":  func() error { return os.Chmod(at+"/f", 0o600) },
		"a name":  func() error { return os.Rename(at+"/f2", at+"/f3") },
		"a link":  func() error { return errors.Join(os.Remove(at+"/out"), os.Symlink("x", at+"/out")) },
		"nothing": nil,
	} {
		keys, err := os.ReadDir(filepath.Join(o.Store, keysDir))
		if err != nil || len(keys) != 1 {
			t.Fatalf("got %v (%v), want one key", keys, err)
		}
		if change == nil {
			continue
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if again := open(t, at, o); again.ID == first.ID {
			t.Errorf("%s: the change isn't seen", name)
		}
	}
}

func TestDirRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		make func(at string) error
		want string
	}{
		"no UTF-8":       {func(at string) error { return os.WriteFile(at+"/\xff", nil, 0o600) }, "UTF-8"},
		"a link without": {func(at string) error { return os.Symlink("\xff", at+"/l") }, "UTF-8"},
		"nothing":        {func(at string) error { return os.RemoveAll(at) }, "no such file"},
		"a file":         {func(at string) error { return errors.Join(os.RemoveAll(at), os.WriteFile(at, nil, 0o600)) }, "not a directory"},
		"too deep":       {func(at string) error { return os.MkdirAll(at+strings.Repeat("/d", defaultDepth+1), 0o700) }, "depth"},
		"too large a file": {func(at string) error {
			return errors.Join(os.WriteFile(at+"/big", nil, 0o600), os.Truncate(at+"/big", defaultFileBytes+1))
		}, "file bytes"},
	} {
		at := filepath.Join(t.TempDir(), "root")
		if err := errors.Join(os.Mkdir(at, 0o755), c.make(at)); err != nil {
			t.Fatal(err)
		}
		refused(t, name, "dir:"+at, options(t), c.want)
	}
}

// TestDirLeavesOut what leads out of a tree, and says how much.
func TestDirLeavesOut(t *testing.T) {
	at := folder(t)
	if err := errors.Join(syscall.Mkfifo(at+"/p", 0o600), unix.Mknod(at+"/s", unix.S_IFSOCK|0o600, 0)); err != nil {
		t.Fatal(err)
	}
	want := LeftOut{Pipes: 1, Sockets: 1}
	if os.Geteuid() == 0 && unix.Mknod(at+"/c", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) == nil {
		want.Devices = 1
	}
	o := options(t)
	r := open(t, at, o)
	if got := shape(t, r); got != folderShape || r.LeftOut != want {
		t.Errorf("got %s and %+v, want %s and %+v", got, r.LeftOut, folderShape, want)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	// In the store such a thing is a change.
	if err := syscall.Mkfifo(r.Path+"/p", 0o600); err != nil {
		t.Fatal(err)
	}
	if got := shape(t, open(t, at, o)); got != folderShape {
		t.Errorf("got %s", got)
	}
}

func TestDirOfTheStore(t *testing.T) {
	o := options(t)
	refused(t, "the store's parent", "dir:"+filepath.Dir(o.Store), o, "holds the store")
	refused(t, "the store", "dir:"+o.Store, o, "holds the store")
}

// TestDirWithAMount: what is mounted in a directory isn't a part of it.
func TestDirWithAMount(t *testing.T) {
	refused(t, "the host", "dir:/", options(t), "holds the store")
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	at := folder(t)
	if err := os.Mkdir(at+"/proc", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", at+"/proc", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(at+"/proc", unix.MNT_DETACH) })
	refused(t, "a mount", at, options(t), `"/proc": is a mount of its own`)
}

// TestDirThatChanges while it is read is refused, or read as it was at one time.
func TestDirThatChanges(t *testing.T) {
	at, o := folder(t), options(t)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(at+"/f", []byte(strings.Repeat("x", i%5000)), 0)
				_ = os.Remove(at + "/l")
				_ = os.Symlink([]string{"/etc", "usr"}[i%2], at+"/l")
			}
		}
	}()
	for range 50 {
		r, err := Open(context.Background(), at, o)
		if err == nil {
			checkOnDisk(t, r)
			r.Close()
		}
	}
	close(stop)
	<-done
	nothingLeft(t, o)
}
