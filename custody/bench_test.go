package custody

import (
	"bytes"
	"crypto"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/joulebox/joulebox/internal/disk"
)

func BenchmarkNext(b *testing.B) {
	state(b)
	k, err := New("file:")
	opened(b, k, err)
	for b.Loop() {
		next(b, k)
	}
}

// BenchmarkOneShot is what one command pays: open the key, reserve one number,
// sign, close. It's timed turn by turn with a bare write and sync.
func BenchmarkOneShot(b *testing.B) {
	state(b)
	k, err := New("file:")
	opened(b, k, err).Close()
	f, err := disk.OS.Open(filepath.Join(b.TempDir(), "bare"), disk.CreateNew)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	slot := bytes.Repeat([]byte{7}, slotBytes)
	var ours, theirs []time.Duration
	for b.Loop() {
		begin := time.Now()
		k, err := Open("file:")
		if err != nil {
			b.Fatal(err)
		}
		next(b, k)
		if _, err := k.Sign(nil, slot, crypto.Hash(0)); err != nil {
			b.Fatal(err)
		}
		k.Close()
		middle := time.Now()
		if _, err := f.WriteAt(slot, 0); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		ours, theirs = append(ours, middle.Sub(begin)), append(theirs, time.Since(middle))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	b.ReportMetric(float64(ours[len(ours)/2].Nanoseconds()), "ns/oneshot")
	b.ReportMetric(float64(theirs[len(theirs)/2].Nanoseconds()), "ns/bare")
}

func BenchmarkOpen(b *testing.B) {
	state(b)
	k, err := New("file:")
	opened(b, k, err).Close()
	for b.Loop() {
		k, err := Open("file:")
		if err != nil {
			b.Fatal(err)
		}
		k.Close()
	}
}

func TestNothingLeaks(t *testing.T) {
	state(t)
	use := func() {
		k, _, err := Ensure("file:", false)
		opened(t, k, err)
		next(t, k)
		must(k.Info())(t)
		must(RetiredKeys("file:"))(t)
		k.Close()
		if _, err := Open("file:absent"); err == nil {
			t.Fatal("a key that isn't there was opened")
		}
		if _, err := New("file:"); err == nil {
			t.Fatal("a key was overwritten")
		}
	}
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc/self/fd to count by")
		}
		return len(entries)
	}
	use()
	files, routines := count(), runtime.NumGoroutine()
	for range 100 {
		use()
	}
	if f, r := count(), runtime.NumGoroutine(); f > files || r > routines {
		t.Fatalf("got %d files and %d goroutines, want %d and %d", f, r, files, routines)
	}
}
