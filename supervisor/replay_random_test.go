package supervisor_test

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/supervisor"
)

// Places in the acting program's memory that random actions use.
const (
	placeNames  = 4096 // 64 bytes each
	placeIovecs = 8192
	placeWords  = 12288
	placeBytes  = 16384
)

var names = []string{"/d/a", "/d/b", "a", "b", "sub", "sub/c", "../x", "key", "peer.example:80", "/d"}

// randomActions are calls that mostly make sense, in any order.
func randomActions(r *rand.Rand) (actions []byte) {
	for i, name := range names {
		actions = append(actions, put(placeNames+64*i, name)...)
	}
	var iovecs [32]byte
	for i := range 4 {
		binary.LittleEndian.PutUint32(iovecs[8*i:], uint32(placeBytes+r.IntN(64)))
		binary.LittleEndian.PutUint32(iovecs[8*i+4:], uint32(r.IntN(300)))
	}
	actions = append(actions, put(placeIovecs, string(iovecs[:]))...)
	funcs := hostFuncs()
	for range 5 + r.IntN(60) {
		switch k := r.IntN(40); {
		case k == 0:
			actions = append(actions, action(actSpin, 1+r.Uint64N(1<<(4+r.IntN(17))))...)
		case k == 1:
			actions = append(actions, action(actGrow, r.Uint64N(4))...)
		case k < 6:
			actions = append(actions, action(actCopy, uint64(placeWords+r.IntN(4096)), uint64(placeBytes+r.IntN(512)))...)
		case k == 6 && r.IntN(8) == 0:
			actions = append(actions, action([]uint64{actCrash, actStop}[r.IntN(2)], r.Uint64N(300))...)
		case k == 7 && r.IntN(8) == 0: // out of bounds
			actions = append(actions, action(actPut, 1<<31, 1)...)
		default:
			actions = append(actions, randomCall(r, funcs[r.IntN(len(funcs))].Name)...)
		}
	}
	return actions
}

// likely are arguments that get a call past its checks.
var likely = map[string]func(r *rand.Rand) []uint64{
	"fd_read":        func(r *rand.Rand) []uint64 { return []uint64{r.Uint64N(6), placeIovecs, r.Uint64N(5), word(r)} },
	"fd_write":       func(r *rand.Rand) []uint64 { return []uint64{1 + r.Uint64N(5), placeIovecs, r.Uint64N(5), word(r)} },
	"fd_readdir":     func(r *rand.Rand) []uint64 { return []uint64{3, placeBytes, r.Uint64N(400), 0, word(r)} },
	"fd_renumber":    func(r *rand.Rand) []uint64 { return []uint64{1 + r.Uint64N(5), 1 + r.Uint64N(5)} },
	"fd_close":       func(r *rand.Rand) []uint64 { return []uint64{1 + r.Uint64N(6)} },
	"args_get":       func(r *rand.Rand) []uint64 { return []uint64{word(r), placeBytes} },
	"environ_get":    func(r *rand.Rand) []uint64 { return []uint64{word(r), placeBytes} },
	"clock_time_get": func(r *rand.Rand) []uint64 { return []uint64{r.Uint64N(2), 0, word(r)} },
	"random_get":     func(r *rand.Rand) []uint64 { return []uint64{placeBytes, r.Uint64N(500)} },
	"random_u64":     func(r *rand.Rand) []uint64 { return []uint64{word(r)} },
	"path_open": func(r *rand.Rand) []uint64 {
		p, n := name(r)
		return []uint64{3, 0, p, n, r.Uint64N(4), 0x1fffffff, 0x1fffffff, 0, word(r)}
	},
	"path_filestat_get": func(r *rand.Rand) []uint64 { p, n := name(r); return []uint64{3, 0, p, n, placeBytes} },
	"path_unlink_file":  func(r *rand.Rand) []uint64 { p, n := name(r); return []uint64{3, p, n} },
	"kv_put":            func(r *rand.Rand) []uint64 { p, n := name(r); return []uint64{p, n, placeBytes, r.Uint64N(500)} },
	"kv_get":            func(r *rand.Rand) []uint64 { p, n := name(r); return []uint64{p, n, placeBytes, r.Uint64N(500)} },
	"storage_read": func(r *rand.Rand) []uint64 {
		p, n := name(r)
		return []uint64{p, n, r.Uint64N(9), placeBytes, r.Uint64N(500)}
	},
	"storage_write": func(r *rand.Rand) []uint64 {
		p, n := name(r)
		return []uint64{p, n, r.Uint64N(9), placeBytes, r.Uint64N(500)}
	},
	"egress": func(r *rand.Rand) []uint64 {
		return []uint64{placeNames + 64*8, uint64(len(names[8])), placeBytes, r.Uint64N(50), placeBytes, r.Uint64N(500)}
	},
	"log":         func(r *rand.Rand) []uint64 { return []uint64{r.Uint64N(5), placeBytes, r.Uint64N(50)} },
	"proc_exit":   func(r *rand.Rand) []uint64 { return []uint64{r.Uint64N(300)} },
	"poll_oneoff": func(r *rand.Rand) []uint64 { return []uint64{placeBytes, placeWords, 1, placeWords + 64} },
}

