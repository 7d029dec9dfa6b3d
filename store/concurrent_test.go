package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
	"github.com/joulebox/joulebox/internal/disk/disktest"
)

// TestSeveralWriters opens one log several times, as processes do, with readers
// of all kinds beside.
func TestSeveralWriters(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	conf := logConfig{segmentBytes: 8 << 10, doubtBytes: 2 << 10, batchBytes: 4 << 10}
	const writers, each = 3, 60
	var wg sync.WaitGroup
	var done atomic.Bool
	for w := range writers {
		l := reopen(t, dir, conf)
		wg.Go(func() {
			for i := range each {
				n := 1 + w*each + i
				if _, err := l.Append(t.Context(), simRecord(n), simKey(n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var readers sync.WaitGroup
	reader := func(read func(l *DirLog) error) {
		l := reopen(t, dir, conf)
		readers.Go(func() {
			for !done.Load() && !t.Failed() {
				if err := read(l); err != nil {
					t.Error(err)
				}
			}
		})
	}
	reader(func(l *DirLog) error {
		_, err := numbersIn(t, l)
		return err
	})
	reader(func(l *DirLog) (failed error) {
		last := Offset(1 << 60)
		for r, err := range l.Recent(t.Context()) {
			if failed = err; err == nil && r.Offset >= last {
				failed = fmt.Errorf("offset %d after %d", r.Offset, last)
			}
			last = r.Offset
		}
		return failed
	})
	reader(func(l *DirLog) (failed error) {
		for _, err := range l.Find(t.Context(), simKey(each/2)) {
			failed = err
		}
		return failed
	})
	wg.Wait()
	done.Store(true)
	readers.Wait()
	got, err := numbersIn(t, reopen(t, dir, conf))
	seen := map[int]bool{}
	for _, n := range got {
		seen[n] = true
	}
	if err != nil || len(got) != writers*each || len(seen) != len(got) {
		t.Fatalf("got %d records, %d of them different, %v, want %d", len(got), len(seen), err, writers*each)
	}
}

// TestAppendsShareASync counts what a burst of appends costs.
func TestAppendsShareASync(t *testing.T) {
	d := disktest.New()
	l, err := openLog(d, "/log", defaultLog)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Append(t.Context(), nil, simKey(0)); err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	d.Inject(func(c disktest.Call) error {
		calls[c.Op]++
		return nil
	})
	const burst = 50
	var wg sync.WaitGroup
	l.turn <- struct{}{}
	for i := range burst {
		wg.Go(func() {
			if _, err := l.Append(t.Context(), simRecord(i), simKey(1+i)); err != nil {
				t.Error(err)
			}
		})
	}
	for l.waiting() < burst {
		runtime.Gosched()
	}
	<-l.turn
	wg.Wait()
	if calls["write"] != 1 || calls["sync"] != 1 {
		t.Fatalf("%d appends at once made %d writes and %d syncs, want one of each", burst, calls["write"], calls["sync"])
	}
}

// TestCancelledWhileWaiting has another process hold the log.
func TestCancelledWhileWaiting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := reopen(t, dir, defaultLog)
	holder, err := disk.OS.Open(filepath.Join(dir, "lock"), os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if err := holder.Lock(context.Background(), disk.Exclusive); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(10+i)*time.Millisecond)
			defer cancel()
			if at, err := l.Append(ctx, nil, simKey(i)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %d, %v, want the deadline", at, err)
			}
		})
	}
	patient := make(chan error)
	go func() {
		_, err := l.Append(context.Background(), simRecord(9), simKey(9))
		patient <- err
	}()
	wg.Wait()
	holder.Unlock()
	if err := <-patient; err != nil {
		t.Fatalf("the one who waited: %v", err)
	}
	if got, err := numbersIn(t, l); err != nil || len(got) != 1 || got[0] != 9 {
		t.Fatalf("got %v, %v, want the one that waited", got, err)
	}
}

// openFiles counts this process's descriptors.
func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc/self/fd to count by")
	}
	return len(entries)
}

func TestNothingLeaks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	use := func(n int) {
		s, err := open(disk.OS, dir, small)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := Keep(t.Context(), s, [][]byte{simRecord(n)}, simRecord(n), simKey(n)); err != nil {
			t.Fatal(err)
		}
		for range s.Find(t.Context(), simKey(n)) {
			break
		}
		for range s.Records(t.Context(), 0) {
			break
		}
		for range s.Recent(t.Context()) {
			break
		}
		if _, err := s.Resolve(t.Context(), "AAAA"); !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), joulebox.Sum([]byte("absent"))); !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
	}
	use(1)
	files, routines := openFiles(t), runtime.NumGoroutine()
	for n := 2; n < 60; n++ {
		use(n)
	}
	if f, r := openFiles(t), runtime.NumGoroutine(); f > files || r > routines {
		t.Fatalf("got %d files and %d goroutines, want %d and %d", f, r, files, routines)
	}
	for _, pattern := range []string{"/objects/tmp/*", "/log/*.tmp", "/log/*.idx.*", "/*.new"} {
		if left, _ := filepath.Glob(dir + pattern); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// What another process may have left in doubt is synced early, so that the append
// after it has one sync to wait for.
func TestSettledEarly(t *testing.T) {
	d := disktest.New()
	for n := range 3 {
		l, err := openLog(d, "/log", defaultLog)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			l.Settle(t.Context())
		}
		syncs := 0
		d.Inject(func(c disktest.Call) error {
			if c.Op == "sync" {
				syncs++
			}
			return nil
		})
		if _, err := l.Append(t.Context(), simRecord(n), simKey(n)); err != nil {
			t.Fatal(err)
		}
		d.Inject(nil)
		if n > 0 && syncs != 1 {
			t.Errorf("record %d waited for %d syncs, want 1", n, syncs)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l.Settle(t.Context()) // of a closed log is nothing
	}
}
