package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk/disktest"
)

// small makes segments end, and doubt be settled, every few records.
var small = logConfig{segmentBytes: 3000, doubtBytes: 700, batchBytes: 4000}

const simDir = "/state/store"

// told is what a program was told, and so must be there after any crash.
type told struct {
	records []int           // acknowledged
	refused []int           // told to have failed
	begun   int             // the last record that was begun
	objects map[string]bool // put
}

func simRecord(n int) []byte { return bytes.Repeat(fmt.Appendf(nil, "<%d>", n), n*7%90) }

func simKey(n int) joulebox.ID { return joulebox.Sum(fmt.Appendf(nil, "sim key %d", n)) }

// life is one process: it opens the store and uses it until a call fails, or to
// the end if it goes on after failures.
func (a *told) life(d *disktest.Sim, records int, goOn bool) error {
	s, err := open(d, simDir, small)
	if err != nil {
		return err
	}
	defer s.Close()
	if a.begun%2 == 1 {
		s.Settle(context.Background())
	}
	for range records {
		a.begun++
		n := a.begun
		object := fmt.Sprintf("object %d", n/2) // each twice
		if _, err := s.Put(context.Background(), []byte(object)); err == nil {
			a.objects[object] = true
		} else if !goOn {
			return err
		}
		_, err := s.Append(context.Background(), simRecord(n), simKey(n), simKey(-(n % 3)))
		switch {
		case err == nil:
			a.records = append(a.records, n)
		case goOn:
			a.refused = append(a.refused, n)
		default:
			return err
		}
	}
	return nil
}

// batch is a process whose appends wait for each other and are written at once.
func (a *told) batch(d *disktest.Sim, records int) error {
	s, err := open(d, simDir, small)
	if err != nil {
		return err
	}
	defer s.Close()
	var wg sync.WaitGroup
	var mu sync.Mutex
	s.turn <- struct{}{}
	for i := range records {
		a.begun++
		n := a.begun
		wg.Go(func() {
			if _, err := s.Append(context.Background(), simRecord(n), simKey(n), simKey(-(n % 3))); err == nil {
				mu.Lock()
				defer mu.Unlock()
				a.records = append(a.records, n)
			}
		})
		for s.waiting() <= i { // in the order of their numbers
			runtime.Gosched()
		}
	}
	<-s.turn
	wg.Wait()
	return nil
}

func (l *DirLog) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue)
}

// check opens what a crash left and compares it with what was told.
func (a *told) check(d *disktest.Sim) error {
	s, err := open(d, simDir, small)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer s.Close()
	var got []int
	for r, err := range s.Records(context.Background(), 0) {
		if err != nil {
			return fmt.Errorf("records: after %v: %w", got, err)
		}
		n := a.begun
		for n > 0 && r.Keys[0] != simKey(n) {
			n--
		}
		if n == 0 || !bytes.Equal(r.Data, simRecord(n)) {
			return fmt.Errorf("record %d came back as %.60q", n, r.Data)
		}
		if len(got) > 0 && n <= got[len(got)-1] {
			return fmt.Errorf("record %d after %v", n, got)
		}
		got = append(got, n)
	}
	for _, n := range a.records {
		if !slices.Contains(got, n) {
			return fmt.Errorf("record %d was acknowledged and is gone; got %v", n, got)
		}
	}
	for _, n := range a.refused {
		if slices.Contains(got, n) {
			return fmt.Errorf("record %d was refused and is there", n)
		}
	}
	return errors.Join(a.checkViews(s, got), a.checkObjects(s))
}

// checkViews compares the ways to read a log with each other.
func (a *told) checkViews(s *Dir, got []int) error {
	i := len(got)
	for r, err := range s.Recent(context.Background()) {
		if i--; err != nil || i < 0 || r.Keys[0] != simKey(got[i]) {
			return fmt.Errorf("newest first: %d before the end: %w", i, err)
		}
	}
	if i != 0 {
		return fmt.Errorf("newest first: %d are missing", i)
	}
	for _, n := range got {
		found := 0
		for r, err := range s.Find(context.Background(), simKey(n)) {
			if err != nil || !bytes.Equal(r.Data, simRecord(n)) {
				return fmt.Errorf("find %d: %w", n, err)
			}
			found++
		}
		if found != 1 {
			return fmt.Errorf("find %d: got %d records", n, found)
		}
	}
	return nil
}

func (a *told) checkObjects(s *Dir) error {
	for object := range a.objects {
		if _, err := s.Get(context.Background(), joulebox.Sum([]byte(object))); err != nil {
			return err
		}
	}
	return nil
}

func newTold() *told { return &told{objects: map[string]bool{}} }

// scenario is three processes, one after the other.
func scenario(a *told, d *disktest.Sim) error {
	for _, n := range []int{3, 2, 9} {
		if err := a.life(d, n, false); err != nil {
			return err
		}
	}
	return nil
}

