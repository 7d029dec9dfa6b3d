package rootfs

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const nobody = 65534

// TestAsOrdinaryUser runs what matters again without root's rights.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user; the tests themselves ran without")
	}
	at, err := os.MkdirTemp("", "rootfs-user-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = removeTree(at) })
	self := filepath.Join(at, "self")
	if err := errors.Join(copyFile("/proc/self/exe", self), os.Chown(at, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^Test(Sources|Lies|NothingOutside|ChangedTrees|SameTree|Prune|ManyAtOnce|Leftovers|Dir|DirAndImage|DirRefuses|DirLeavesOut|DirUnreadable|UserOfTheImage|LookPath.*|OwnersRights|PulledOnce)$", "-test.v")
	cmd.Env = []string{"HOME=" + at, "TMPDIR=" + at, "PATH=/usr/bin:/bin"}
	cmd.Dir = at
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as user %d: %v\n%s", nobody, err, out)
	}
	if n := strings.Count(string(out), "--- PASS: Test"); n < 18 {
		t.Errorf("got %d tests, want 18 at least:\n%s", n, out)
	}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// TestOwnersRights: a folder that its owner can't look into can be kept by root
// alone; a file that its owner can't read by everybody.
func TestOwnersRights(t *testing.T) {
	o := options(t)
	ref := layoutOf(t, moded(dir("d"), 0o311), moded(file("d/f"[2:], "1"), 0))
	if os.Geteuid() == 0 {
		r := open(t, ref, o)
		if e, err := Resolve(r.Image, "/d"); err != nil || e.Mode != 0o311 {
			t.Errorf("got %+v (%v)", e, err)
		}
		return
	}
	refused(t, "a closed folder", ref, o, "unpack the image as root")
	secret := layoutOf(t, moded(file("f", "1"), 0))
	r := reopen(t, secret, o)
	o.Rehash = true
	if again := reopen(t, secret, o); again.ID != r.ID {
		t.Errorf("got %v, want %v", again.ID, r.ID)
	}
	if info, err := os.Stat(r.Path + "/f"); err != nil || info.Mode().Perm() != 0 {
		t.Errorf("got mode %v (%v), want it as it was", info.Mode(), err)
	}
}

// TestDirUnreadable: a directory is read with the caller's rights, and not changed.
func TestDirUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("running as root, which may read everything; TestAsOrdinaryUser runs this too")
	}
	at := folder(t)
	if err := os.Chmod(at+"/f", 0); err != nil {
		t.Fatal(err)
	}
	if r, err := Open(context.Background(), at, options(t)); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("got %v, %v", r, err)
	}
	if info, err := os.Stat(at + "/f"); err != nil || info.Mode().Perm() != 0 {
		t.Errorf("got mode %v (%v), want it as it was", info.Mode(), err)
	}
}

// TestUserOfTheImage: a user's name is looked up in the image's own list, through its
// own links, and one that isn't there isn't the superuser.
func TestUserOfTheImage(t *testing.T) {
	list := file("usr/lib/users", "root:x:0:0::/:\napp:x:101:102::/:\n")
	r := open(t, layoutOf(t, dir("etc"), dir("usr/lib"), list, link("etc/passwd", "/usr/lib/users")), options(t))
	r.Config.User = "app"
	if uid, gid, err := r.User(); err != nil || uid != 101 || gid != 102 {
		t.Errorf("got %d:%d (%v)", uid, gid, err)
	}
	if err := os.WriteFile(filepath.Join(r.Path, "usr/lib/users"), []byte("app:x:0:0::/:\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if uid, _, err := r.User(); err == nil {
		t.Errorf("a list that isn't the image's any more made the user %d", uid)
	}
	r = open(t, layoutOf(t, dir("etc"), link("etc/passwd", "../../../../etc/passwd")), options(t))
	r.Config.User = "root"
	if uid, _, err := r.User(); err == nil {
		t.Errorf("got %d of the host's list", uid)
	}
}