func word(r *rand.Rand) uint64 { return uint64(placeWords + 8*r.IntN(512)) }

func name(r *rand.Rand) (at, n uint64) {
	i := r.IntN(len(names))
	return uint64(placeNames + 64*i), uint64(len(names[i]))
}

func randomCall(r *rand.Rand, function string) []byte {
	module := []string{"wasi_snapshot_preview1", "wasi_unstable", "sandbox"}[r.IntN(2)]
	if findFunc(module, function) == ^uint64(0) {
		module = "sandbox"
	}
	if findFunc(module, function) == ^uint64(0) {
		module = "wasi_snapshot_preview1"
	}
	if function == "proc_exit" && r.IntN(4) > 0 || function == "poll_oneoff" && r.IntN(2) > 0 {
		function, module = "sched_yield", "wasi_snapshot_preview1"
	}
	f := likely[function]
	if f == nil || r.IntN(8) == 0 {
		args := make([]uint64, 9)
		for i := range args {
			args[i] = []uint64{0, 1, 3, placeBytes, placeWords, r.Uint64N(1 << 20), uint64(r.Uint32()), r.Uint64()}[r.IntN(8)]
		}
		if function == "random_get" { // all of memory is a slow way to test nothing
			args[1] %= 1 << 16
		}
		return action(findFunc(module, function), args...)
	}
	return action(findFunc(module, function), f(r)...)
}

// peer answers every connection with random bytes.
type peer struct{}

func (peer) Lookup(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

func (peer) Dial(context.Context, netip.AddrPort) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		b := make([]byte, 100)
		_, _ = crand.Read(b)
		_, _ = theirs.Write(b)
	}()
	return halfPipe{ours}, nil
}

// halfPipe takes requests as if there were always room.
type halfPipe struct{ net.Conn }

func (halfPipe) Write(p []byte) (int, error) { return len(p), nil }
func (halfPipe) CloseWrite() error           { return nil }

// secretValue is long enough not to come by chance.
const secretValue = "correct horse battery staple"

// actingRequest grants nearly everything, with budgets that some runs break.
func actingRequest(r *rand.Rand, image []byte) supervisor.Request {
	c := budgets()
	c.MemoryBytes = 8 << 16 // the program asks for more now and then
	switch r.IntN(6) {
	case 0:
		c.EnergyBudgetUJ = joulebox.Microjoules(1 + r.Uint64N(200))
	case 1:
		c.CPUTimeMS = 1
	}
	g := grant.Empty(c)
	g.Host = grant.Host{Logging: r.IntN(4) > 0, Clock: r.IntN(4) > 0, Random: r.IntN(8) > 0}
	g.KV = grant.KV{Read: true, Write: true}
	g.Network.Outbound = []string{"peer.example:80"}
	g.Storage = grant.Storage{Read: []string{"/d/**"}, Write: []string{"/d/**"}, Delete: []string{"/d/**"}}
	return request(image, func(q *supervisor.Request) {
		q.Grants = g
		q.Entrypoint = []string{"run", "an argument"}
	})
}

// dripping gives a reader's bytes in random parts, and isn't known not to block.
type dripping struct {
	r   io.Reader
	rnd *rand.Rand
}

func (d dripping) Read(p []byte) (int, error) {
	return d.r.Read(p[:min(len(p), 1+d.rnd.IntN(200))])
}

// recordRandom makes one random run.
func recordRandom(t testing.TB, h house, r *rand.Rand, image []byte) (*supervisor.Record, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("what was in the file"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdin io.Reader = bytes.NewReader(randomActions(r))
	if r.IntN(2) == 0 {
		stdin = dripping{stdin, rand.New(rand.NewPCG(r.Uint64(), 1))}
	}
	stdout := &bytes.Buffer{}
	plan, err := h.Plan(actingRequest(r, image))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	record, err := h.Run(ctx, plan, host.BrokerConfig{
		Stdin: stdin, Stdout: stdout, Stderr: &bytes.Buffer{}, Network: peer{}, Env: []string{"PLAIN=value", "TOKEN=" + secretValue},
		Mounts:  []host.Mount{{Guest: "/d", Host: dir}},
		Journal: &host.JournalConfig{Secrets: []string{"TOKEN"}, Every: 1 << r.IntN(20)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if record.NoJournal != nil {
		t.Fatalf("%v: %v %+v", record.NoJournal, record.Exit.Outcome, record.Exit)
	}
	return record, stdout
}

var replayEngine = func() func(testing.TB) *host.Engine {
	var e *host.Engine
	return func(t testing.TB) *host.Engine {
		if e == nil {
			made, err := host.NewReplayEngine(host.EngineConfig{InProcess: true})
			if err != nil {
				t.Fatal(err)
			}
			e = made
		}
		return e
	}
}()

func replayed(t testing.TB, image []byte, record *supervisor.Record, container []byte, stdout io.Writer) (*host.Replayed, error) {
	t.Helper()
	j, err := supervisor.ReadJournal(record.Bundle, container)
	if err != nil {
		return nil, err
	}
	return supervisor.Replay(t.Context(), replayEngine(t), record.Bundle, host.Replay{
		Journal: j, Module: image, Secrets: map[string]string{"TOKEN": secretValue}, Stdout: stdout,
	})
}
