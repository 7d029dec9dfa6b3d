package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/wasi"
)

const secret = "the host's own secret"

// fortress is a directory "in" that is granted as /data, beside an "out" with a secret.
func fortress(t testing.TB, files map[string]string) (in string) {
	all := map[string]string{"out/secret": secret, "out/dir/secret": secret, "in/file": "fine", "in/dir/": ""}
	for name, text := range files {
		all["in/"+name] = text
	}
	return filepath.Join(tree(t, all), "in")
}

var allOfData = grant.Storage{Read: []string{"/data", "/data/**"}, Write: []string{"/data", "/data/**"}, Delete: []string{"/data", "/data/**"}}

// steal opens a path in every way and gives what could be read of it.
func steal(u *caller, root uint64, path string) string {
	for _, follow := range []bool{true, false} {
		for _, oflags := range []uint64{0, creat, creat | trunc} {
			fd, e := u.open(root, follow, path, oflags, readWrite, allRights, 0)
			if e != wasi.Success {
				continue
			}
			text, _ := u.read(fd, 100)
			u.call("fd_close", fd)
			if strings.Contains(text, "secret") || oflags == creat|trunc {
				return text + " (opened)"
			}
		}
	}
	return ""
}

func TestLinksDontLeadOut(t *testing.T) {
	in := fortress(t, map[string]string{
		"self": "-> .", "up": "-> ..", "rel": "-> ../out/secret", "reldir": "-> ../out", "deep": "-> dir/../../out/secret",
		"chain": "-> chain2", "chain2": "-> reldir/secret", "proc": "-> /proc/self/root", "fd": "-> /proc/self/fd",
		"newout": "-> ../out/made", "dotdot": "-> ../../../../../../../../etc/passwd",
	})
	os.Symlink(filepath.Join(in, "../out/secret"), filepath.Join(in, "abs"))
	os.Symlink(filepath.Dir(in), filepath.Join(in, "absdir"))
	u := with(t, in, allOfData)
	root := u.preopen("/data")
	paths := []string{
		"abs", "absdir/out/secret", "rel", "rel/", "reldir/secret", "reldir/./secret", "reldir/dir/../secret", "deep", "chain",
		"self/../out/secret", "self/self/../../out/secret", "up/out/secret", "up/in/file", "../out/secret", "dir/../../out/secret",
		"../in/file", "..", "../", "./..", "dir/../..", "proc/etc/passwd", "fd/0", "newout", "dotdot", "/etc/passwd", "/data/file",
		"//etc/passwd", "reldir", "reldir/", "up", "up/", "absdir", "absdir/",
	}
	for _, p := range paths {
		if got := steal(u, root, p); got != "" {
			t.Errorf("%q: got %q, want no way to it", p, got)
		}
		if s, e := u.statAt(root, true, p); e == wasi.Success {
			t.Errorf("%q: stat gave %+v", p, s)
		}
		if e := u.path("path_create_directory", root, p+"/made"); e == wasi.Success {
			t.Errorf("%q: made a directory there", p)
		}
		if e := u.link(root, false, p, root, "stolen"); e == wasi.Success && steal(u, root, "stolen") != "" {
			t.Errorf("%q: linked it", p)
		}
		u.path("path_unlink_file", root, "stolen")
		if e := u.rename(root, "file", root, p+"/moved"); e == wasi.Success {
			t.Errorf("%q: moved a file there", p)
		}
	}
	if names, _ := os.ReadDir(filepath.Join(in, "../out")); len(names) != 2 {
		t.Errorf("out holds %v, want what was there before", names)
	}
	if text, _ := os.ReadFile(filepath.Join(in, "../out/secret")); string(text) != secret {
		t.Errorf("the secret was written to: %q", text)
	}
	if n := u.b.Usage().IODenied; n < uint64(len(paths)) {
		t.Errorf("got %d denials counted for %d paths", n, len(paths))
	}
}

