package host

import (
	"io"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/internal/wasi"
)

// benchCall measures one host call without an engine around it.
func benchCall(b *testing.B, u *caller, name string, args ...uint64) {
	stack := make([]uint64, max(len(args), 1))
	w := u.b.WASI()
	b.ReportAllocs()
	for b.Loop() {
		copy(stack, args)
		w.Invoke(u.ctx, u.g, u.v, name, stack)
		if stack[0] != 0 {
			b.Fatal(wasi.Errno(stack[0]))
		}
	}
}

func benchUnit(b *testing.B, stdout io.Writer) *caller {
	set := everything("/", "/**")
	return newUnit(b, BrokerConfig{Grants: set, Mounts: []Mount{{Guest: "/", Host: tree(b, map[string]string{"a/b/c/f": strings.Repeat("x", 1<<16)})}}, Stdout: stdout})
}

func BenchmarkSchedYield(b *testing.B) { benchCall(b, benchUnit(b, nil), "sched_yield") }

func BenchmarkClock(b *testing.B) { benchCall(b, benchUnit(b, nil), "clock_time_get", 1, 0, outPtr) }

func BenchmarkWriteDiscard(b *testing.B) {
	u := benchUnit(b, nil)
	benchCall(b, u, "fd_write", 1, u.iovec(bufPtr, 64), 1, outPtr)
}

// BenchmarkWriteHanded is for a writer that can block.
func BenchmarkWriteHanded(b *testing.B) {
	u := benchUnit(b, struct{ io.Writer }{io.Discard})
	benchCall(b, u, "fd_write", 1, u.iovec(bufPtr, 64), 1, outPtr)
}

func BenchmarkFileWrite(b *testing.B) {
	u := benchUnit(b, nil)
	fd := u.mustOpen(u.preopen("/"), "new", creat, readWrite)
	benchCall(b, u, "fd_pwrite", fd, u.iovec(bufPtr, 4096), 1, 0, outPtr)
}

func BenchmarkFileRead(b *testing.B) {
	u := benchUnit(b, nil)
	fd := u.mustOpen(u.preopen("/"), "a/b/c/f", 0, readOnly)
	benchCall(b, u, "fd_pread", fd, u.iovec(bufPtr, 4096), 1, 0, outPtr)
}

func BenchmarkOpenClose(b *testing.B) {
	u := benchUnit(b, nil)
	root := u.preopen("/")
	p, n := u.str("a/b/c/f")
	stack := make([]uint64, 9)
	b.ReportAllocs()
	for b.Loop() {
		copy(stack, []uint64{root, 1, p, n, 0, uint64(readOnly), 0, 0, outPtr})
		u.b.WASI().Invoke(u.ctx, u.g, u.v, "path_open", stack)
		if stack[0] != 0 {
			b.Fatal(wasi.Errno(stack[0]))
		}
		stack[0] = uint64(u.u32(outPtr))
		u.b.WASI().Invoke(u.ctx, u.g, u.v, "fd_close", stack)
	}
}

func BenchmarkStat(b *testing.B) {
	u := benchUnit(b, nil)
	p, n := u.str("a/b/c/f")
	benchCall(b, u, "path_filestat_get", u.preopen("/"), 1, p, n, outPtr)
}

func BenchmarkNewBroker(b *testing.B) {
	for name, set := range map[string]BrokerConfig{
		"no storage": {Grants: everything()},
		"storage":    {Grants: everything("/", "/**"), Mounts: []Mount{{Guest: "/", Host: b.TempDir()}}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				broker, err := NewBroker(set)
				if err != nil {
					b.Fatal(err)
				}
				broker.Close()
			}
		})
	}
}