// TestStopAtEachCall stops the program at every single call that it makes, and
// takes the disk as a killed program leaves it and as a power cut does.
func TestStopAtEachCall(t *testing.T) {
	whole, a := disktest.New(), newTold()
	if err := scenario(a, whole); err != nil {
		t.Fatal(err)
	}
	calls := whole.Calls()
	if err := a.check(whole.Kill()); err != nil || calls < 150 {
		t.Fatalf("without a fault: %v after %d calls", err, calls)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= calls; n++ {
		d, a := disktest.New(), newTold()
		d.Inject(disktest.PowerOff(n))
		if err := scenario(a, d); err == nil && n < calls {
			// Only a call whose failure doesn't matter, such as making an index, may be ignored.
			t.Logf("stopping at call %d went unnoticed", n)
		}
		if err := a.check(d.Kill()); err != nil {
			t.Fatalf("killed at call %d: %v", n, err)
		}
		for cut := range 12 {
			if err := a.check(d.Cut(random)); err != nil {
				t.Fatalf("power cut %d at call %d: %v", cut, n, err)
			}
		}
	}
}

// TestCrashUponCrash goes on after each crash on what it left.
func TestCrashUponCrash(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for seed := range uint64(rounds) {
		random := rand.New(rand.NewPCG(seed, 7))
		d, a := disktest.New(), newTold()
		for crash := range 6 {
			d.Inject(someFault(random))
			if random.IntN(3) == 0 {
				_ = a.batch(d, 1+random.IntN(6))
			} else {
				_ = a.life(d, 1+random.IntN(8), false)
			}
			if random.IntN(2) == 0 {
				d = d.Kill()
			} else {
				d = d.Cut(random)
			}
			if err := a.check(d); err != nil {
				t.Fatalf("seed %d, crash %d: %v", seed, crash, err)
			}
		}
	}
}

// someFault stops the program anywhere, or at one of its first syncs: what the
// next one then builds upon may not be on the disk.
func someFault(random *rand.Rand) disktest.Fault {
	switch random.IntN(3) {
	case 0:
		return disktest.PowerOff(1 + random.IntN(200))
	case 1:
		return disktest.PowerOffAt("syncdir", 1+random.IntN(12))
	}
	return disktest.PowerOffAt("sync", 1+random.IntN(6))
}

// TestOneFailure has each call fail once with each error, in a program that goes
// on: what was refused must not be there, what was acknowledged must.
func TestOneFailure(t *testing.T) {
	for _, why := range []error{syscall.EIO, syscall.ENOSPC} {
		whole := disktest.New()
		if err := newTold().life(whole, 12, true); err != nil {
			t.Fatal(err)
		}
		refused := 0
		random := rand.New(rand.NewPCG(3, 4))
		for n := 1; n <= whole.Calls(); n++ {
			d, a := disktest.New(), newTold()
			d.Inject(disktest.Once(n, why))
			err := a.life(d, 12, true)
			d.Inject(nil)
			if err == nil && len(a.records)+len(a.refused) != 12 {
				t.Fatalf("%v at call %d: %d records of 12 have an answer", why, n, len(a.records)+len(a.refused))
			}
			refused += len(a.refused)
			for _, disk := range []*disktest.Sim{d, d.Kill(), d.Cut(random)} {
				if err := a.check(disk); err != nil {
					t.Fatalf("%v at call %d: %v", why, n, err)
				}
			}
		}
		if refused == 0 {
			t.Fatal("no append failed: the test proves nothing")
		}
	}
}

// TestDiskFull checks the type of the error, and that it passes.
func TestDiskFull(t *testing.T) {
	d := disktest.New()
	s, err := open(d, simDir, small)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Append(t.Context(), simRecord(1), simKey(1)); err != nil {
		t.Fatal(err)
	}
	full := false
	d.Inject(func(c disktest.Call) error {
		if full && (c.Op == "write" || c.Op == "sync") {
			return syscall.ENOSPC
		}
		return nil
	})
	for range 3 {
		full = true
		var typed *FullError
		if _, err := s.Append(t.Context(), simRecord(2), simKey(2)); !errors.As(err, &typed) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("append: got %v, want a *FullError", err)
		}
		if _, err := s.Put(t.Context(), []byte("object")); !errors.As(err, &typed) {
			t.Fatalf("put: got %v, want a *FullError", err)
		}
		full = false
		if s.broken != nil {
			break // a sync that fails while taking back isn't to be trusted
		}
	}
	if names, err := d.List(simDir + "/objects/tmp"); err != nil || len(names) > 0 {
		t.Fatalf("got %v, %v, want no unfinished file", names, err)
	}
	s.Close()
	a := newTold()
	a.begun, a.records, a.refused = 2, []int{1}, []int{2}
	if err := a.check(d); err != nil {
		t.Fatal(err)
	}
}
