package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/wasi"
)

// fakeGuest is a guest without an engine: its calls are made by the test.
type fakeGuest struct {
	mem     []byte
	charged uint64
	code    *uint32
}

func (g *fakeGuest) Memory() []byte       { return g.mem }
func (g *fakeGuest) Charge(u uint64)      { g.charged += u }
func (g *fakeGuest) Exit(code uint32)     { g.code = &code }
func (g *fakeGuest) Instructions() uint64 { return g.charged }

// caller makes WASI calls for a test.
type caller struct {
	t   testing.TB
	ctx context.Context
	b   *Broker
	g   *fakeGuest
	v   string
	at  uint32 // where the next argument goes in memory
}

const memory = 1 << 20

func newUnit(t testing.TB, c BrokerConfig) *caller {
	t.Helper()
	b, err := NewBroker(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return &caller{t: t, ctx: t.Context(), b: b, g: &fakeGuest{mem: make([]byte, memory)}, v: "wasi_snapshot_preview1"}
}

// inRoot is a unit that has everything beneath a directory, as its "/".
func inRoot(t testing.TB, dir string) *caller {
	return newUnit(t, BrokerConfig{Grants: everything("/", "/**"), Mounts: []Mount{{Guest: "/", Host: dir}}})
}

// with is a unit with storage grants beneath a directory, shown as "/data".
func with(t testing.TB, dir string, s grant.Storage) *caller {
	set := everything()
	set.Storage = s
	return newUnit(t, BrokerConfig{Grants: set, Mounts: []Mount{{Guest: "/data", Host: dir}}})
}

func (u *caller) call(name string, args ...uint64) wasi.Errno {
	u.t.Helper()
	stack := append(args, 0)
	if !u.b.WASI().Invoke(u.ctx, u.g, u.v, name, stack) {
		u.t.Fatalf("no such call: %s", name)
	}
	u.at = 4096
	return wasi.Errno(stack[0])
}

// str puts text into guest memory and gives its pointer and length.
func (u *caller) str(s string) (ptr, n uint64) {
	if u.at < 4096 {
		u.at = 4096
	}
	ptr = uint64(u.at)
	u.at += uint32(copy(u.g.mem[u.at:], s))
	return ptr, uint64(len(s))
}

func (u *caller) u32(at uint32) uint32 { return binary.LittleEndian.Uint32(u.g.mem[at:]) }
func (u *caller) u64(at uint32) uint64 { return binary.LittleEndian.Uint64(u.g.mem[at:]) }

// Where answers go in memory, below the arguments.
const (
	outPtr = 64
	bufPtr = 512 << 10
)

func (u *caller) open(dirfd uint64, follow bool, path string, oflags uint64, base, inherit wasi.Rights, fdflags uint64) (uint64, wasi.Errno) {
	u.t.Helper()
	p, n := u.str(path)
	e := u.call("path_open", dirfd, bit(follow), p, n, oflags, uint64(base), uint64(inherit), fdflags, outPtr)
	return uint64(u.u32(outPtr)), e
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// simple names what a test opens with.
const (
	creat, directory, excl, trunc = 1, 2, 4, 8
	readWrite                     = wasi.RightFdRead | wasi.RightFdWrite | wasi.RightFdSeek | wasi.RightFdTell |
		wasi.RightFdFilestatGet | wasi.RightFdFilestatSetSize | wasi.RightFdFilestatSetTimes | wasi.RightFdAllocate |
		wasi.RightFdAdvise | wasi.RightFdFdstatSetFlags | wasi.RightFdSync
	readOnly  = wasi.RightFdRead | wasi.RightFdSeek | wasi.RightFdTell | wasi.RightFdFilestatGet
	allRights = wasi.Rights(1<<30 - 1)
)

func (u *caller) mustOpen(dirfd uint64, path string, oflags uint64, base wasi.Rights) uint64 {
	u.t.Helper()
	fd, e := u.open(dirfd, true, path, oflags, base, allRights, 0)
	if e != wasi.Success {
		u.t.Fatalf("open %q: %v", path, e)
	}
	return fd
}

func (u *caller) path(name string, dirfd uint64, path string) wasi.Errno {
	u.t.Helper()
	p, n := u.str(path)
	return u.call(name, dirfd, p, n)
}

func (u *caller) rename(fd uint64, path string, fd2 uint64, path2 string) wasi.Errno {
	u.t.Helper()
	p, n := u.str(path)
	p2, n2 := u.str(path2)
	return u.call("path_rename", fd, p, n, fd2, p2, n2)
}

func (u *caller) link(fd uint64, follow bool, path string, fd2 uint64, path2 string) wasi.Errno {
	u.t.Helper()
	p, n := u.str(path)
	p2, n2 := u.str(path2)
	return u.call("path_link", fd, bit(follow), p, n, fd2, p2, n2)
}

func (u *caller) symlink(target string, fd uint64, path string) wasi.Errno {
	u.t.Helper()
	p, n := u.str(target)
	p2, n2 := u.str(path)
	return u.call("path_symlink", p, n, fd, p2, n2)
}

func (u *caller) readlink(fd uint64, path string, size int) (string, wasi.Errno) {
	u.t.Helper()
	p, n := u.str(path)
	e := u.call("path_readlink", fd, p, n, bufPtr, uint64(size), outPtr)
	return string(u.g.mem[bufPtr:][:u.u32(outPtr)]), e
}

// stat is the parts of a filestat that tests look at.
type stat struct {
	ino, nlink, size, atim, mtim uint64
	kind                         wasi.Filetype
}

func (u *caller) statAt(fd uint64, follow bool, path string) (stat, wasi.Errno) {
	u.t.Helper()
	p, n := u.str(path)
	e := u.call("path_filestat_get", fd, bit(follow), p, n, outPtr)
	return u.readStat(), e
}

func (u *caller) fstat(fd uint64) (stat, wasi.Errno) {
	u.t.Helper()
	e := u.call("fd_filestat_get", fd, outPtr)
	return u.readStat(), e
}

func (u *caller) readStat() stat {
	return stat{ino: u.u64(outPtr + 8), kind: wasi.Filetype(u.g.mem[outPtr+16]), nlink: u.u64(outPtr + 24),
		size: u.u64(outPtr + 32), atim: u.u64(outPtr + 40), mtim: u.u64(outPtr + 48)}
}

// iovec describes one buffer and gives the address of the description.
func (u *caller) iovec(ptr, n uint32) uint64 {
	at := uint32(1024)
	binary.LittleEndian.PutUint32(u.g.mem[at:], ptr)
	binary.LittleEndian.PutUint32(u.g.mem[at+4:], n)
	return uint64(at)
}

func (u *caller) write(fd uint64, data string) (int, wasi.Errno) {
	u.t.Helper()
	copy(u.g.mem[bufPtr:], data)
	e := u.call("fd_write", fd, u.iovec(bufPtr, uint32(len(data))), 1, outPtr)
	return int(u.u32(outPtr)), e
}

func (u *caller) read(fd uint64, size int) (string, wasi.Errno) {
	u.t.Helper()
	e := u.call("fd_read", fd, u.iovec(bufPtr, uint32(size)), 1, outPtr)
	if e != wasi.Success {
		return "", e
	}
	return string(u.g.mem[bufPtr:][:u.u32(outPtr)]), e
}

// preopen is the descriptor of a directory that is open from the start.
func (u *caller) preopen(name string) uint64 {
	u.t.Helper()
	for fd := uint64(3); u.call("fd_prestat_get", fd, outPtr) == wasi.Success; fd++ {
		n := u.u32(outPtr + 4)
		if e := u.call("fd_prestat_dir_name", fd, bufPtr, uint64(n)); e != wasi.Success {
			u.t.Fatalf("fd_prestat_dir_name: %v", e)
		}
		if string(u.g.mem[bufPtr:][:n]) == name {
			return fd
		}
	}
	u.t.Fatalf("nothing is preopened as %q", name)
	return 0
}

// want checks an errno against the ones that are right.
func (u *caller) want(what string, got wasi.Errno, want ...wasi.Errno) {
	u.t.Helper()
	for _, w := range want {
		if got == w {
			return
		}
	}
	u.t.Errorf("%s: got %v, want %v", what, got, want)
}

// tree makes files under a new directory: "a/b" = "text", "a/" for a directory,
// "l" = "-> target" for a link.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := bytes.CutPrefix([]byte(text), []byte("-> ")); ok {
			err = os.Symlink(string(target), p)
		} else if name[len(name)-1] == '/' {
			err = os.MkdirAll(p, 0o755)
		} else {
			err = os.WriteFile(p, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
