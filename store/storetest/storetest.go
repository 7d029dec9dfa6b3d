// Package storetest is the suite that every store passes: ours, and anyone's
// who puts another one in its place.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/store"
)

// Opener opens a store that is empty at the first call of a test. If stores of
// this kind outlive a Close, later calls of the same test open what the first
// one opened, and reopens is true.
type Opener func(t *testing.T) (s store.Store, reopens bool)

// Run runs the whole suite. opener is called for a fresh place in each test.
func Run(t *testing.T, opener func(t *testing.T) Opener) {
	tests := map[string]func(*testing.T, *place){
		"object round trip":       objectRoundTrip,
		"absent object":           absentObject,
		"caller keeps its bytes":  callerKeepsBytes,
		"empty log":               emptyLog,
		"append and read":         appendAndRead,
		"read from an offset":     readFrom,
		"offsets that are none":   badOffsets,
		"newest first":            newestFirst,
		"stop early":              stopEarly,
		"append while reading":    appendWhileReading,
		"find by key":             findByKey,
		"resolve a prefix":        resolvePrefix,
		"bounds":                  bounds,
		"concurrent appends":      concurrentAppends,
		"concurrent puts":         concurrentPuts,
		"cancelled":               cancelled,
		"closed":                  closed,
		"all is there afterwards": afterReopening,
		"keep":                    keep,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting for a disk
			test(t, &place{open: opener(t)})
		})
	}
}

// place is where one test keeps its store.
type place struct {
	open    Opener
	reopens bool
}

func (p *place) store(t *testing.T) store.Store {
	t.Helper()
	s, reopens := p.open(t)
	p.reopens = reopens
	t.Cleanup(func() { s.Close() })
	return s
}

func key(i int) joulebox.ID { return joulebox.Sum(fmt.Appendf(nil, "key %d", i)) }

// payload has a size that jumps about, zero among them.
func payload(i int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "record %d.", i), i*i%37*i)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fill(t *testing.T, s store.Store, from, to int) (offsets []store.Offset) {
	t.Helper()
	for i := from; i < to; i++ {
		at, err := s.Append(t.Context(), payload(i), key(i), key(1000+i%3))
		must(t, err)
		offsets = append(offsets, at)
	}
	return offsets
}

func collect(t *testing.T, records func(func(store.Record, error) bool)) (all []store.Record) {
	t.Helper()
	for r, err := range records {
		must(t, err)
		all = append(all, r)
	}
	return all
}

// expect checks that records are those of payload from..to, in either order.
func expect(t *testing.T, got []store.Record, want ...int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d records, want %d", len(got), len(want))
	}
	for i, n := range want {
		if !bytes.Equal(got[i].Data, payload(n)) {
			t.Fatalf("record %d: got %.40q, want %.40q", i, got[i].Data, payload(n))
		}
		if keys := []joulebox.ID{key(n), key(1000 + n%3)}; !slices.Equal(got[i].Keys, keys) {
			t.Fatalf("record %d: got keys %v, want %v", i, got[i].Keys, keys)
		}
	}
}

func count(from, to int) (all []int) {
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}

func objectRoundTrip(t *testing.T, p *place) {
	s := p.store(t)
	for _, size := range []int{0, 1, 4095, 4096, 4097, 1 << 20} {
		data := bytes.Repeat([]byte{byte(size), 7}, size)[:size]
		for range 2 { // the second put finds it there
			id, err := s.Put(t.Context(), data)
			must(t, err)
			if id != joulebox.Sum(data) {
				t.Fatalf("got %v, want the content address", id)
			}
		}
		got, err := s.Get(t.Context(), joulebox.Sum(data))
		must(t, err)
		if !bytes.Equal(got, data) {
			t.Fatalf("%d bytes came back as %d other ones", size, len(got))
		}
		if has, err := s.Has(t.Context(), joulebox.Sum(data)); err != nil || !has {
			t.Fatalf("has: got %v, %v, want true", has, err)
		}
	}
}