// TestLinksWithinDecideOnTheTarget: a link inside of the root leads to a file that
// isn't granted.
func TestLinksWithinDecideOnTheTarget(t *testing.T) {
	in := fortress(t, map[string]string{
		"open/link": "-> ../closed/secret", "open/dirlink": "-> ../closed", "closed/secret": secret, "open/ok": "-> fine", "open/fine": "fine",
	})
	u := with(t, in, grant.Storage{Read: []string{"/data/open", "/data/open/**"}, Write: []string{"/data/open/**"}, Delete: []string{"/data/open/**"}})
	root := u.preopen("/data/open")
	for _, p := range []string{"link", "dirlink/secret", "../closed/secret", "dirlink/../closed/secret"} {
		if got := steal(u, root, p); got != "" {
			t.Errorf("%q: got %q", p, got)
		}
		_, e := u.statAt(root, true, p)
		u.want("stat "+p, e, wasi.EAcces, wasi.ENotcapable)
	}
	if text, _ := u.read(u.mustOpen(root, "ok", 0, readOnly), 10); text != "fine" {
		t.Errorf("a link to a granted file: got %q", text)
	}
	u.want("a link to what isn't granted", u.symlink("../closed/secret", root, "new"), wasi.EAcces)
	u.want("a link that leaves the root", u.symlink("../../out/secret", root, "new"), wasi.ENotcapable, wasi.EAcces)
	u.want("a link that turns back", u.symlink("fine/../../closed/secret", root, "new"), wasi.ENotcapable)
	u.want("a link to what is granted", u.symlink("fine", root, "new"), wasi.Success)
	u.want("the same from the root", u.symlink("./../open/fine", root, "new2"), wasi.Success)
}

// TestDanglingThenRetargeted: a link that led nowhere when it was looked at.
func TestDanglingThenRetargeted(t *testing.T) {
	in := fortress(t, map[string]string{"l": "-> later"})
	u := with(t, in, allOfData)
	root := u.preopen("/data")
	_, e := u.open(root, true, "l", 0, readOnly, 0, 0)
	u.want("dangling", e, wasi.ENoent)
	os.Symlink("../out/secret", filepath.Join(in, "later"))
	if got := steal(u, root, "l"); got != "" {
		t.Errorf("got %q", got)
	}
}

// TestLinkSwapRace flips a name between a fine directory and a way out while the
// unit opens through it.
func TestLinkSwapRace(t *testing.T) {
	in := fortress(t, map[string]string{"fine/secret": "harmless", "way": "-> fine", "way.out": "-> ../out", "afile": "harmless"})
	u := with(t, in, allOfData)
	root := u.preopen("/data")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		way, out := filepath.Join(in, "way"), filepath.Join(in, "way.out")
		for {
			select {
			case <-stop:
				return
			default:
				unix.Renameat2(unix.AT_FDCWD, way, unix.AT_FDCWD, out, unix.RENAME_EXCHANGE)
			}
		}
	}()
	opened := 0
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		for _, p := range []string{"way/secret", "way/../way/secret", "way.out/secret", "way.out"} {
			fd, e := u.open(root, true, p, 0, readOnly, allRights, 0)
			if e != wasi.Success {
				continue
			}
			opened++
			if text, _ := u.read(fd, 100); strings.Contains(text, "host's") {
				t.Fatalf("%q: got the secret", p)
			}
			u.call("fd_close", fd)
		}
		u.path("path_create_directory", root, "way/made")
		u.path("path_unlink_file", root, "way.out/secret2")
	}
	close(stop)
	<-done
	if opened == 0 {
		t.Error("nothing could be opened, so nothing was shown")
	}
	if _, err := os.Stat(filepath.Join(in, "../out/made")); err == nil {
		t.Error("a directory was made outside")
	}
}

