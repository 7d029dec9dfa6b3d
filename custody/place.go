package custody

import (
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// machine is what this machine says about itself. Zero means that it doesn't:
// a container may have no machine id.
type machine struct {
	id   joulebox.ID // of the installation; survives a restart
	boot joulebox.ID // of this start
}

// place is where a counter lives.
type place struct {
	machine, boot joulebox.ID
	volume        joulebox.ID // of a file system whose device number says nothing
	device        uint64      // 0 where it says nothing
	folder, file  node
}

// node is a file. An inode number is given out again after a removal, so the
// birth time tells a restored file from the old one; it is 0 where unknown.
type node struct {
	inode uint64
	born  int64
}

func nodeOf(s disk.Stat) node { return node{s.Inode, s.Born} }

func (n node) same(m node) bool {
	return n.inode == m.inode && (n.born == m.born || n.born == 0 || m.born == 0)
}

// moved names what is not as it was, or is empty. What isn't known on either
// side is no change.
func (p place) moved(now place) string {
	differ := func(a, b joulebox.ID) bool { return !a.IsZero() && !b.IsZero() && a != b }
	switch {
	case differ(p.machine, now.machine):
		return "machine"
	case !p.folder.same(now.folder):
		return "folder"
	case !p.file.same(now.file):
		return "file"
	case differ(p.volume, now.volume):
		return "volume"
	// Device numbers are dealt out anew at each start.
	case p.device != now.device && p.device != 0 && now.device != 0 && p.boot == now.boot && !p.boot.IsZero():
		return "device"
	}
	return ""
}

// seenFrom is now, with what only p knows kept.
func (p place) seenFrom(now place) place {
	if now.machine.IsZero() {
		now.machine = p.machine
	}
	if now.volume.IsZero() {
		now.volume = p.volume
	}
	return now
}

// mark hides an identifier: a machine id is meant to stay on its machine.
func mark(kind, value string) joulebox.ID {
	return joulebox.Sum([]byte("joulebox/place/1\n" + kind + "\n" + value))
}

const unknownMark = "unknown"

func markText(m joulebox.ID) string {
	if m.IsZero() {
		return unknownMark
	}
	return m.String()
}

func parseMark(s string) (joulebox.ID, error) {
	if s == unknownMark {
		return joulebox.ID{}, nil
	}
	return joulebox.ParseID(s)
}

// machineMark takes the text of a machine-id file: 32 hex digits, not all zero.
// An image that isn't installed yet says "uninitialized".
func machineMark(text string) joulebox.ID {
	id := strings.TrimSpace(text)
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" || strings.Trim(id, "0") == "" {
		return joulebox.ID{}
	}
	return mark("machine", id)
}
