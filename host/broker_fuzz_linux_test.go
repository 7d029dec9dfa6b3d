package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/hostcall"
	"github.com/joulebox/joulebox/internal/wasi"
)

// fuelGuest is a guest whose tank ends, as the engine's does: by not returning.
type fuelGuest struct {
	mem  []byte
	fuel uint64
	used uint64
}

var errFuel = errors.New("out of fuel")

func (g *fuelGuest) Memory() []byte       { return g.mem }
func (g *fuelGuest) Exit(uint32)          { panic(errFuel) }
func (g *fuelGuest) Instructions() uint64 { return g.used }
func (g *fuelGuest) Charge(units uint64) {
	if units > g.fuel-g.used {
		g.used = g.fuel
		panic(errFuel)
	}
	g.used += units
}

// script turns fuzzed bytes into calls: a byte for the function, then its
// arguments, each led by a byte that says how it is made.
type script struct{ data []byte }

func (s *script) byte() byte {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return b
}

// edges are numbers that break sums and tables.
var edges = []uint64{0, 1, 2, 3, 4, 7, 8, 16, 24, 48, 63, 64, 255, 1023, 1024, 1025, 4096, 1 << 16, 1<<16 - 1, 1<<16 + 1,
	1<<31 - 1, 1 << 31, 1<<32 - 1, 1<<32 - 8, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1}

func (s *script) arg() uint64 {
	switch b := s.byte(); {
	case b < 96:
		return uint64(b % 12) // a descriptor, a flag
	case b < 160:
		return edges[int(b)%len(edges)]
	case b < 240:
		return uint64(s.byte())<<8 | uint64(s.byte()) // somewhere in memory
	default:
		var raw [8]byte
		for i := range raw {
			raw[i] = s.byte()
		}
		return binary.LittleEndian.Uint64(raw[:])
	}
}

// fuzzMemory is a guest memory with paths, buffers and subscriptions lying about.
func fuzzMemory(seed []byte) []byte {
	mem := make([]byte, 1<<16)
	for i, p := range []string{"f", "dir", "dir/f", "..", "../out/secret", "link", "dir/", ".", "new", "a/b", "/etc/passwd", "rel"} {
		copy(mem[i*16:], p)
	}
	for i := range 64 { // buffers, and what reads as subscriptions
		binary.LittleEndian.PutUint32(mem[256+8*i:], uint32(4096+64*i))
		binary.LittleEndian.PutUint32(mem[260+8*i:], 64)
	}
	copy(mem[1024:], seed)
	return mem
}

var wasiNames = func() (names []string) {
	for _, f := range wasi.HostFuncs() {
		if f.Module == "wasi_snapshot_preview1" && f.Name != "proc_exit" {
			names = append(names, f.Name)
		}
	}
	return names
}()

// FuzzHostCalls makes any calls with any numbers over any memory. The host never
// panics, never allocates by a guest's word, and nothing outside is touched.
func FuzzHostCalls(f *testing.F) {
	for i := range wasiNames {
		f.Add([]byte{byte(i), 3, 0, 161, 0, 8, 3, 3, 3, 3, 3}, []byte("seed"))
		f.Add([]byte{byte(i), 0, 161, 1, 0, 1, 161, 2, 0, 3, 250, 255}, bytes.Repeat([]byte{0xff}, 64))
	}
	set := everything("/", "/**")
	set.Host.Clock = false // sleeping takes no time
	set.Network = grant.Network{}
	f.Fuzz(func(t *testing.T, calls, seed []byte) {
		top := tree(t, map[string]string{"in/f": "text", "in/dir/f": "text", "in/link": "-> f", "in/rel": "-> ../out/secret", "out/secret": secret})
		b, err := NewBroker(BrokerConfig{Grants: set, Mounts: []Mount{{Guest: "/", Host: filepath.Join(top, "in")}},
			Stdin: strings.NewReader("input"), Args: []string{"unit", "arg"}, Env: []string{"A=B"}})
		if err != nil {
			t.Fatal(err)
		}
		s := &script{calls}
		g := &fuelGuest{mem: fuzzMemory(seed), fuel: 4 << 20}
		for n := 0; len(s.data) > 0 && n < 64; n++ {
			fuzzOne(t, b, g, s)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(filepath.Join(top, "out/secret")); string(text) != secret {
			t.Errorf("the secret outside is %q, %v", text, err)
		}
		if bytes.Contains(g.mem, []byte(secret)) && !bytes.Contains(seed, []byte(secret)) {
			t.Error("the secret came into guest memory")
		}
	})
}

// maxAlloc is what one call may allocate, however large its numbers are.
const maxAlloc = 4 << 20

func fuzzOne(t *testing.T, b *Broker, g *fuelGuest, s *script) {
	which := int(s.byte())
	var args [10]uint64
	for i := range args {
		args[i] = s.arg()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	func() {
		defer func() {
			if r := recover(); r != nil && r != errFuel {
				panic(r)
			}
		}()
		if which < 200 {
			version := "wasi_snapshot_preview1"
			if which%2 == 1 {
				version = "wasi_unstable"
			}
			b.WASI().Invoke(context.Background(), g, version, wasiNames[which%len(wasiNames)], args[:])
			return
		}
		sandbox := hostcall.HostFuncs()
		hostcall.Invoke(context.Background(), b.Sandbox(), g, sandbox[which%len(sandbox)].Name, args[:])
	}()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > maxAlloc {
		t.Errorf("call %d %v allocated %d bytes", which, args, n)
	}
}
