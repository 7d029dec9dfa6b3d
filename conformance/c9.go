package conformance

import (
	"fmt"

	"github.com/joulebox/joulebox/warmpool"
)

type c9File struct {
	Class   string `json:"class"`
	Entries []struct {
		Text     string `json:"text"`
		Drawn    uint64 `json:"drawn"`
		Claimed  uint64 `json:"claimed"`
		Overhead uint64 `json:"overhead"`
		Pending  uint64 `json:"pending"`
		Slots    uint64 `json:"slots"`
	} `json:"entries"`
	Refused []struct {
		Why   string `json:"why"`
		After int    `json:"after"`
		Text  string `json:"text"`
	} `json:"refused"`
}

// c9 holds a warm pool's books to what is drawn and who pays for it (§15).
func c9(r *results, src []byte) error {
	var f c9File
	if err := read(src, &f); err != nil {
		return err
	}
	var books warmpool.Books
	for i, e := range f.Entries {
		err := apply(&books, e.Text)
		if err == nil {
			t := books.Totals()
			got := [5]uint64{uint64(t.Drawn), uint64(t.Claimed), uint64(t.Overhead), uint64(t.Pending), t.Slots}
			err = same("drawn, claimed, overhead, pending, slots", got, [5]uint64{e.Drawn, e.Claimed, e.Overhead, e.Pending, e.Slots})
		}
		r.check(fmt.Sprintf("entry %d", i), err)
	}
	for _, c := range f.Refused {
		r.check(c.Why, f.refused(c.After, c.Text))
	}
	return nil
}

func apply(b *warmpool.Books, text string) error {
	e, err := warmpool.ParseEntry([]byte(text))
	if err != nil {
		return err
	}
	if again, err := e.Canonical(); err != nil || string(again) != text {
		return fmt.Errorf("it is written %s, %v", again, err)
	}
	return b.Apply(e)
}

// refused: an entry behind the first n is refused, and changes nothing.
func (f *c9File) refused(n int, text string) error {
	var books warmpool.Books
	for _, e := range f.Entries[:n] {
		if err := apply(&books, e.Text); err != nil {
			return err
		}
	}
	before := books.Totals()
	if err := mustRefuse(apply(&books, text)); err != nil {
		return err
	}
	return same("the books", books.Totals(), before)
}