func absentObject(t *testing.T, p *place) {
	s := p.store(t)
	if _, err := s.Get(t.Context(), key(1)); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("get: got %v, want ErrNotFound", err)
	}
	if has, err := s.Has(t.Context(), key(1)); err != nil || has {
		t.Fatalf("has: got %v, %v, want false", has, err)
	}
}

func callerKeepsBytes(t *testing.T, p *place) {
	s := p.store(t)
	data := []byte("mine")
	id, err := s.Put(t.Context(), data)
	must(t, err)
	_, err = s.Append(t.Context(), data, key(1))
	must(t, err)
	data[0] = 'X'
	got, err := s.Get(t.Context(), id)
	must(t, err)
	recs := collect(t, s.Records(t.Context(), 0))
	if string(got) != "mine" || string(recs[0].Data) != "mine" {
		t.Fatalf("got %q and %q: the store kept the caller's array", got, recs[0].Data)
	}
	got[0], recs[0].Data[0] = 'X', 'X'
	got, err = s.Get(t.Context(), id)
	must(t, err)
	if again := collect(t, s.Records(t.Context(), 0)); string(got) != "mine" || string(again[0].Data) != "mine" {
		t.Fatal("a reader can change what is kept")
	}
}

func emptyLog(t *testing.T, p *place) {
	s := p.store(t)
	expect(t, collect(t, s.Records(t.Context(), 0)))
	expect(t, collect(t, s.Recent(t.Context())))
	expect(t, collect(t, s.Find(t.Context(), key(1))))
}

func appendAndRead(t *testing.T, p *place) {
	s := p.store(t)
	offsets := fill(t, s, 0, 50)
	got := collect(t, s.Records(t.Context(), 0))
	expect(t, got, count(0, 50)...)
	for i, r := range got {
		if r.Offset != offsets[i] || r.Offset <= 0 {
			t.Fatalf("record %d: got offset %d, want %d", i, r.Offset, offsets[i])
		}
		if i > 0 && offsets[i] <= offsets[i-1] {
			t.Fatalf("offsets don't rise: %d after %d", offsets[i], offsets[i-1])
		}
	}
}

func readFrom(t *testing.T, p *place) {
	s := p.store(t)
	offsets := fill(t, s, 0, 30)
	var next store.Offset
	for i, at := range offsets {
		got := collect(t, s.Records(t.Context(), at))
		expect(t, got, count(i, 30)...)
		next = got[0].Next
		expect(t, collect(t, s.Records(t.Context(), next)), count(i+1, 30)...)
	}
	fill(t, s, 30, 33)
	expect(t, collect(t, s.Records(t.Context(), next)), count(30, 33)...)
}

func badOffsets(t *testing.T, p *place) {
	s := p.store(t)
	offsets := fill(t, s, 1, 4)
	last := collect(t, s.Records(t.Context(), offsets[2]))[0]
	for _, at := range []store.Offset{-1, offsets[0] + 1, last.Next + 1, last.Next + 1<<40} {
		for r, err := range s.Records(t.Context(), at) {
			var corrupt *store.CorruptError
			if !errors.As(err, &corrupt) {
				t.Fatalf("offset %d: got %v, %v, want a *CorruptError", at, r, err)
			}
		}
	}
}

func newestFirst(t *testing.T, p *place) {
	s := p.store(t)
	fill(t, s, 0, 50)
	want := count(0, 50)
	slices.Reverse(want)
	expect(t, collect(t, s.Recent(t.Context())), want...)
}

func stopEarly(t *testing.T, p *place) {
	s := p.store(t)
	fill(t, s, 0, 20)
	for name, records := range map[string]func(func(store.Record, error) bool){
		"records": s.Records(t.Context(), 0), "recent": s.Recent(t.Context()), "find": s.Find(t.Context(), key(1001)),
	} {
		n := 0
		for range records {
			if n++; n == 2 {
				break
			}
		}
		if n != 2 {
			t.Fatalf("%s: got %d records before the break, want 2", name, n)
		}
	}
}

