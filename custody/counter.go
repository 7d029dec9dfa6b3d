package custody

import (
	"bytes"
	"fmt"
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
	var host, state string
	marks := [3]string{}
	p := &c.place
	text, _, found := strings.Cut(string(slot), "check ")
	if !found || len(slot) != slotBytes {
		return counter{}, fmt.Errorf("got %d bytes without a check, want %d with one", len(slot), slotBytes)
	}
	_, err = fmt.Sscanf(text, slotForm, &host, &state, &c.generation, &c.next,
		&marks[0], &marks[1], &marks[2], &p.device, &p.folder.inode, &p.folder.born, &p.file.inode, &p.file.born)
	if err != nil {
		return counter{}, err
	}
	for i, m := range []*joulebox.ID{&p.machine, &p.boot, &p.volume} {
		if *m, err = parseMark(marks[i]); err != nil {
			return counter{}, err
		}
	}
	if c.host, err = joulebox.ParseID(host); err != nil {
		return counter{}, err
	}
	c.retired = state == states[true]
	if !c.plausible() || !bytes.Equal(c.encode(), slot) {
		return counter{}, fmt.Errorf("the check doesn't match, so it was torn or changed")
	}
	return c, nil
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