// TestRenameRace flips a directory and a link out of the root while the unit moves,
// links, lists and changes things through that name: what is outside stays as it is,
// and nothing of it comes in.
func TestRenameRace(t *testing.T) {
	in := fortress(t, map[string]string{"fine/f": "harmless", "way": "-> fine", "way.out": "-> ../out", "mine": "the unit's"})
	u := with(t, in, allOfData)
	root := u.preopen("/data")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		way, out := filepath.Join(in, "way"), filepath.Join(in, "way.out")
		for {
			select {
			case <-stop:
				return
			default:
				unix.Renameat2(unix.AT_FDCWD, way, unix.AT_FDCWD, out, unix.RENAME_EXCHANGE)
			}
		}
	}()
	moved := 0
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		if u.rename(root, "mine", root, "way/mine") == wasi.Success {
			moved++
			u.rename(root, "fine/mine", root, "mine")
		}
		u.rename(root, "way/secret", root, "stolen")
		u.rename(root, "way/dir", root, "stolen.dir")
		u.link(root, true, "way/secret", root, "linked")
		u.link(root, false, "mine", root, "way/linked.out")
		u.symlink("secret", root, "way/symlinked")
		u.setTimes(root, "way/secret")
		u.path("path_remove_directory", root, "way/dir")
		u.path("path_unlink_file", root, "way/secret")
		if fd, e := u.open(root, true, "way", directory, allRights, allRights, 0); e == wasi.Success {
			u.call("fd_readdir", fd, bufPtr, 1000, 0, outPtr)
			if used := u.u32(outPtr); strings.Contains(string(u.g.mem[bufPtr:bufPtr+used]), "secret") {
				t.Error("a listing names what is outside")
			}
			u.call("fd_close", fd)
		}
		u.path("path_unlink_file", root, "fine/linked.out")
		u.path("path_unlink_file", root, "fine/symlinked")
	}
	close(stop)
	<-done
	if moved == 0 {
		t.Error("nothing could be moved, so nothing was shown")
	}
	var outside []string
	filepath.WalkDir(filepath.Join(in, "../out"), func(path string, d os.DirEntry, err error) error {
		outside = append(outside, filepath.Base(path))
		return err
	})
	if want := []string{"out", "dir", "secret", "secret"}; !slices.Equal(outside, want) {
		t.Errorf("outside there is %v, want %v", outside, want)
	}
	for _, name := range []string{"stolen", "stolen.dir", "linked"} {
		if _, err := os.Lstat(filepath.Join(in, name)); err == nil {
			t.Errorf("%s came in", name)
		}
	}
	if text, err := os.ReadFile(filepath.Join(in, "../out/secret")); err != nil || string(text) != secret {
		t.Errorf("the secret is %q, %v", text, err)
	}
}

// TestDirectoryMovedOut: the host moves a directory that the unit has open out of
// the root.
func TestDirectoryMovedOut(t *testing.T) {
	in := fortress(t, map[string]string{"dir/f": "fine"})
	u := with(t, in, allOfData)
	fd := u.mustOpen(u.preopen("/data"), "dir", directory, 0)
	if err := os.Rename(filepath.Join(in, "dir"), filepath.Join(in, "../out/moved")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"f", "../secret", "."} {
		_, e := u.open(fd, true, p, 0, readOnly, 0, 0)
		u.want("open "+p, e, wasi.ENotcapable)
	}
	u.want("create", u.path("path_create_directory", fd, "new"), wasi.ENotcapable)
	u.want("list", u.call("fd_readdir", fd, bufPtr, 100, 0, outPtr), wasi.ENotcapable)
}

func TestNamesAreBytes(t *testing.T) {
	u := with(t, fortress(t, map[string]string{"Closed/x": secret}), grant.Storage{Read: []string{"/data/file", "/data/open/**"}})
	root := u.preopen("/data")
	for _, p := range []string{
		"FILE", "File", "Closed/x", "closed/x", "OPEN/../Closed/x", "．．/out/secret", "..／out／secret", "%2e%2e/out/secret",
		"file ", "file.", "fıle", "open/../Closed/x", `open\..\Closed\x`, "..\\out", "file:stream",
	} {
		if got := steal(u, root, p); got != "" {
			t.Errorf("%q: got %q", p, got)
		}
	}
	for p, want := range map[string]wasi.Errno{
		"": wasi.ENoent, "file\x00": wasi.EInval, "\x00": wasi.EInval, "file\x00/../x": wasi.EInval, "\xff": wasi.EIlseq,
		"\xc0\xae\xc0\xae/out": wasi.EIlseq, "\xed\xa0\x80": wasi.EIlseq, strings.Repeat("a/", 3000): wasi.ENametoolong,
	} {
		_, e := u.open(root, true, p, 0, readOnly, 0, 0)
		u.want(fmt.Sprintf("open %.20q", p), e, want)
	}
	if text, _ := u.read(u.mustOpen(root, "file", 0, readOnly), 9); text != "fine" {
		t.Errorf("the file itself: got %q", text)
	}
}

