package host

import (
	"context"
	"encoding/binary"
	"io"
	"testing"
	"time"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/wasi"
)

// fakeClock passes time only when it is waited on.
type fakeClock struct {
	now   time.Time
	slept time.Duration
}

func (c *fakeClock) Now() time.Time { return c.now }

func (c *fakeClock) Wait(_ context.Context, d time.Duration, ready <-chan struct{}) bool {
	select {
	case <-ready:
		return true
	default:
	}
	c.now = c.now.Add(max(d, 0))
	c.slept += max(d, 0)
	return false
}

func (u *caller) time(id uint64) uint64 {
	u.t.Helper()
	u.want("clock_time_get", u.call("clock_time_get", id, 1, outPtr), wasi.Success)
	return u.u64(outPtr)
}

func noClock() grant.Set {
	s := everything()
	s.Host.Clock = false
	return s
}

func TestUngrantedClockIsTheSameEverywhere(t *testing.T) {
	var runs [2][]uint64
	for i := range runs {
		u := newUnit(t, BrokerConfig{Grants: noClock()})
		for _, id := range []uint64{0, 1, 1, 2, 3, 0} {
			runs[i] = append(runs[i], u.time(id))
		}
	}
	a, b := runs[0], runs[1]
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("reading %d: got %d and %d, want the same in every run", i, a[i], b[i])
		}
	}
	if a[0] != epoch || a[5] != epoch {
		t.Errorf("realtime: got %d and %d, want the constant %d", a[0], a[5], uint64(epoch))
	}
	if a[2] <= a[1] {
		t.Errorf("monotonic: got %d after %d, want it to follow the work", a[2], a[1])
	}
}

func TestGrantedClock(t *testing.T) {
	c := &fakeClock{now: time.Unix(1_800_000_000, 5_999)}
	u := newUnit(t, BrokerConfig{Grants: everything(), Clock: c})
	if got := u.time(0); got != 1_800_000_000_000_005_000 {
		t.Errorf("realtime: got %d, want whole microseconds", got)
	}
	first, second := u.time(1), u.time(1)
	if second <= first {
		t.Errorf("monotonic: got %d after %d at the same instant, want more", second, first)
	}
	for id := range uint64(4) {
		u.want("resolution", u.call("clock_res_get", id, outPtr), wasi.Success)
		if want := []uint64{clockStep, clockStep, 1, 1}[id]; u.u64(outPtr) != want {
			t.Errorf("clock %d: got resolution %d, want %d", id, u.u64(outPtr), want)
		}
	}
	u.want("no such clock", u.call("clock_time_get", 4, 0, outPtr), wasi.EInval)
	u.want("no such clock", u.call("clock_res_get", 4, outPtr), wasi.EInval)
}

// A granted clock has the same steps on every host, whatever its own clock has.
func TestGrantedClockMovesInSteps(t *testing.T) {
	c := &fakeClock{now: time.Unix(1_800_000_000, 0)}
	u := newUnit(t, BrokerConfig{Grants: everything(), Clock: c})
	steps := map[uint64]bool{}
	for range 50 {
		c.now = c.now.Add(137 * time.Nanosecond)
		wall := u.time(0)
		if wall%clockStep != 0 {
			t.Errorf("realtime: got %d, want whole steps of %d", wall, clockStep)
		}
		steps[wall] = true
	}
	if len(steps) != 7 { // 0 to 6 microseconds
		t.Errorf("got %d times in 6850 nanoseconds, want 7", len(steps))
	}
}

// subscribe writes a clock subscription of preview 1.
func (u *caller) subscribe(i int, userdata uint64, kind byte, fdOrClock uint32, timeout uint64, flags uint16) {
	b := u.g.mem[2048+48*i:][:48]
	clear(b)
	binary.LittleEndian.PutUint64(b, userdata)
	b[8] = kind
	binary.LittleEndian.PutUint32(b[16:], fdOrClock)
	binary.LittleEndian.PutUint64(b[24:], timeout)
	binary.LittleEndian.PutUint16(b[40:], flags)
}

// event is one answer of poll_oneoff.
type event struct {
	userdata uint64
	errno    wasi.Errno
	kind     byte
}

func (u *caller) poll(n int) (list []event) {
	u.t.Helper()
	u.want("poll_oneoff", u.call("poll_oneoff", 2048, bufPtr, uint64(n), outPtr), wasi.Success)
	for i := range u.u32(outPtr) {
		b := u.g.mem[bufPtr+32*i:]
		list = append(list, event{binary.LittleEndian.Uint64(b), wasi.Errno(binary.LittleEndian.Uint16(b[8:])), b[10]})
	}
	return list
}

