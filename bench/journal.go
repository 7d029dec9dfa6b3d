package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/custody"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/store"
	"github.com/joulebox/joulebox/supervisor"
)

// journal times whole attested runs with their journal and without: of a unit
// that does little but call its host, of one that reads much, and of one that
// computes. Then it times the rerun against the run.
func journal(n int) error {
	dir, err := os.MkdirTemp(".", ".bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	j, err := newJournalBench(dir)
	if err != nil {
		return err
	}
	defer j.close()
	header("Attested run, recorded as a journal", "with it", "without")
	for _, u := range journalUnits() {
		if err := j.compare(n, u); err != nil {
			return err
		}
	}
	header("Rerun from the journal", "replay", "recorded run")
	for _, u := range journalUnits() {
		if err := j.rerun(n, u); err != nil {
			return err
		}
	}
	return nil
}

// journalUnit is one program of the comparison.
type journalUnit struct {
	name  string
	image []byte
	stdin []byte
}

func journalUnits() []journalUnit {
	spin := looping(2_000_000_000/40, nil)
	return []journalUnit{
		{"100,000 clock calls", looping(100_000, clockCall), nil},
		{"16 MiB of stdin, 4 KiB a call", looping(4_096, readCall), make([]byte, 16<<20)},
		{"50,000,000 loops", spin, nil},
	}
}

// What a loop of looping does: clock_time_get(1, 0, 64), or fd_read(0, 32, 1, 64).
var (
	clockCall = []byte{0x41, 1, 0x42, 0, 0x41, 0xc0, 0, 0x10, 0, 0x1a}
	readCall  = []byte{0x41, 0, 0x41, 32, 0x41, 1, 0x41, 0xc0, 0, 0x10, 1, 0x1a}
)

// looping is a module whose run does the body n times, by hand. Its memory holds
// an iovec at 32, of 4096 bytes at 128.
func looping(n int, body []byte) []byte {
	section := func(id byte, parts ...[]byte) []byte {
		content := bytes.Join(parts, nil)
		return append(binary.AppendUvarint([]byte{id}, uint64(len(content))), content...)
	}
	name := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	wasi := name("wasi_snapshot_preview1")
	count := []byte{0x41}
	for v := n; ; v >>= 7 { // signed LEB128
		if v < 64 {
			count = append(count, byte(v))
			break
		}
		count = append(count, byte(v&0x7f|0x80))
	}
	code := bytes.Join([][]byte{{1, 1, 0x7f}, count, {0x21, 0, 0x03, 0x40}, body, {0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x41, 0, 0x0b}}, nil)
	return bytes.Join([][]byte{[]byte("\x00asm\x01\x00\x00\x00"),
		section(1, []byte{3, 0x60, 3, 0x7f, 0x7e, 0x7f, 1, 0x7f, 0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f, 0x60, 0, 1, 0x7f}),
		section(2, []byte{2}, wasi, name("clock_time_get"), []byte{0, 0}, wasi, name("fd_read"), []byte{0, 1}),
		section(3, []byte{1, 2}),
		section(5, []byte{1, 0, 1}),
		section(7, []byte{1}, name("run"), []byte{0, 2}),
		section(10, []byte{1}, binary.AppendUvarint(nil, uint64(len(code))), code),
		section(11, []byte{1, 0, 0x41, 32, 0x0b, 8, 128, 0, 0, 0, 0, 16, 0, 0})}, nil)
}

// journalBench is a supervisor over a store on disk, and an engine to replay on.
type journalBench struct {
	supervisor *supervisor.Supervisor
	replays    *host.Engine
	closers    []func() error
}

func newJournalBench(dir string) (j *journalBench, err error) {
	j = &journalBench{}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	key, _, err := custody.Ensure("file:"+filepath.Join(dir, "key"), false)
	if err != nil {
		return nil, err
	}
	disk, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		return nil, err
	}
	engine, err := host.NewEngine(host.EngineConfig{})
	if err != nil {
		return nil, err
	}
	if j.replays, err = host.NewReplayEngine(host.EngineConfig{}); err != nil {
		return nil, err
	}
	j.closers = []func() error{j.replays.Close, engine.Close, disk.Close}
	table := meter.DefaultTable()
	j.supervisor, err = supervisor.New(supervisor.Config{
		Signer: key, Sequence: key.Next, Objects: disk, Log: disk,
		Executors: []host.Executor{host.S2(engine)},
		Meters:    supervisor.HostMeters(table).Find, Table: table,
	})
	return j, err
}

func (j *journalBench) close() {
	for _, c := range j.closers {
		_ = c()
	}
}

func (j *journalBench) run(u journalUnit, recorded bool) (*supervisor.Record, error) {
	g := grant.Empty(grant.Compute{Devices: []joulebox.DeviceClass{joulebox.CPU}, EnergyBudgetUJ: 1 << 40, CPUTimeMS: 60_000, MemoryBytes: 1 << 20})
	g.Host.Clock = true
	p, err := j.supervisor.Plan(supervisor.Request{Image: u.image, Entrypoint: []string{"run"}, Grants: g})
	if err != nil {
		return nil, err
	}
	handed := host.BrokerConfig{Stdin: bytes.NewReader(u.stdin)}
	if recorded {
		handed.Journal = &host.JournalConfig{}
	}
	r, err := j.supervisor.Run(context.Background(), p, handed)
	if err == nil && (r.Exit.Outcome != joulebox.Completed || recorded && r.Journal == nil) {
		err = fmt.Errorf("%s: got %s and a journal of %d bytes, %v", u.name, r.Exit.Outcome, len(r.Journal), r.NoJournal)
	}
	return r, err
}

func (j *journalBench) compare(n int, u journalUnit) error {
	size := 0
	p, err := measure(u.name, n,
		clock(func() error {
			r, err := j.run(u, true)
			if err == nil {
				size = len(r.Journal)
			}
			return err
		}),
		clock(func() error { _, err := j.run(u, false); return err }))
	if err == nil {
		p.print()
		fmt.Printf("  its journal has %d bytes\n", size)
	}
	return err
}

func (j *journalBench) rerun(n int, u journalUnit) error {
	r, err := j.run(u, true)
	if err != nil {
		return err
	}
	p, err := measure(u.name, n,
		clock(func() error {
			parsed, err := supervisor.ReadJournal(r.Bundle, r.Journal)
			if err != nil {
				return err
			}
			_, err = supervisor.Replay(context.Background(), j.replays, r.Bundle, host.Replay{Journal: parsed, Module: u.image})
			return err
		}),
		clock(func() error { _, err := j.run(u, true); return err }))
	if err == nil {
		p.print()
	}
	return err
}
