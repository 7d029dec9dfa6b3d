package runrecord

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
	"github.com/joulebox/joulebox/internal/seal"
)

// A record as a file is JSON Lines: what it is of, then its segments, with signed
// heads among them and as a rule at the end. Who has only a head knows how long the
// record was at least.

// FileSchema marks a record's first line.
const FileSchema = "joulebox.run-record/1"

type headerWire struct {
	Schema string      `json:"schema"`
	Unit   joulebox.ID `json:"unit_id"`
	Grants joulebox.ID `json:"grants_id"`
}

// Header is the record's first line.
func (r *Record) Header() ([]byte, error) {
	return jcs.Marshal(headerWire{FileSchema, r.unit, r.grants})
}

// SignHead seals where the record stands: a line of its file.
func (r *Record) SignHead(signer crypto.Signer) ([]byte, error) {
	o, err := seal.SignHead(signer, seal.Head{Log: seal.RunRecordLog, Head: r.head, Length: r.Len()})
	if err != nil {
		return nil, err
	}
	return o.Canonical()
}

// SignedHead is a head that someone signed.
type SignedHead struct {
	Head   joulebox.ID
	Length uint64
	object seal.Object
}

// Seal is the detached signature over a head (§7.3).
type Seal = seal.Seal

// Seal is the head's seal.
func (h SignedHead) Seal() Seal { return h.object.Seal }

// ParseHead reads a signed head of a run record. It checks no signature.
func ParseHead(src []byte) (SignedHead, error) {
	h, o, err := seal.ParseHead(src, seal.RunRecordLog)
	if err != nil {
		return SignedHead{}, fmt.Errorf("run record: %w", err)
	}
	return SignedHead{h.Head, h.Length, o}, nil
}

// VerifyClaimed checks the seal under the key that it names itself.
func (h SignedHead) VerifyClaimed() error {
	if err := h.object.Seal.VerifyClaimed(h.object.Core); err != nil {
		return fmt.Errorf("run record: head: %w", err)
	}
	return nil
}

// File is a record that was read whole, and the heads that were signed along it.
type File struct {
	Record *Record
	Heads  []SignedHead
	heads  []joulebox.ID // by length, from 1
}

// Parse reads a record's file. The chain is built again from its beginning, each
// segment must be allowed where it stands, and a signed head must be the chain's at
// its length. It checks no signature.
func Parse(src []byte) (*File, error) {
	lines := bytes.Split(bytes.TrimSuffix(src, []byte("\n")), []byte("\n"))
	var w headerWire
	if err := jcs.Unmarshal(lines[0], &w); err != nil {
		return nil, fmt.Errorf("run record: line 1: %w", err)
	}
	if w.Schema != FileSchema {
		return nil, fmt.Errorf("run record: line 1: schema: got %q, want %q", w.Schema, FileSchema)
	}
	r, err := empty(w.Unit, w.Grants)
	if err != nil {
		return nil, err
	}
	f := &File{Record: r}
	for i, line := range lines[1:] {
		if err := f.take(line); err != nil {
			return nil, fmt.Errorf("run record: line %d: %w", i+2, err)
		}
	}
	if r.Len() == 0 {
		return nil, errors.New("run record: it has no segments")
	}
	return f, nil
}

func (f *File) take(line []byte) error {
	if bytes.Contains(line, []byte(seal.HeadSchema)) {
		h, err := ParseHead(line)
		if err != nil {
			return err
		}
		f.Heads = append(f.Heads, h)
		return f.Check(h)
	}
	s, err := ParseSegment(line)
	if err != nil {
		return err
	}
	if err := f.Record.Append(s); err != nil {
		return err
	}
	f.heads = append(f.heads, f.Record.head)
	return nil
}

// ErrTruncated says that a record is shorter than a head that was signed.
var ErrTruncated = errors.New("the record was cut short")

// Check holds the record to a signed head, one within it or one that was kept.
func (f *File) Check(h SignedHead) error {
	switch {
	case h.Length > f.Record.Len():
		return fmt.Errorf("%w: it has %d segments, and had %d when a head was signed", ErrTruncated, f.Record.Len(), h.Length)
	case h.Length == 0 || f.heads[h.Length-1] != h.Head:
		return fmt.Errorf("head: at %d segments %s was signed, and the chain leads elsewhere: a segment was changed, moved or spliced", h.Length, h.Head)
	}
	return nil
}

// Unsigned is how many segments at the end no signed head covers.
func (f *File) Unsigned() uint64 {
	var most uint64
	for _, h := range f.Heads {
		most = max(most, h.Length)
	}
	return f.Record.Len() - most
}