// TestSpecialFilesAreNotTouched: opening a fifo would block, a device could do anything.
func TestSpecialFilesAreNotTouched(t *testing.T) {
	in := fortress(t, map[string]string{"tofifo": "-> fifo"})
	if err := syscall.Mkfifo(filepath.Join(in, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: filepath.Join(in, "sock")}); err != nil {
		t.Fatal(err)
	}
	names := []string{"fifo", "tofifo", "sock"}
	if syscall.Mknod(filepath.Join(in, "null"), syscall.S_IFCHR|0o666, 1<<8|3) == nil {
		names = append(names, "null")
	}
	u := with(t, in, allOfData)
	root := u.preopen("/data")
	for _, name := range names {
		for _, oflags := range []uint64{0, creat, trunc, creat | trunc} {
			_, e := u.open(root, true, name, oflags, readWrite, 0, 0)
			u.want("open "+name, e, wasi.EAcces)
		}
	}
	if s, e := u.statAt(root, false, "fifo"); e != wasi.Success || s.kind != wasi.TypeUnknown {
		t.Errorf("stat of a fifo: got %+v, %v", s, e)
	}
	u.want("a special file can be removed", u.path("path_unlink_file", root, "fifo"), wasi.Success)
}

func TestModesAreApart(t *testing.T) {
	in := fortress(t, map[string]string{"w/old": secret, "r/old": "fine", "d/old": secret})
	u := with(t, in, grant.Storage{
		Read: []string{"/data/r", "/data/r/**"}, Write: []string{"/data/w", "/data/w/**"}, Delete: []string{"/data/d/**"},
	})
	r, w, d := u.preopen("/data/r"), u.preopen("/data/w"), u.preopen("/data/d")
	try := func(fd uint64, path string, oflags uint64, rights wasi.Rights, want wasi.Errno) {
		t.Helper()
		got, e := u.open(fd, true, path, oflags, rights, 0, 0)
		u.want(path, e, want)
		if e == wasi.Success {
			u.call("fd_close", got)
		}
	}
	try(w, "old", 0, wasi.RightFdRead, wasi.EAcces)
	try(w, "old", 0, wasi.RightFdRead|wasi.RightFdWrite, wasi.EAcces)
	try(w, "old", 0, wasi.RightFdWrite, wasi.Success)
	try(w, "new", creat, wasi.RightFdWrite, wasi.Success)
	try(w, "new2", creat, wasi.RightFdWrite|wasi.RightFdRead, wasi.EAcces)
	try(r, "old", 0, wasi.RightFdRead, wasi.Success)
	try(r, "old", trunc, wasi.RightFdRead, wasi.EAcces)
	try(r, "old", 0, wasi.RightFdWrite, wasi.EAcces)
	try(r, "new", creat, 0, wasi.EAcces)
	try(d, "old", 0, wasi.RightFdRead, wasi.EAcces)
	try(d, "old", 0, wasi.RightFdWrite, wasi.EAcces)
	u.want("list w", u.call("fd_readdir", w, bufPtr, 100, 0, outPtr), wasi.EAcces)
	u.want("list r", u.call("fd_readdir", r, bufPtr, 100, 0, outPtr), wasi.Success)
	u.want("unlink in w", u.path("path_unlink_file", w, "old"), wasi.EAcces)
	u.want("unlink in r", u.path("path_unlink_file", r, "old"), wasi.EAcces)
	u.want("times in r", u.setTimes(r, "old"), wasi.EAcces)
	u.want("times in w", u.setTimes(w, "old"), wasi.Success)
	fd := u.mustOpen(r, "old", 0, readOnly|wasi.RightFdFilestatSetTimes)
	u.want("times of what is open to read", u.call("fd_filestat_set_times", fd, 1, 1, 4), wasi.EAcces)
	u.want("rename needs delete", u.rename(w, "old", w, "x"), wasi.EAcces)
	u.want("rename must not make readable", u.rename(d, "old", r, "x"), wasi.EAcces)
	u.want("link must not make writable", u.link(r, false, "old", w, "x"), wasi.EAcces)
	u.want("link must not make readable", u.link(w, false, "old", r, "x"), wasi.EAcces)
	u.want("move of what may go", u.rename(d, "old", w, "moved"), wasi.Success)
	u.want("unlink in d", u.path("path_unlink_file", d, "gone"), wasi.ENoent)
}

func (u *caller) setTimes(fd uint64, path string) wasi.Errno {
	p, n := u.str(path)
	return u.call("path_filestat_set_times", fd, 0, p, n, 1, 1, 4)
}

