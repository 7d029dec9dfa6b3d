package host

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/internal/hostcall"
	"github.com/joulebox/joulebox/internal/wasi"
)

// TestCeilingsHold: reads come no faster than granted, and in parts.
func TestCeilingsHold(t *testing.T) {
	set := everything("/", "/**")
	iops, bps := uint64(100), uint64(1000)
	set.Storage.MaxIOPS, set.Storage.MaxReadBPS = &iops, &bps
	c := &fakeClock{now: time.Unix(1_800_000_000, 0)}
	u := newUnit(t, BrokerConfig{Grants: set, Clock: c, Mounts: []Mount{{Guest: "/", Host: tree(t, map[string]string{"f": strings.Repeat("x", 10_000)})}}})
	fd := u.mustOpen(u.preopen("/"), "f", 0, readOnly)
	total := 0
	for {
		text, e := u.read(fd, 100_000)
		u.want("read", e, wasi.Success)
		if len(text) > int(bps) {
			t.Fatalf("got %d bytes at once, want at most a second's worth", len(text))
		}
		if text == "" {
			break
		}
		total += len(text)
	}
	if want := 9900 * time.Millisecond; total != 10_000 || c.slept < want || c.slept > want+time.Second {
		t.Errorf("got %d bytes after %v, want 10000 after %v", total, c.slept, want)
	}
	slept := c.slept
	for range 100 {
		u.statAt(u.preopen("/"), true, "f")
	}
	if d := c.slept - slept; d < 850*time.Millisecond || d > 1100*time.Millisecond {
		t.Errorf("100 looks at 100/s took %v, want about a second less the burst", d)
	}
	if n := u.b.Usage(); n.IOReadBytes != 10_000 || n.IOReads < 112 {
		t.Errorf("usage: got %+v", n)
	}
}

// TestRateOfZeroEndsWithTheRun: what never comes due doesn't outlive the run.
func TestRateOfZeroEndsWithTheRun(t *testing.T) {
	set := everything("/", "/**")
	zero := uint64(0)
	set.Storage.MaxIOPS = &zero
	u := newUnit(t, BrokerConfig{Grants: set, Mounts: []Mount{{Guest: "/", Host: tree(t, nil)}}})
	root := u.preopen("/")
	for _, call := range []func() wasi.Errno{
		func() wasi.Errno { _, e := u.fstat(root); return e },
		func() wasi.Errno { return u.call("fd_sync", root) },
		func() wasi.Errno { return u.call("fd_filestat_set_times", root, 1, 1, 4) },
		func() wasi.Errno { return u.call("fd_readdir", root, bufPtr, 100, 0, outPtr) },
		func() wasi.Errno { return u.path("path_create_directory", root, "d") },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		u.ctx = ctx
		u.want("at a rate of zero", call(), wasi.ECanceled)
		cancel()
	}
}

func TestSandboxStorage(t *testing.T) {
	in := fortress(t, map[string]string{"w/": "", "l": "-> ../out/secret"})
	u := with(t, in, allOfData)
	s := u.b.Sandbox()
	write := func(path, text string, where hostcall.Where) error {
		_, err := s.StorageWrite(t.Context(), path, []byte(text), where)
		return err
	}
	read := func(path string, off int64) (string, error) {
		p := make([]byte, 100)
		n, err := s.StorageRead(t.Context(), path, p, off)
		return string(p[:max(n, 0)]), err
	}
	for _, step := range []struct {
		text  string
		where hostcall.Where
		want  string
	}{{"hello world", hostcall.Replace, "hello world"}, {"bye", hostcall.Replace, "bye"}, {"!", hostcall.Append, "bye!"},
		{"BY", 0, "BYe!"}, {"?", 6, "BYe!\x00\x00?"}} {
		if err := write("/data/w/f", step.text, step.where); err != nil {
			t.Fatal(err)
		}
		if got, err := read("/data/w/f", 0); got != step.want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, step.want)
		}
	}
	if got, err := read("/data/w/f", 3); got != "!\x00\x00?" || err != nil {
		t.Errorf("from an offset: got %q, %v", got, err)
	}
	if got, err := read("/data/w/f", 1000); got != "" || err != nil {
		t.Errorf("past the end: got %q, %v", got, err)
	}
	for path, want := range map[string]error{
		"/data/none": hostcall.NotFound, "/data/file/x": hostcall.NotFound, "/data/w": hostcall.Invalid, "data/file": hostcall.Invalid,
		"/data/../etc/passwd": hostcall.Denied, "/etc/passwd": hostcall.Denied, "/": hostcall.Denied, "/data/l": hostcall.Denied,
		"/../etc/passwd": hostcall.Invalid, "/proc/self/mem": hostcall.Denied,
	} {
		if _, err := read(path, 0); err != want {
			t.Errorf("read %q: got %v, want %v", path, err, want)
		}
	}
	if err := write("/data/l", "x", hostcall.Replace); err != hostcall.Denied {
		t.Errorf("write through a link out: got %v", err)
	}
	if n := u.b.Usage().IODenied; n != 6 {
		t.Errorf("got %d denied, want 6", n)
	}
}

// TestGrantOfAFile: only that file, in a directory that is open and closed.
func TestGrantOfAFile(t *testing.T) {
	in := fortress(t, nil)
	set := everything()
	set.Storage.Read = []string{in + "/file"}
	u := newUnit(t, BrokerConfig{Grants: set})
	root := u.preopen(in)
	if text, _ := u.read(u.mustOpen(root, "file", 0, readOnly), 9); text != "fine" {
		t.Errorf("got %q", text)
	}
	u.want("list", u.call("fd_readdir", root, bufPtr, 100, 0, outPtr), wasi.EAcces)
	_, e := u.open(root, true, "dir", directory, 0, 0, 0)
	u.want("its neighbour", e, wasi.EAcces)
}

// TestGrantOfWhatIsntThere: a unit that may make a directory can, and nothing was
// made for it.
func TestGrantOfWhatIsntThere(t *testing.T) {
	in := fortress(t, nil)
	set := everything()
	set.Storage.Write = []string{in + "/new/deep", in + "/new/deep/**", in + "/new"}
	u := newUnit(t, BrokerConfig{Grants: set})
	root := u.preopen(in)
	u.want("mkdir new", u.path("path_create_directory", root, "new"), wasi.Success)
	u.want("mkdir new/deep", u.path("path_create_directory", root, "new/deep"), wasi.Success)
	_, e := u.open(root, true, "new/deep/f", creat, wasi.RightFdWrite, 0, 0)
	u.want("create", e, wasi.Success)
	u.want("mkdir other", u.path("path_create_directory", root, "other"), wasi.EAcces)
}
