package journal

import (
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
)

// Journal is a whole journal that was read and checked.
type Journal struct {
	Salt  [SaltSize]byte
	Begin *Begin
	End   *End

	root      joulebox.ID
	container []byte
	ends      []int // of the entries, in the container
}

// Error is what is wrong with one entry.
type Error struct {
	Entry     uint64 // counted from 1, the salt
	Want, Got string
}

func (e *Error) Error() string {
	return fmt.Sprintf("journal: entry %d: got %s, want %s", e.Entry, e.Got, e.Want)
}

// Root is the journal's root.
func (j *Journal) Root() joulebox.ID { return j.root }

// Len is the number of entries, the salt included.
func (j *Journal) Len() uint64 { return uint64(len(j.ends)) }

// Entry is the n-th entry, from 2 on.
func (j *Journal) Entry(n uint64) (Entry, error) {
	if n < 2 || n > j.Len() {
		return nil, errors.New("BUG(joulebox): no such entry")
	}
	return Parse(j.bytes(n))
}

// bytes are the n-th entry's, counted from 1.
func (j *Journal) bytes(n uint64) []byte {
	start := 0
	if n > 1 {
		start = j.ends[n-2]
	}
	b := j.container[start:j.ends[n-1]:j.ends[n-1]]
	_, head, _ := readHead(b) // which was read before
	return b[head:]
}
