package journal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
)

// Journal is a whole journal that was read and checked.
type Journal struct {
	Salt  [SaltSize]byte
	Begin *Begin
	End   *End

	root    joulebox.ID
	entries [][]byte
}

// Error is what is wrong with one entry.
type Error struct {
	Entry     uint64 // counted from 1, the salt
	Want, Got string
}

func (e *Error) Error() string {
	return fmt.Sprintf("journal: entry %d: got %s, want %s", e.Entry, e.Got, e.Want)
}

// Read reads a container whole: every entry's form and check, their order, and
// that it ends as a journal ends. A fault is an *Error that names the entry. The
// entries share the container's memory.
func Read(container []byte) (*Journal, error) {
	j := &Journal{}
	var chain Chain
	sum := checksum{n: 1}
	for entry, err := range Entries(container) {
		if err == nil {
			err = chain.Append(entry)
		}
		if err != nil {
			return nil, &Error{uint64(len(j.entries)) + 1, "an entry of deterministic CBOR", "one that can't be read: " + err.Error()}
		}
		j.entries = append(j.entries, entry)
		if len(j.entries) == 1 {
			copy(j.Salt[:], entry[2:])
			sum.last = j.Salt
			continue
		}
		if err := j.add(&sum, entry); err != nil {
			return nil, err
		}
	}
	if j.End == nil {
		return nil, &Error{uint64(len(j.entries)) + 1, "an entry that ends the journal", "the end of the file: the journal isn't whole"}
	}
	j.root = chain.Root()
	return j, nil
}

// add takes the last entry in.
func (j *Journal) add(sum *checksum, entry []byte) error {
	n := uint64(len(j.entries))
	if err := checkEntrySum(sum, entry); err != nil {
		err.Entry = n
		return err
	}
	v, err := Parse(entry)
	if err != nil {
		return &Error{n, "an entry of the schema", "one that isn't: " + err.Error()}
	}
	begin, isBegin := v.(*Begin)
	switch {
	case j.End != nil:
		return &Error{n, "nothing after the end", Describe(v)}
	case isBegin != (n == 2):
		return &Error{n, "one beginning, as entry 2", Describe(v)}
	}
	if isBegin {
		j.Begin = begin
	}
	if end, ok := v.(*End); ok {
		j.End = end
	}
	return nil
}

// checkEntrySum compares an entry's check with what it should be here.
func checkEntrySum(sum *checksum, entry []byte) *Error {
	const body = 2 + checkSize
	if len(entry) < body || entry[1] != majorBytes<<5|checkSize {
		return &Error{Want: "a check of 8 bytes", Got: "none"}
	}
	check := sum.next(entry[body:])
	if got := entry[2:body]; !bytes.Equal(got, check[:]) {
		return &Error{Want: "the check " + hex.EncodeToString(check[:]) + " for what it says: it, or its place, was changed", Got: hex.EncodeToString(got)}
	}
	return nil
}

// Root is the journal's root.
func (j *Journal) Root() joulebox.ID { return j.root }

// Len is the number of entries, the salt included.
func (j *Journal) Len() uint64 { return uint64(len(j.entries)) }

// Entry is the n-th entry, from 2 on.
func (j *Journal) Entry(n uint64) (Entry, error) {
	if n < 2 || n > j.Len() {
		return nil, errors.New("BUG(joulebox): no such entry")
	}
	return Parse(j.entries[n-1])
}