func appendWhileReading(t *testing.T, p *place) {
	s := p.store(t)
	fill(t, s, 0, 3)
	n := 0
	for r, err := range s.Records(t.Context(), 0) {
		must(t, err)
		expect(t, []store.Record{r}, n)
		if n++; n < 10 {
			fill(t, s, n+2, n+3)
		}
	}
	if n != 12 {
		t.Fatalf("got %d records, want the 3 and the 9 that were added meanwhile", n)
	}
}

func findByKey(t *testing.T, p *place) {
	s := p.store(t)
	fill(t, s, 0, 60)
	expect(t, collect(t, s.Find(t.Context(), key(17))), 17)
	expect(t, collect(t, s.Find(t.Context(), key(999))))
	var third []int
	for i := 1; i < 60; i += 3 {
		third = append(third, i)
	}
	expect(t, collect(t, s.Find(t.Context(), key(1001))), third...)
	fill(t, s, 60, 62)
	expect(t, collect(t, s.Find(t.Context(), key(61))), 61)
	expect(t, collect(t, s.Find(t.Context(), key(1001))), append(third, 61)...)
}

func resolvePrefix(t *testing.T, p *place) {
	s := p.store(t)
	fill(t, s, 0, 300)
	for _, n := range []int{0, 150, 299, 1002} {
		id := key(n)
		for _, prefix := range []string{id.String(), id.String()[3:], id.String()[:20], id.String()[3:17]} {
			got, err := s.Resolve(t.Context(), prefix)
			if err != nil || got != id {
				t.Fatalf("%q: got %v, %v, want %v", prefix, got, err, id)
			}
		}
	}
	var ambiguous *store.AmbiguousError
	one := key(0).String()[:4] // of 303 keys some share one of 64 characters
	if _, err := s.Resolve(t.Context(), one); !errors.As(err, &ambiguous) || len(ambiguous.Matches) < 2 {
		t.Fatalf("%q: got %v, want an *AmbiguousError with the matches", one, err)
	}
	if _, err := s.Resolve(t.Context(), key(5000).String()); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("got %v, want ErrNotFound", err)
	}
	for _, bad := range []string{"", "b3:", "b3:=", "b4:AAAA", key(0).String() + "A", "b3:ab/c"} {
		if _, err := s.Resolve(t.Context(), bad); err == nil || errors.Is(err, store.ErrNotFound) {
			t.Fatalf("%q: got %v, want it refused", bad, err)
		}
	}
}

func bounds(t *testing.T, p *place) {
	s := p.store(t)
	if _, err := s.Append(t.Context(), nil, joulebox.ID{}); err == nil {
		t.Fatal("a zero key was taken")
	}
	var keys []joulebox.ID
	for i := range store.MaxKeys + 1 {
		keys = append(keys, key(i))
	}
	if _, err := s.Append(t.Context(), nil, keys...); err == nil {
		t.Fatalf("%d keys were taken", len(keys))
	}
	if _, err := s.Append(t.Context(), make([]byte, store.MaxRecordBytes+1)); err == nil {
		t.Fatal("a record beyond the bound was taken")
	}
	_, err := s.Append(t.Context(), []byte("x"), append(keys[:store.MaxKeys], keys[0])...)
	must(t, err)
	got := collect(t, s.Records(t.Context(), 0))
	if len(got) != 1 || !slices.Equal(got[0].Keys, keys[:store.MaxKeys]) {
		t.Fatalf("got %d records, want one with each key once", len(got))
	}
}

