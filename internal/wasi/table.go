package wasi

// maxFds is how many descriptors a unit can have open: what ulimit says on most
// machines. The table never grows by a number that a guest made up.
const maxFds = 1024

// entry is one open descriptor. Exactly one of stream, file and dir is set.
type entry struct {
	stream  Stream
	file    File
	dir     Dir
	base    Rights
	inherit Rights
	flags   Fdflags
	kind    Filetype
	preopen string // guest path; empty for others
	stdin   bool
}

func (e *entry) node() Node {
	if e.dir != nil {
		return e.dir
	}
	return e.file
}

func (e *entry) close() error {
	if e.stream != nil {
		return nil // it belongs to whoever handed it over
	}
	return e.node().Close()
}

// table holds the descriptors by number, nil where none is open.
type table struct{ list []*entry }

// get finds a descriptor; nil when there is none.
func (t *table) get(fd uint32) *entry {
	if uint64(fd) >= uint64(len(t.list)) {
		return nil
	}
	return t.list[fd]
}

// add gives the entry the lowest free number, as POSIX does.
func (t *table) add(e *entry) (uint32, Errno) {
	for fd, old := range t.list {
		if old == nil {
			t.list[fd] = e
			return uint32(fd), Success
		}
	}
	if len(t.list) >= maxFds {
		return 0, EMfile
	}
	t.list = append(t.list, e)
	return uint32(len(t.list) - 1), Success
}

// full reports that add would fail, to be asked before anything is created.
func (t *table) full() bool {
	if len(t.list) < maxFds {
		return false
	}
	for _, e := range t.list {
		if e == nil {
			return false
		}
	}
	return true
}

// need finds a descriptor that has all the rights.
func (t *table) need(fd uint32, r Rights) (*entry, Errno) {
	e := t.get(fd)
	if e == nil {
		return nil, EBadf
	}
	if e.base&r == r {
		return e, Success
	}
	// Reading what was opened for writing is EBADF in POSIX, and programs check for it.
	if r&^e.base&(RightFdRead|RightFdWrite) != 0 && e.dir == nil {
		return nil, EBadf
	}
	return nil, ENotcapable
}

// needDir finds a directory with the rights for a path call.
func (t *table) needDir(fd uint32, r Rights) (*entry, Errno) {
	e := t.get(fd)
	switch {
	case e == nil:
		return nil, EBadf
	case e.dir == nil:
		return nil, ENotdir
	case e.base&r != r:
		return nil, ENotcapable
	}
	return e, Success
}

// needFile finds a file with the rights; a stream has no position, a directory
// no content.
func (t *table) needFile(fd uint32, r Rights) (*entry, Errno) {
	e := t.get(fd)
	switch {
	case e == nil:
		return nil, EBadf
	case e.dir != nil:
		return nil, EIsdir
	case e.stream != nil:
		return nil, ESpipe
	}
	return t.need(fd, r)
}
