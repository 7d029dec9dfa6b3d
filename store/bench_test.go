package store

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// BenchmarkAppend times an append against a bare write and sync of as many bytes,
// turn by turn, so that both see the same disk. It reports medians.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			l, err := OpenLog(filepath.Join(b.TempDir(), "log"))
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			data := bytes.Repeat([]byte{7}, size)
			keys := []joulebox.ID{simKey(1), simKey(2), simKey(3)}
			bare := newBare(b, int(frameLength(data, keys)))
			var ours, theirs []time.Duration
			append1 := func(b *testing.B) {
				if _, err := l.Append(b.Context(), data, keys...); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() { // each goes first every other time
				if len(ours)%2 == 0 {
					ours = append(ours, timed(b, append1))
					theirs = append(theirs, timed(b, bare))
				} else {
					theirs = append(theirs, timed(b, bare))
					ours = append(ours, timed(b, append1))
				}
			}
			reportRatio(b, ours, theirs)
		})
	}
}

func timed(b *testing.B, f func(*testing.B)) time.Duration {
	begin := time.Now()
	f(b)
	return time.Since(begin)
}

// BenchmarkAppendItself is what an append costs without its sync.
func BenchmarkAppendItself(b *testing.B) {
	l, err := openLog(unsynced{disk.OS}, filepath.Join(b.TempDir(), "log"), defaultLog)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	data := bytes.Repeat([]byte{7}, 1<<10)
	keys := []joulebox.ID{simKey(1), simKey(2), simKey(3)}
	for b.Loop() {
		if _, err := l.Append(b.Context(), data, keys...); err != nil {
			b.Fatal(err)
		}
	}
}

// newBare appends to a file of its own.
func newBare(b *testing.B, size int) func(*testing.B) {
	f, err := disk.OS.Open(filepath.Join(b.TempDir(), "bare"), disk.CreateNew)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	at, data := int64(0), bytes.Repeat([]byte{7}, size)
	return func(b *testing.B) {
		if _, err := f.WriteAt(data, at); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		at += int64(size)
	}
}

func reportRatio(b *testing.B, ours, theirs []time.Duration) {
	slices.Sort(ours)
	slices.Sort(theirs)
	mine, bare := ours[len(ours)/2], theirs[len(theirs)/2]
	b.ReportMetric(float64(mine.Nanoseconds()), "ns/append")
	b.ReportMetric(float64(bare.Nanoseconds()), "ns/bare")
	b.ReportMetric(float64(mine)/float64(bare), "ratio")
}

// BenchmarkAppendTogether is how many records a second many appenders get.
func BenchmarkAppendTogether(b *testing.B) {
	l, err := OpenLog(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	data := bytes.Repeat([]byte{7}, 1<<10)
	b.SetParallelism(16)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := l.Append(b.Context(), data, simKey(1)); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkPut(b *testing.B) {
	o, err := OpenObjects(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	var n atomic.Int64
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			if _, err := o.Put(b.Context(), fmt.Appendf(nil, "%1000d", n.Add(1))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("known", func(b *testing.B) {
		for b.Loop() {
			if _, err := o.Put(b.Context(), fmt.Appendf(nil, "%1000d", 1)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("there, 1 MiB", func(b *testing.B) {
		data := make([]byte, 1<<20)
		for b.Loop() {
			clear(o.known)
			if _, err := o.Put(b.Context(), data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOpen opens a store with many records, as each command does.
func BenchmarkOpen(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "store")
	records := fillStore(b, dir, 20000)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			s, err := Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
	b.Run("open and find", func(b *testing.B) {
		n := 0
		for b.Loop() {
			s, err := Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			n = (n + 7919) % records
			for _, err := range s.Find(b.Context(), simKey(n)) {
				if err != nil {
					b.Fatal(err)
				}
			}
			s.Close()
		}
	})
	b.Run("find", func(b *testing.B) {
		s, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		n := 0
		for b.Loop() {
			n = (n + 7919) % records
			for _, err := range s.Find(b.Context(), simKey(n)) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("read all", func(b *testing.B) {
		s, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		for b.Loop() {
			for _, err := range s.Records(b.Context(), 0) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*records), "ns/record")
	})
}

// fillStore appends without syncs: the disk isn't what is timed.
func fillStore(b *testing.B, dir string, records int) int {
	s, err := open(unsynced{disk.OS}, dir, defaultLog)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	data := bytes.Repeat([]byte{7}, 3<<10)
	for n := range records {
		if _, err := s.Append(b.Context(), data, simKey(n), simKey(1_000_000+n), simKey(-n%50-1)); err != nil {
			b.Fatal(err)
		}
	}
	return records
}

type unsynced struct{ disk.FS }

type unsyncedFile struct{ disk.File }

func (unsynced) SyncDir(string) error { return nil }
func (unsyncedFile) Sync() error      { return nil }

func (u unsynced) Open(name string, flag int) (disk.File, error) {
	f, err := u.FS.Open(name, flag)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}
