package journal

import (
	"bytes"
	"encoding/hex"
	"fmt"
)

// Reader reads a journal while it is being written: every entry's form and check,
// their order, and that it ends as a journal ends. What is wrong is kept for End.
type Reader struct {
	j     Journal
	chain Chain
	sum   checksum
	call  Call // reused
	at    int  // read up to here
	err   error
}

// Read reads a container whole. A fault is an *Error that names the entry. The
// journal shares the container's memory.
func Read(container []byte) (*Journal, error) { return new(Reader).End(container) }

// More reads the entries that have come since. The container must begin with the
// bytes that it had, wherever they are now.
func (r *Reader) More(container []byte) {
	for r.err == nil && r.at < len(container) {
		entry, size, err := first(container[r.at:])
		if err != nil {
			return // there may be more to come
		}
		r.at += size
		r.j.ends = append(r.j.ends, r.at)
		r.err = r.entry(entry)
	}
}

// End reads the rest of the container, which is the whole journal.
func (r *Reader) End(container []byte) (*Journal, error) {
	r.More(container)
	n := r.j.Len()
	switch {
	case r.err != nil:
		return nil, r.err
	case r.at < len(container):
		_, _, err := first(container[r.at:])
		return nil, unreadable(n+1, fmt.Errorf("journal: at byte %d: %w", r.at, err))
	case r.j.End == nil:
		return nil, &Error{n + 1, "an entry that ends the journal", "the end of the file: the journal isn't whole"}
	}
	r.j.root, r.j.container = r.chain.Root(), container
	return &r.j, nil
}

func unreadable(n uint64, err error) *Error {
	return &Error{n, "an entry of deterministic CBOR", "one that can't be read: " + err.Error()}
}

// entry takes the last entry in.
func (r *Reader) entry(entry []byte) error {
	n := r.j.Len()
	if n == 1 {
		if err := r.chain.Append(entry); err != nil {
			return unreadable(n, err)
		}
		copy(r.j.Salt[:], entry[2:])
		r.sum = newChecksum(r.j.Salt)
		return nil
	}
	if err := r.parse(n, entry); err != nil {
		if bad := checkEntry(n, entry); bad != nil { // which comes before what it says
			return unreadable(n, fmt.Errorf("journal: entry %d: %w", n, bad))
		}
		return err
	}
	r.chain.advance(entry) // what parses is deterministic
	return nil
}

func (r *Reader) parse(n uint64, entry []byte) error {
	if n == 2 {
		if v, ok := versionOf(entry); ok && v != Version {
			return &Error{n, fmt.Sprintf("version %d", Version), fmt.Sprintf("version %d: it replays with a joulebox of the time when it was recorded", v)}
		}
	}
	if err := checkEntrySum(&r.sum, entry); err != nil {
		err.Entry = n
		return err
	}
	v, err := parse(entry, &r.call)
	if err != nil {
		return &Error{n, "an entry of the schema", "one that isn't: " + err.Error()}
	}
	begin, isBegin := v.(*Begin)
	switch {
	case r.j.End != nil:
		return &Error{n, "nothing after the end", Describe(v)}
	case isBegin != (n == 2):
		return &Error{n, "one beginning, as entry 2", Describe(v)}
	}
	if isBegin {
		r.j.Begin = begin
	}
	if end, ok := v.(*End); ok {
		r.j.End = end
	}
	return nil
}

// versionOf is the version that a beginning states, of whatever version it is.
func versionOf(entry []byte) (version uint64, ok bool) {
	d := decoder{b: entry}
	d.array(len(entry))
	d.bytes()
	k := d.uint()
	version = d.uint()
	return version, d.err == nil && kind(k) == kindBegin
}

// checkEntrySum compares an entry's check with what it should be here.
func checkEntrySum(sum *checksum, entry []byte) *Error {
	const body = 2 + checkSize
	if len(entry) < body || entry[1] != majorBytes<<5|checkSize {
		return &Error{Want: fmt.Sprintf("a check of %d bytes", checkSize), Got: "none"}
	}
	check := sum.next(entry[body:])
	if got := entry[2:body]; !bytes.Equal(got, check[:]) {
		return &Error{Want: "the check " + hex.EncodeToString(check[:]) + " for what it says: it, or its place, was changed", Got: hex.EncodeToString(got)}
	}
	return nil
}