// TestExistenceIsDenied: what isn't granted looks the same whether it is there.
func TestExistenceIsDenied(t *testing.T) {
	in := fortress(t, map[string]string{"closed/dir/x": secret, "cfile": secret})
	u := with(t, in, grant.Storage{Read: []string{"/data/file", "/data/more/*"}})
	root := u.preopen("/data")
	for _, p := range []string{"closed", "nothing", "closed/dir", "closed/nothing", "cfile", "cfile/x", "closed/dir/x", "nothing/x",
		"closed/../file", "nothing/../file", "cfile/../file"} {
		_, e := u.statAt(root, true, p)
		u.want("stat "+p, e, wasi.EAcces)
		_, e = u.open(root, true, p, 0, readOnly, 0, 0)
		u.want("open "+p, e, wasi.EAcces)
		_, e = u.open(root, true, p, creat, readWrite, 0, 0)
		u.want("create "+p, e, wasi.EAcces)
		u.want("mkdir "+p, u.path("path_create_directory", root, p), wasi.EAcces)
	}
	_, e := u.statAt(root, true, "more/x")
	u.want("granted and not there", e, wasi.ENoent)
	_, e = u.statAt(root, true, "more")
	u.want("on the way to something granted", e, wasi.ENoent)
}

func TestDirectoriesDontWiden(t *testing.T) {
	in := fortress(t, map[string]string{"a/secret": secret, "b/": "", "c/f": "fine", "c/sub/f": "fine"})
	u := with(t, in, grant.Storage{
		Read:   []string{"/data/b/**", "/data/c/**", "/data/file"},
		Write:  []string{"/data/b", "/data/b/**", "/data/c", "/data/c/**"},
		Delete: []string{"/data/a", "/data/c", "/data/c/**", "/data/b/**"},
	})
	root := u.preopen("/data")
	u.want("what can't be read becomes readable", u.rename(root, "a", root, "b/a"), wasi.EAcces)
	u.want("what can is moved", u.rename(root, "c/sub", root, "b/sub"), wasi.Success)
}

func TestBeneath(t *testing.T) {
	for _, tt := range []struct {
		glob, dir string
		some, all bool
	}{
		{"**", "/a", true, true}, {"/**", "/a", true, true}, {"/**", "/", true, true}, {"/a/**", "/a", true, true},
		{"/a/**", "/a/b/c", true, true}, {"/a/**", "/b", false, false}, {"/a", "/a", false, false}, {"/a/*", "/a", true, false},
		{"/a/*", "/a/b", false, false}, {"/a/b/c", "/a", true, false}, {"/a/b/c", "/a/b", true, false}, {"/a/b/c", "/a/c", false, false},
		{"/a/**/x", "/a", true, false}, {"/a/**/x", "/a/q/r", true, false}, {"/a/*.d/**", "/a/b.d", true, true},
		{"/a/*.d/**", "/a/b", false, false}, {"/a/**/b/**", "/a/b", true, true}, {"/a/**/b/**", "/a/c", true, false}, {"/*", "/", true, false},
	} {
		if some, all := beneath(tt.glob, tt.dir); some != tt.some || all != tt.all {
			t.Errorf("beneath(%q, %q): got %v %v, want %v %v", tt.glob, tt.dir, some, all, tt.some, tt.all)
		}
	}
}

func TestMountsShadowAndHide(t *testing.T) {
	outer := tree(t, map[string]string{"data/secret": secret, "f": "fine", "keys/key": secret})
	inner := tree(t, map[string]string{"f": "inner"})
	u := newUnit(t, BrokerConfig{
		Grants: everything("/", "/**"),
		Mounts: []Mount{{Guest: "/", Host: outer}, {Guest: "/data", Host: inner}},
		Hidden: []string{filepath.Join(outer, "keys"), filepath.Join(outer, "nothing")},
	})
	root, data := u.preopen("/"), u.preopen("/data")
	u.want("made later", u.path("path_create_directory", root, "nothing"), wasi.EAcces)
	for _, p := range []string{"data/secret", "data", "data/", "keys", "keys/key", "keys/../keys/key"} {
		if got := steal(u, root, p); got != "" {
			t.Errorf("%q: got %q", p, got)
		}
		u.want("unlink "+p, u.path("path_unlink_file", root, p), wasi.EAcces)
		u.want("rename "+p, u.rename(root, p, root, "x"), wasi.EAcces)
	}
	if text, _ := u.read(u.mustOpen(data, "f", 0, readOnly), 9); text != "inner" {
		t.Errorf("got %q, want the mount's file", text)
	}
	for _, p := range []string{".", "..", "", "/", "./", "data/..", "data/."} {
		if e := u.path("path_remove_directory", root, p); e == wasi.Success {
			t.Errorf("removed %q", p)
		}
	}
	if _, err := os.Stat(outer); err != nil {
		t.Error(err)
	}
}

