package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// DefaultLimit is how large a journal may grow, in bytes, when nobody says.
const DefaultLimit = 64 << 20

// reserve is what a journal keeps free for the entries that end it.
const reserve = 4096

// ErrFull says that a call doesn't fit any more. The Cut that says so was
// written; what may still come is the End.
var ErrFull = errors.New("journal: full")

// Writer writes a journal, entry by entry as they come, to a stream. It is used
// by one goroutine.
type Writer struct {
	w     io.Writer
	limit int64
	size  int64
	sum   checksum
	buf   []byte // reused
	out   []byte // the part of buf that is to be written
	err   error  // the stream's, which nothing mends
	cut   bool
}

// NewWriter begins a journal with its salt. A limit of zero is DefaultLimit.
func NewWriter(w io.Writer, salt [SaltSize]byte, limit int64) (*Writer, error) {
	if limit == 0 {
		limit = DefaultLimit
	}
	if limit < 4*reserve {
		return nil, fmt.Errorf("journal: got a limit of %d bytes, want at least %d", limit, 4*reserve)
	}
	j := &Writer{w: w, limit: limit, sum: newChecksum(salt)}
	entry := append(appendHead(nil, majorBytes<<5, SaltSize), salt[:]...)
	return j, j.write(AppendEntry(nil, entry))
}

// Add writes one entry. A Call that doesn't fit gives ErrFull. After an error of
// the stream every Add gives it: the journal isn't whole and says so by having no
// End.
func (j *Writer) Add(entry Entry) error {
	if j.err != nil {
		return j.err
	}
	call, isCall := entry.(*Call)
	if isCall && (j.cut || !call.fits(j.limit-reserve-j.size)) {
		return j.full(call)
	}
	j.encode(entry)
	if _, isBegin := entry.(*Begin); isBegin && j.size+int64(len(j.out)) > j.limit-2*reserve {
		return fmt.Errorf("journal: arguments and environment take %d bytes, which the limit of %d leaves no room for", len(j.out), j.limit)
	}
	return j.flush()
}

// full writes the call that didn't fit as a Cut, once.
func (j *Writer) full(c *Call) error {
	if !j.cut {
		j.cut = true
		j.encode(&Cut{Name: c.Name, Args: c.Args, Units: c.Units})
		if err := j.flush(); err != nil {
			return err
		}
	}
	return ErrFull
}

// maxWrites bounds the parts that a call's writes are in. No call makes as many
// but one whose result is full of secrets.
const maxWrites = 1 << 16

// fits reports whether the call's entry takes no more than room. The heads are
// counted at their largest.
func (c *Call) fits(room int64) bool {
	size := int64(64+len(c.Name)) + 9*int64(len(c.Args))
	for _, w := range c.Writes {
		size += 16 + int64(len(w.Bytes))
	}
	return len(c.Writes) <= maxWrites && size <= room
}

// encode leaves the entry in the buffer, its head in the container before it.
func (j *Writer) encode(entry Entry) {
	const room = 9 + 1 + 1 + checkSize // the longest head, the array's, the check with its own
	b := append(j.buf[:0], make([]byte, room)...)
	b = appendBody(b, entry)
	body := b[room:]
	check := j.sum.next(body)
	var space [room]byte
	head := appendHead(space[:0], majorBytes<<5, uint64(2+checkSize+len(body)))
	head = appendHead(head, majorArray<<5, uint64(lengths[entry.kind()]))
	head = append(appendHead(head, majorBytes<<5, checkSize), check[:]...)
	copy(b[room-len(head):], head)
	j.buf, j.out = b, b[room-len(head):]
}

func (j *Writer) flush() error { return j.write(j.out) }

func (j *Writer) write(b []byte) error {
	if _, err := j.w.Write(b); err != nil {
		j.err = fmt.Errorf("journal: %w", err)
		return j.err
	}
	j.size += int64(len(b))
	return nil
}

// checkSize is the length of the check that each entry carries, in bytes. It finds
// the place of a change; that there is none is what the root says.
const checkSize = crc32.Size

// checksum runs over the salt and the bodies of all entries (CRC-32C). It needn't be
// hard to make up: who changes an entry and mends all checks after it has changed
// the root.
type checksum uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newChecksum(salt [SaltSize]byte) checksum { return checksum(crc32.Checksum(salt[:], castagnoli)) }

// next is the check of the entry with this body.
func (s *checksum) next(body []byte) (check [checkSize]byte) {
	*s = checksum(crc32.Update(uint32(*s), castagnoli, body))
	binary.BigEndian.PutUint32(check[:], uint32(*s))
	return check
}
