//go:build amd64 || arm64

package cell

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAhead(t *testing.T) {
	run(t, shell("exit 0"))
	dir := folder(t)
	granted := file(t, dir)
	before := remains(t)
	for range 3 {
		t.Run("", func(t *testing.T) {
			Ahead(1000, 1000)
			Ahead(1000, 1000) // there is one already
			s := shell("hostname; cat /data/a; id -u; exit 3")
			s.Hostname = "other"
			write(t, dir+"/a", "a\n") // after it was begun
			s.Mounts = []Mount{{File: granted, Target: "/data", Read: true}}
			end, out := run(t, s)
			exits(t, end, out, 3)
			if out != "other\na\n1000\n" {
				t.Errorf("got %q", out)
			}
			Ahead(1000, 1000)
			s = shell("id -u; exit 3") // can't use it
			s.UID = 7
			end, out = run(t, s)
			exits(t, end, out, 3)
			if out != "7\n" {
				t.Errorf("got %q", out)
			}
			EndAhead()
			EndAhead()
		})
	}
	for _, s := range []Spec{{Path: "/nowhere", Argv: []string{"x"}, UID: 1000, GID: 1000}} {
		Ahead(1000, 1000)
		if c, err := Start(t.Context(), s); err == nil {
			c.Wait()
			t.Error("it was started")
		}
	}
	if after := remains(t); after != before {
		t.Errorf("got %s, want %s", after, before)
	}
}

// What is mounted after a cell was begun isn't in it, so another is begun.
func TestMountedSinceAhead(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount")
	}
	dir := folder(t)
	Ahead(1000, 1000)
	f := <-ahead.coming
	ahead.coming <- f // it is there
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		t.Skipf("needs root that may mount: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	write(t, dir+"/a", "new\n")
	s := shell("cat /data/a")
	s.Mounts = []Mount{{File: file(t, dir), Target: "/data", Read: true}}
	lines(t, s, "new")
}