// TestKernelWindows: with all of the host granted, /proc would still hand out the
// host process's own memory.
func TestKernelWindows(t *testing.T) {
	set := everything()
	set.Storage = grant.Storage{Read: []string{"**"}}
	u := newUnit(t, BrokerConfig{Grants: set})
	root := u.preopen("/")
	self := fmt.Sprintf("proc/%d/", os.Getpid())
	for _, p := range []string{"proc/self/environ", self + "environ", self + "mem", self + "root/etc/passwd", self + "fd/0",
		"proc/cpuinfo", "sys/class/powercap", "sys/kernel/notes", "dev/null", "proc", "sys"} {
		_, e := u.open(root, true, p, 0, readOnly, 0, 0)
		u.want("open "+p, e, wasi.EAcces, wasi.ENotcapable, wasi.ELoop, wasi.ENoent)
	}
	if text, e := u.read(u.mustOpen(root, "etc/hostname", 0, readOnly), 10); e != wasi.Success || text == "" {
		t.Errorf("a plain file: got %q, %v", text, e)
	}
	if want := []string{probeEnergy, probeHardware}; !slices.Equal(u.b.Probing(), want) {
		t.Errorf("probing: got %q, want %q", u.b.Probing(), want)
	}
}

func TestRootWalkIsProbing(t *testing.T) {
	u := with(t, fortress(t, nil), allOfData)
	for _, p := range []string{"/etc", "/home", "/root", "/var"} {
		if len(u.b.Probing()) != 0 {
			t.Errorf("probing before %s: got %q", p, u.b.Probing())
		}
		_, e := u.open(u.preopen("/data"), true, p, 0, readOnly, 0, 0)
		u.want(p, e, wasi.ENotcapable)
	}
	if want := []string{probeWalk}; !slices.Equal(u.b.Probing(), want) {
		t.Errorf("got %q, want %q", u.b.Probing(), want)
	}
}

func TestDescriptorFlood(t *testing.T) {
	u := inRoot(t, tree(t, map[string]string{"f": ""}))
	root := u.preopen("/")
	before := openFDs(t)
	n := 0
	for ; n < 5000; n++ {
		if _, e := u.open(root, true, "f", 0, readOnly, 0, 0); e != wasi.Success {
			u.want("the last one", e, wasi.EMfile)
			break
		}
	}
	if n != 1024-4 {
		t.Errorf("got %d descriptors more, want 1020", n)
	}
	u.want("a file isn't made when there is no number for it", errnoOfOpen(u, root, "new"), wasi.EMfile)
	if _, e := u.statAt(root, true, "new"); e != wasi.ENoent {
		t.Errorf("new: %v, want noent", e)
	}
	if err := u.b.WASI().Close(); err != nil {
		t.Error(err)
	}
	if after := openFDs(t); after > before {
		t.Errorf("%d descriptors open after closing, %d before", after, before)
	}
}

func errnoOfOpen(u *caller, root uint64, path string) wasi.Errno {
	_, e := u.open(root, true, path, creat, readWrite, 0, 0)
	return e
}

func openFDs(t testing.TB) int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// TestHugeDirectory lists with a tiny buffer: every name once, memory bounded.
func TestHugeDirectory(t *testing.T) {
	const files = 5000
	dir := t.TempDir()
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u := inRoot(t, dir)
	root := u.preopen("/")
	seen := map[string]int{}
	var cookie uint64
	for range 3 * files {
		u.want("readdir", u.call("fd_readdir", root, bufPtr, 200, cookie, outPtr), wasi.Success)
		used := u.u32(outPtr)
		at := uint32(bufPtr)
		for at+24 <= bufPtr+used {
			n := u.u32(at + 16)
			if at+24+n > bufPtr+used {
				break
			}
			cookie = u.u64(at)
			seen[string(u.g.mem[at+24:][:n])]++
			at += 24 + n
		}
		if used < 200 {
			break
		}
	}
	if len(seen) != files+2 {
		t.Errorf("got %d names, want %d", len(seen), files+2)
	}
	for name, n := range seen {
		if n != 1 {
			t.Errorf("%q: got it %d times", name, n)
		}
	}
	u.want("a cookie out of nowhere", u.call("fd_readdir", root, bufPtr, 200, 1<<63, outPtr), wasi.EInval)
}
