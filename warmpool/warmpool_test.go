package warmpool

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/joulebox/joulebox"
)

var (
	python = joulebox.Sum([]byte("python"))
	node   = joulebox.Sum([]byte("node"))
)

func TestSlotsThatAreClaimedAndEvicted(t *testing.T) {
	var b Books
	for _, e := range []Entry{
		{Kind: Warmed, Slot: 0, Environment: python},
		{Kind: Warmed, Slot: 1, Environment: node},
		{Kind: Accrued, Slot: 0, UJ: 700},
		{Kind: Accrued, Slot: 1, UJ: 40},
		{Kind: Accrued, Slot: 0, UJ: 5},
	} {
		if err := b.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if idle, env, err := b.Idle(0); idle != 705 || env != python || err != nil {
		t.Errorf("got %d, %s, %v", idle, env, err)
	}
	if got, want := b.Totals(), (Totals{Drawn: 745, Pending: 745, Slots: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := b.Apply(Entry{Kind: Claimed, Slot: 0, Environment: python}); err != nil {
		t.Error(err)
	}
	if err := b.Apply(Entry{Kind: Evicted, Slot: 1}); err != nil {
		t.Error(err)
	}
	if got, want := b.Totals(), (Totals{Drawn: 745, Claimed: 705, Overhead: 40}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestClaimMatchesTheEnvironment: another toolchain is refused, and the slot waits
// on with what it drew.
func TestClaimMatchesTheEnvironment(t *testing.T) {
	var b Books
	if err := b.Apply(Entry{Kind: Warmed, Environment: python}); err != nil {
		t.Fatal(err)
	}
	if err := b.Apply(Entry{Kind: Accrued, UJ: 9}); err != nil {
		t.Fatal(err)
	}
	var other *EnvironmentError
	err := b.Apply(Entry{Kind: Claimed, Environment: node})
	if !errors.As(err, &other) || other.Warmed != python || other.Want != node {
		t.Errorf("got %v", err)
	}
	if got, want := b.Totals(), (Totals{Drawn: 9, Pending: 9, Slots: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestEntriesThatDontFit(t *testing.T) {
	var b Books
	if err := b.Apply(Entry{Kind: Warmed, Environment: python}); err != nil {
		t.Fatal(err)
	}
	if err := b.Apply(Entry{Kind: Accrued, UJ: math.MaxUint64}); err != nil {
		t.Fatal(err)
	}
	before := b.Totals()
	for _, c := range []struct {
		e    Entry
		want error
	}{
		{Entry{Kind: Warmed, Slot: 0, Environment: node}, ErrSlot},
		{Entry{Kind: Warmed, Slot: 2, Environment: node}, ErrSlot},
		{Entry{Kind: Warmed, Slot: 1}, nil},
		{Entry{Kind: Accrued, Slot: 1, UJ: 1}, ErrNoSlot},
		{Entry{Kind: Accrued, Slot: 0, UJ: 1}, nil}, // overflows
		{Entry{Kind: Claimed, Slot: 1, Environment: python}, ErrNoSlot},
		{Entry{Kind: Evicted, Slot: 7}, ErrNoSlot},
		{Entry{Kind: "given away", Slot: 0}, nil},
	} {
		if err := b.Apply(c.e); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%+v: got %v, want %v", c.e, err, c.want)
		}
	}
	if b.Totals() != before {
		t.Errorf("got %+v, want %+v: what was refused has changed the books", b.Totals(), before)
	}
	if err := b.Apply(Entry{Kind: Evicted}); err != nil {
		t.Fatal(err)
	}
	if err := b.Apply(Entry{Kind: Claimed, Environment: python}); !errors.Is(err, ErrNoSlot) {
		t.Errorf("a slot was given away twice: %v", err)
	}
}

// TestBooksBalance does anything in any order, against books that are kept by
// adding up the entries naively, and against books that are read back from text.
func TestBooksBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b, again Books
		var drawn, claimed, overhead uint64
		idle := map[Slot]uint64{}
		for range rapid.IntRange(0, 60).Draw(t, "entries") {
			e := Entry{
				Kind: rapid.SampledFrom([]Kind{Warmed, Accrued, Accrued, Claimed, Evicted}).Draw(t, "kind"),
				Slot: Slot(rapid.Uint64Range(0, 8).Draw(t, "slot")),
			}
			switch e.Kind {
			case Warmed:
				e.Slot, e.Environment = b.Next(), rapid.SampledFrom([]joulebox.ID{python, node}).Draw(t, "environment")
			case Accrued:
				e.UJ = joulebox.Microjoules(rapid.Uint64Range(1, 1<<40).Draw(t, "uj"))
			case Claimed:
				e.Environment = rapid.SampledFrom([]joulebox.ID{python, node}).Draw(t, "environment")
			}
			if b.Apply(e) != nil {
				continue
			}
			switch e.Kind {
			case Accrued:
				drawn += uint64(e.UJ)
				idle[e.Slot] += uint64(e.UJ)
			case Claimed:
				claimed += idle[e.Slot]
				delete(idle, e.Slot)
			case Evicted:
				overhead += idle[e.Slot]
				delete(idle, e.Slot)
			}
			text, err := e.Canonical()
			if err != nil {
				t.Fatal(err)
			}
			read, err := ParseEntry(text)
			if err != nil || read != e {
				t.Fatalf("got %+v, %v, want %+v", read, err, e)
			}
			if err := again.Apply(read); err != nil {
				t.Fatal(err)
			}
			got := b.Totals()
			if got.Drawn != got.Claimed+got.Overhead+got.Pending {
				t.Fatalf("the books don't balance: %+v", got)
			}
			if uint64(got.Drawn) != drawn || uint64(got.Claimed) != claimed || uint64(got.Overhead) != overhead || again.Totals() != got {
				t.Fatalf("got %+v, again %+v, want drawn %d, claimed %d, overhead %d", got, again.Totals(), drawn, claimed, overhead)
			}
		}
	})
}

func TestEntriesAreRefused(t *testing.T) {
	for _, text := range []string{
		`{"kind":"warmed","slot":0}`,
		`{"environment":"` + python.String() + `","kind":"evicted","slot":0}`,
		`{"kind":"accrued","slot":0}`,
		`{"kind":"evicted","slot":0,"uj":4}`,
		`{"kind":"lent","slot":0}`,
		`{"kind":"evicted","slot":-1}`,
		`{"kind":"evicted"}`,
		`{"kind":"evicted","slot":0,"who":"me"}`,
	} {
		if e, err := ParseEntry([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", text, e)
		}
	}
}

// FuzzEntry: what is read writes the same bytes again.
func FuzzEntry(f *testing.F) {
	f.Add([]byte(`{"kind":"evicted","slot":0}`))
	f.Add([]byte(`{"kind":"accrued","slot":3,"uj":12}`))
	f.Add([]byte(`{"environment":"` + python.String() + `","kind":"claimed","slot":1}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		e, err := ParseEntry(src)
		if err != nil {
			return
		}
		once, err := e.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseEntry(once)
		if err != nil || again != e {
			t.Errorf("%s came back as %+v, %v", src, again, err)
		}
	})
}
