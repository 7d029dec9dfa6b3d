package rootfs

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/unit"
)

// record is what is known of a tree that was written: its image, and the state of
// each name on the disk when the image was taken. While each is in that state, and
// the machine hasn't been started anew, the image is still that of the tree.
type record struct {
	id      joulebox.ID
	boot    string // of this start of the machine
	device  uint64
	bytes   int64 // of all files
	entries []unit.Entry
	states  []state // of the entries
	left    LeftOut
}

// state is what every change of a file or folder shows in.
type state struct {
	inode   uint64
	changed int64 // ctime in nanoseconds of Unix time
	size    int64 // of files
}

const recordMagic = "joulebox root filesystem 1\n"

var entryTypes = [...]string{unit.Dir, unit.File, unit.Link}

// encode gives a record's bytes, with their own address at the end.
func (r *record) encode() []byte {
	b := append(make([]byte, 0, 256+96*len(r.entries)), recordMagic...)
	b = append(b, r.id[:]...)
	b = appendText(b, r.boot)
	for _, n := range []uint64{r.device, uint64(r.bytes), uint64(r.left.Devices), uint64(r.left.Pipes), uint64(r.left.Sockets), uint64(r.left.Aufs), uint64(len(r.entries))} {
		b = binary.AppendUvarint(b, n)
	}
	before := ""
	for i, e := range r.entries {
		b = appendEntry(b, before, e, r.states[i])
		before = e.Path
	}
	sum := joulebox.Sum(b)
	return append(b, sum[:]...)
}

func appendEntry(b []byte, before string, e unit.Entry, s state) []byte {
	shared := 0
	for shared < min(len(before), len(e.Path)) && before[shared] == e.Path[shared] {
		shared++
	}
	b = binary.AppendUvarint(b, uint64(shared))
	b = appendText(b, e.Path[shared:])
	switch e.Type {
	case unit.Dir:
		b = append(b, 0)
	case unit.File:
		b = append(append(b, 1), e.B3[:]...)
	case unit.Link:
		b = appendText(append(b, 2), e.Target)
	}
	b = binary.AppendUvarint(b, uint64(e.Mode))
	b = binary.AppendUvarint(b, s.inode)
	b = binary.AppendVarint(b, s.changed)
	return binary.AppendUvarint(b, uint64(s.size))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errRecord = errors.New("record: is damaged")

// parseRecord takes only what encode gives.
func parseRecord(b []byte) (*record, error) {
	if len(b) < len(recordMagic)+64 || string(b[:len(recordMagic)]) != recordMagic {
		return nil, errRecord
	}
	body, sum := b[:len(b)-32], b[len(b)-32:]
	if joulebox.Sum(body) != joulebox.ID(sum) {
		return nil, errRecord
	}
	d := decoder{rest: body[len(recordMagic):]}
	r := &record{}
	copy(r.id[:], d.bytes(32))
	r.boot = d.text()
	r.device, r.bytes = d.uint(), int64(d.uint())
	r.left = LeftOut{int(d.uint()), int(d.uint()), int(d.uint()), int(d.uint())}
	n := d.uint()
	if n > uint64(len(d.rest)) {
		return nil, errRecord
	}
	r.entries, r.states = make([]unit.Entry, n), make([]state, n)
	before := ""
	for i := range r.entries {
		d.entry(before, &r.entries[i], &r.states[i])
		before = r.entries[i].Path
	}
	if d.bad || len(d.rest) > 0 {
		return nil, errRecord
	}
	return r, nil
}

// decoder reads until something isn't right, and gives zeros from then on.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) text() string { return string(d.bytes(d.uint())) }

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) entry(before string, e *unit.Entry, s *state) {
	shared := d.uint()
	if shared > uint64(len(before)) {
		d.bad = true
		return
	}
	e.Path = before[:shared] + d.text()
	kind := d.bytes(1)
	if d.bad || int(kind[0]) >= len(entryTypes) {
		d.bad = true
		return
	}
	e.Type = entryTypes[kind[0]]
	switch e.Type {
	case unit.File:
		copy(e.B3[:], d.bytes(32))
	case unit.Link:
		e.Target = d.text()
	}
	e.Mode = uint32(d.uint())
	*s = state{d.uint(), d.int(), int64(d.uint())}
}

// image is the object that the id is taken over. The entries are shared.
func (r *record) image() unit.Image { return unit.Image{Kind: unit.Tree, Entries: r.entries} }

// found is a name of a tree on the disk, and the state in which it was found.
type found struct {
	unit.Entry
	state
}

// newRecord takes the id of what was found, sorted.
func newRecord(found []found) (*record, error) {
	r := &record{entries: make([]unit.Entry, len(found)), states: make([]state, len(found))}
	for i, f := range found {
		r.entries[i], r.states[i] = f.Entry, f.state
		r.bytes += f.size
	}
	var err error
	if r.id, err = r.image().ID(); err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	return r, nil
}