func concurrentAppends(t *testing.T, p *place) {
	s := p.store(t)
	const workers, each = 8, 25
	offsets := make(chan store.Offset, workers*each)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				n := w*each + i
				at, err := s.Append(t.Context(), payload(n), key(n), key(1000+n%3))
				if err != nil {
					t.Error(err)
					return
				}
				offsets <- at
			}
		})
	}
	wg.Wait()
	close(offsets)
	seen := map[store.Offset]bool{}
	for at := range offsets {
		seen[at] = true
	}
	got := collect(t, s.Records(t.Context(), 0))
	if len(seen) != workers*each || len(got) != workers*each {
		t.Fatalf("got %d offsets and %d records, want %d of each", len(seen), len(got), workers*each)
	}
	for _, r := range got {
		if !seen[r.Offset] {
			t.Fatalf("nobody was told of offset %d", r.Offset)
		}
	}
	for n := range workers * each {
		expect(t, collect(t, s.Find(t.Context(), key(n))), n)
	}
}

func concurrentPuts(t *testing.T, p *place) {
	s := p.store(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 20 { // all of them the same ones
				id, err := s.Put(t.Context(), payload(i))
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := s.Get(t.Context(), id); err != nil || !bytes.Equal(got, payload(i)) {
					t.Errorf("object %d: got %d bytes, %v", i, len(got), err)
				}
			}
		})
	}
	wg.Wait()
}

func cancelled(t *testing.T, p *place) {
	s := p.store(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Append(ctx, []byte("x"), key(1)); !errors.Is(err, context.Canceled) {
		t.Fatalf("append: got %v, want it cancelled", err)
	}
	if _, err := s.Put(ctx, []byte("x")); !errors.Is(err, context.Canceled) {
		t.Fatalf("put: got %v, want it cancelled", err)
	}
	if n := len(collect(t, s.Records(t.Context(), 0))); n != 0 {
		t.Fatalf("a cancelled append left %d records", n)
	}
}

func closed(t *testing.T, p *place) {
	s := p.store(t)
	fill(t, s, 0, 3)
	must(t, s.Close())
	must(t, s.Close())
	if _, err := s.Append(t.Context(), nil, key(1)); !errors.Is(err, store.ErrClosed) {
		t.Fatalf("append: got %v, want ErrClosed", err)
	}
	if _, err := s.Put(t.Context(), nil); !errors.Is(err, store.ErrClosed) {
		t.Fatalf("put: got %v, want ErrClosed", err)
	}
	if _, err := s.Get(t.Context(), key(1)); !errors.Is(err, store.ErrClosed) {
		t.Fatalf("get: got %v, want ErrClosed", err)
	}
	for _, records := range []func(func(store.Record, error) bool){
		s.Records(t.Context(), 0), s.Recent(t.Context()), s.Find(t.Context(), key(1)),
	} {
		for r, err := range records {
			if !errors.Is(err, store.ErrClosed) {
				t.Fatalf("got %v, %v, want ErrClosed", r, err)
			}
		}
	}
}

func afterReopening(t *testing.T, p *place) {
	s := p.store(t)
	if !p.reopens {
		t.Skip("this store doesn't outlive a Close")
	}
	id, err := s.Put(t.Context(), []byte("object"))
	must(t, err)
	for n := 0; n < 40; n += 10 {
		fill(t, s, n, n+10)
		expect(t, collect(t, s.Find(t.Context(), key(n))), n)
		must(t, s.Close())
		s = p.store(t)
		expect(t, collect(t, s.Records(t.Context(), 0)), count(0, n+10)...)
		expect(t, collect(t, s.Find(t.Context(), key(n+9))), n+9)
	}
	got, err := s.Get(t.Context(), id)
	if err != nil || string(got) != "object" {
		t.Fatalf("got %q, %v, want the object", got, err)
	}
}

func keep(t *testing.T, p *place) {
	s := p.store(t)
	_, err := store.Keep(t.Context(), s, [][]byte{payload(1), payload(2)}, payload(3), key(3), key(1000))
	must(t, err)
	expect(t, collect(t, s.Records(t.Context(), 0)), 3)
	for _, n := range []int{1, 2} {
		if has, err := s.Has(t.Context(), joulebox.Sum(payload(n))); err != nil || !has {
			t.Fatalf("object %d: got %v, %v, want it there", n, has, err)
		}
	}
}