func TestSleep(t *testing.T) {
	c := &fakeClock{now: time.Unix(1_800_000_000, 0)}
	u := newUnit(t, BrokerConfig{Grants: everything(), Clock: c})
	u.subscribe(0, 7, 0, 1, uint64(time.Hour), 0)
	u.subscribe(1, 8, 0, 1, uint64(time.Minute), 0)
	if got := u.poll(2); len(got) != 1 || got[0] != (event{8, 0, 0}) {
		t.Errorf("got %v, want the shorter one", got)
	}
	if c.slept != time.Minute {
		t.Errorf("slept %v, want a minute", c.slept)
	}
	u.subscribe(0, 7, 0, 0, 1_800_000_000_000_000_000+uint64(2*time.Minute), 1)
	if u.poll(1); c.slept != 2*time.Minute {
		t.Errorf("absolute: slept %v in all, want two minutes", c.slept)
	}
	u.subscribe(0, 7, 0, 0, 5, 1)
	if got := u.poll(1); len(got) != 1 || c.slept != 2*time.Minute {
		t.Errorf("a time in the past: got %v after %v", got, c.slept)
	}
	u.subscribe(0, 7, 0, 9, 5, 0)
	if got := u.poll(1); len(got) != 1 || got[0].errno != wasi.EInval {
		t.Errorf("no such clock: got %v", got)
	}
	u.subscribe(0, 7, 9, 0, 0, 0)
	u.want("no such kind", u.call("poll_oneoff", 2048, bufPtr, 1, outPtr), wasi.EInval)
}

func TestUngrantedSleepTakesNoTime(t *testing.T) {
	c := &fakeClock{now: time.Unix(1_800_000_000, 0)}
	u := newUnit(t, BrokerConfig{Grants: noClock(), Clock: c})
	before := u.time(1)
	u.subscribe(0, 7, 0, 1, uint64(time.Hour), 0)
	if got := u.poll(1); len(got) != 1 || c.slept != 0 {
		t.Errorf("got %v and waited %v", got, c.slept)
	}
	if d := u.time(1) - before; d < uint64(time.Hour) || d > uint64(time.Hour+time.Second) {
		t.Errorf("monotonic went on by %v, want an hour and little more", time.Duration(d))
	}
	u.subscribe(0, 7, 0, 1, 1<<64-1, 0)
	for range 5 {
		u.poll(1)
	}
	if again := u.time(1); again < before {
		t.Errorf("monotonic went back to %d", again)
	}
}

func TestPollDescriptors(t *testing.T) {
	r, w := io.Pipe()
	u := newUnit(t, BrokerConfig{Grants: everything(), Stdin: r})
	u.subscribe(0, 1, 1, 0, 0, 0)                           // stdin, nothing there
	u.subscribe(1, 2, 0, 1, uint64(10*time.Millisecond), 0) // a clock
	if got := u.poll(2); len(got) != 1 || got[0] != (event{2, 0, 0}) {
		t.Errorf("nothing to read: got %v, want the clock", got)
	}
	go w.Write([]byte("x"))
	u.subscribe(1, 2, 0, 1, uint64(time.Minute), 0)
	if got := u.poll(2); len(got) != 1 || got[0] != (event{1, 0, 1}) {
		t.Errorf("something to read: got %v, want stdin", got)
	}
	if text, _ := u.read(0, 9); text != "x" {
		t.Errorf("got %q, want what was announced", text)
	}
	u.subscribe(0, 1, 2, 1, 0, 0)
	u.subscribe(1, 2, 2, 99, 0, 0)
	u.subscribe(2, 3, 2, 0, 0, 0)
	u.subscribe(3, 4, 0, 1, uint64(time.Minute), 0)
	want := []event{{1, 0, 2}, {2, wasi.EBadf, 2}, {3, wasi.EBadf, 2}}
	got := u.poll(4)
	if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %v, want %v", got, want)
	}
	w.Close()
	u.subscribe(0, 1, 1, 0, 0, 0)
	if got := u.poll(1); len(got) != 1 || got[0] != (event{1, 0, 1}) {
		t.Errorf("at the end: got %v, want stdin ready", got)
	}
}

// TestElderVersion: wasi_unstable counts whence from the middle and packs its
// records otherwise.
func TestElderVersion(t *testing.T) {
	c := &fakeClock{now: time.Unix(1_800_000_000, 0)}
	u := newUnit(t, BrokerConfig{Grants: everything(), Clock: c})
	u.v = "wasi_unstable"
	b := u.g.mem[2048:][:56]
	binary.LittleEndian.PutUint64(b, 7)
	binary.LittleEndian.PutUint32(b[24:], 1)
	binary.LittleEndian.PutUint64(b[32:], uint64(time.Minute))
	if got := u.poll(1); len(got) != 1 || got[0].userdata != 7 || c.slept != time.Minute {
		t.Errorf("got %v after %v, want a minute", got, c.slept)
	}
	u.want("stat", u.call("fd_filestat_get", 1, outPtr), wasi.Success)
	if nlink := u.u32(outPtr + 20); nlink != 1 {
		t.Errorf("nlink: got %d at its 32-bit place, want 1", nlink)
	}
	if u.b.WASI().Invoke(u.ctx, u.g, u.v, "sock_accept", []uint64{0, 0, 0}) {
		t.Error("sock_accept came with the later version")
	}
}
