package custody

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/joulebox/joulebox"
)

const (
	slotBytes   = 512  // fits one sector, so a slot is rarely torn
	slotStride  = 4096 // slots share no block, so a torn block spoils one
	counterFile = 2 * slotStride
	// maxCounterFile is read so that a longer file is seen to be wrong.
	maxCounterFile = 2 * counterFile

	// maxSequence keeps numbers exact in JSON (§4).
	maxSequence = 1<<53 - 1
	// firstSequence isn't zero, so that a forgotten number is seen.
	firstSequence = 1
	maxBlock      = 256
	// damageJump is added when a slot can't be read. The other slot is at most a
	// few blocks behind what was handed out.
	damageJump = 1 << 16
	// adoptJump is added when a copy is adopted: more numbers than the original
	// can have used since the copy was made.
	adoptJump = 1 << 32
)

// counter is what one slot says.
type counter struct {
	host       joulebox.ID // whose numbers they are
	retired    bool
	generation uint64 // of two slots the higher one counts
	next       uint64 // the first number that was never handed out
	place      place
}

const slotForm = "joulebox-sequence 1\nhost-id %s\nstate %s\ngeneration %d\nnext %d\nmachine %s\nboot %s\nvolume %s\ndevice %d\nfolder %d %d\nfile %d %d\n"

var states = map[bool]string{false: "active", true: "retired"}

// encode is the slot's one spelling.
func (c counter) encode() []byte {
	p := c.place
	text := fmt.Sprintf(slotForm, c.host, states[c.retired], c.generation, c.next,
		markText(p.machine), markText(p.boot), markText(p.volume), p.device, p.folder.inode, p.folder.born, p.file.inode, p.file.born)
	text += "check " + joulebox.Sum([]byte(text)).String() + "\n"
	return append([]byte(text), bytes.Repeat([]byte("\n"), slotBytes-len(text))...)
}

// parseCounter accepts only what encode writes.
func parseCounter(slot []byte) (c counter, err error) {
	text, _, found := strings.Cut(string(slot), "check ")
	if !found || len(slot) != slotBytes {
		return counter{}, fmt.Errorf("got %d bytes without a check, want %d with one", len(slot), slotBytes)
	}
	f := slotFields{fields: strings.Fields(text)}
	p := &c.place
	f.word("joulebox-sequence", "1")
	c.host = f.id("host-id", joulebox.ParseID)
	c.retired = f.word("state", states[true], states[false]) == states[true]
	c.generation, c.next = f.number("generation"), f.number("next")
	p.machine, p.boot, p.volume = f.id("machine", parseMark), f.id("boot", parseMark), f.id("volume", parseMark)
	p.device = f.number("device")
	p.folder = node{f.number("folder"), int64(f.number(""))}
	p.file = node{f.number("file"), int64(f.number(""))}
	if f.err != nil {
		return counter{}, f.err
	}
	// What is of another form than encode's, like a space more or a sign, differs here.
	if !c.plausible() || !bytes.Equal(c.encode(), slot) {
		return counter{}, fmt.Errorf("the check doesn't match, so it was torn or changed")
	}
	return c, nil
}

// slotFields are the words of a slot, read in their order. The first that doesn't
// fit is kept as err, and what is read after it is zero.
type slotFields struct {
	fields []string
	err    error
}

// value is the word after a name; an empty name has its value at once.
func (f *slotFields) value(name string) string {
	if name != "" && f.next() != name && f.err == nil {
		f.err = fmt.Errorf("no %q where it belongs", name)
	}
	return f.next()
}

func (f *slotFields) next() (word string) {
	if f.err == nil && len(f.fields) == 0 {
		f.err = errors.New("it ends too early")
	}
	if f.err != nil {
		return ""
	}
	word, f.fields = f.fields[0], f.fields[1:]
	return word
}

func (f *slotFields) note(err error) {
	if f.err == nil {
		f.err = err
	}
}

// word is one of a few.
func (f *slotFields) word(name string, want ...string) string {
	got := f.value(name)
	if !slices.Contains(want, got) {
		f.note(fmt.Errorf("%s: got %q, want %s", name, got, strings.Join(want, " or ")))
	}
	return got
}

func (f *slotFields) id(name string, parse func(string) (joulebox.ID, error)) joulebox.ID {
	id, err := parse(f.value(name))
	f.note(err)
	return id
}

func (f *slotFields) number(name string) uint64 {
	text := f.value(name)
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil { // times of birth may be before 1970
		var signed int64
		signed, err = strconv.ParseInt(text, 10, 64)
		n = uint64(signed)
	}
	f.note(err)
	return n
}

func (c counter) plausible() bool {
	return c.next >= firstSequence && c.next <= maxSequence+1 && !c.host.IsZero()
}

// counters is both slots as read from a file.
type counters struct {
	counter
	slot    int  // where the newer one is; the next goes to the other
	damaged bool // the other slot can't be read
}

func parseCounters(file []byte) (counters, error) {
	if len(file) != counterFile {
		return counters{}, fmt.Errorf("got %d bytes, want %d", len(file), counterFile)
	}
	a, errA := parseCounter(file[:slotBytes])
	b, errB := parseCounter(file[slotStride:][:slotBytes])
	switch {
	case errA != nil && errB != nil:
		return counters{}, fmt.Errorf("both slots are unreadable: %w", errA)
	case errB != nil:
		return counters{a, 0, true}, nil
	case errA != nil:
		return counters{b, 1, true}, nil
	case a.host != b.host || a.generation == b.generation:
		return counters{}, fmt.Errorf("the slots contradict each other")
	case a.generation > b.generation:
		return counters{a, 0, false}, nil
	}
	return counters{b, 1, false}, nil
}

// advance is the counter after n more numbers, and the first of them.
func (c counters) advance(n uint64) (next counter, first uint64, ok bool) {
	first = c.next
	if c.damaged {
		first += damageJump
	}
	next = c.counter
	next.generation++
	next.next = first + n
	return next, first, next.next <= maxSequence+1
}

func freshCounters(c counter) []byte {
	file := bytes.Repeat([]byte("\n"), counterFile)
	copy(file, c.encode())
	c.generation++
	copy(file[slotStride:], c.encode())
	return file
}
