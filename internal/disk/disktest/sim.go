// Package disktest is a disk that fails: a file system in memory that can refuse
// any call, tear any write, and lose at a power cut whatever wasn't synced, in
// parts and in any order, as the rules of a disk allow and no sooner than a real
// one would.
package disktest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"sync"

	"github.com/joulebox/joulebox/internal/disk"
)

// Sim is the file system. Its root folder is "/".
type Sim struct {
	mu     sync.Mutex
	root   *node
	nodes  uint64
	names  []*nameChange // changes of names that no SyncDir covered yet, oldest first
	calls  int
	before Fault
}

// Call is one call that a program makes.
type Call struct {
	Number int    // from 1
	Op     string // open, mkdir, rename, remove, list, stat, syncdir, read, write, sync, truncate, chmod, lock
	Name   string
}

// Fault decides before each call whether it fails. A write that fails has written
// half of its bytes; anything else that fails did nothing. A file sync that fails
// also forgets what it should have written, as systems do.
type Fault func(Call) error

// ErrPower is what every call returns after the power went away.
var ErrPower = errors.New("disktest: no power")

// node is a file or a folder.
type node struct {
	number  uint64
	mode    fs.FileMode
	links   int
	data    []byte           // as a program sees it
	kept    []byte           // as it's on the disk
	writes  []write          // what a sync will bring to the disk
	entries map[string]*node // of a folder, as a program sees it
	durable map[string]*node // of a folder, on the disk
	holders map[*file]disk.LockKind
}

// write is a change of a file's data. For a truncation, bytes is nil.
type write struct {
	at    int64
	bytes []byte
	cut   bool
}

// nameChange is a name made, taken away, or both at once.
type nameChange struct {
	from, to         *node // the folders; nil if there is none
	fromName, toName string
	what             *node
}

// New returns an empty disk. The root is durable.
func New() *Sim {
	s := &Sim{}
	s.root = s.node(fs.ModeDir | 0o700)
	s.root.links = 1
	return s
}

func (s *Sim) node(mode fs.FileMode) *node {
	s.nodes++
	n := &node{number: s.nodes, mode: mode, holders: map[*file]disk.LockKind{}}
	if mode.IsDir() {
		n.entries, n.durable = map[string]*node{}, map[string]*node{}
	}
	return n
}

// Inject has every later call ask f first, and counts calls from 1 again.
func (s *Sim) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.calls = f, 0
}

// Calls is how many calls were made since Inject.
func (s *Sim) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// enter begins a call: the caller must unlock s.mu.
func (s *Sim) enter(op, name string) error {
	s.mu.Lock()
	s.calls++
	if s.before == nil {
		return nil
	}
	if err := s.before(Call{s.calls, op, name}); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

func fail(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// walk finds a node, or nil.
func (s *Sim) walk(name string) *node {
	n := s.root
	for _, part := range parts(name) {
		if n == nil || n.entries == nil {
			return nil
		}
		n = n.entries[part]
	}
	return n
}

func parts(name string) []string {
	var all []string
	for name = path.Clean(name); name != "/" && name != "."; name = path.Dir(name) {
		all = append(all, path.Base(name))
	}
	slices.Reverse(all)
	return all
}

// Mkdir implements disk.FS.
func (s *Sim) Mkdir(name string) error {
	err := s.enter("mkdir", name)
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.link("mkdir", name, s.node(fs.ModeDir|0o700))
}

// link gives a new node its first name.
func (s *Sim) link(op, name string, n *node) error {
	dir := s.walk(path.Dir(name))
	if dir == nil || dir.entries == nil {
		return fail(op, name, fs.ErrNotExist)
	}
	if dir.entries[path.Base(name)] != nil {
		return fail(op, name, fs.ErrExist)
	}
	s.change(&nameChange{to: dir, toName: path.Base(name), what: n})
	return nil
}

func (s *Sim) change(c *nameChange) {
	if c.from != nil {
		c.what.links--
	}
	if c.to != nil {
		if old := c.to.entries[c.toName]; old != nil {
			old.links--
		}
		c.what.links++
	}
	c.apply(func(n *node) map[string]*node { return n.entries })
	s.names = append(s.names, c)
}

// apply changes one view of the folders.
func (c *nameChange) apply(view func(*node) map[string]*node) {
	if c.from != nil && view(c.from)[c.fromName] == c.what {
		delete(view(c.from), c.fromName)
	}
	if c.to != nil {
		view(c.to)[c.toName] = c.what
	}
}

// Rename implements disk.FS.
func (s *Sim) Rename(from, to string) error {
	err := s.enter("rename", from)
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	n, toDir := s.walk(from), s.walk(path.Dir(to))
	if n == nil || toDir == nil || toDir.entries == nil {
		return fail("rename", from, fs.ErrNotExist)
	}
	if old := toDir.entries[path.Base(to)]; old != nil && (old.mode.IsDir() && len(old.entries) > 0 || old.mode.IsDir() != n.mode.IsDir()) {
		return fail("rename", to, fs.ErrExist)
	}
	s.change(&nameChange{from: s.walk(path.Dir(from)), fromName: path.Base(from), to: toDir, toName: path.Base(to), what: n})
	return nil
}

// Remove implements disk.FS.
func (s *Sim) Remove(name string) error {
	err := s.enter("remove", name)
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	n := s.walk(name)
	if n == nil {
		return fail("remove", name, fs.ErrNotExist)
	}
	if len(n.entries) > 0 {
		return fail("remove", name, errors.New("directory not empty"))
	}
	s.change(&nameChange{from: s.walk(path.Dir(name)), fromName: path.Base(name), what: n})
	return nil
}

// List implements disk.FS.
func (s *Sim) List(name string) ([]string, error) {
	err := s.enter("list", name)
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	n := s.walk(name)
	if n == nil || n.entries == nil {
		return nil, fail("list", name, fs.ErrNotExist)
	}
	return slices.Sorted(maps.Keys(n.entries)), nil
}

// Stat implements disk.FS.
func (s *Sim) Stat(name string) (disk.Stat, error) {
	err := s.enter("stat", name)
	defer s.mu.Unlock()
	if err != nil {
		return disk.Stat{}, err
	}
	n := s.walk(name)
	if n == nil {
		return disk.Stat{}, fail("stat", name, fs.ErrNotExist)
	}
	return n.stat(), nil
}

// simDevice looks like a partition, whose number means something.
const simDevice = 8<<8 | 1

func (n *node) stat() disk.Stat {
	return disk.Stat{
		Mode: n.mode, Size: int64(len(n.data)), Owner: os.Geteuid(), Links: uint64(n.links),
		Device: simDevice, Inode: n.number, Born: int64(n.number) * 1000,
	}
}

// SyncDir implements disk.FS.
func (s *Sim) SyncDir(name string) error {
	err := s.enter("syncdir", name)
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	n := s.walk(name)
	if n == nil || n.entries == nil {
		return fail("syncdir", name, fs.ErrNotExist)
	}
	var rest []*nameChange
	for _, c := range s.names {
		if c.from == n || c.to == n {
			c.settle()
		} else {
			rest = append(rest, c)
		}
	}
	s.names = rest
	return nil
}

// settle brings a change to the disk.
func (c *nameChange) settle() { c.apply(func(n *node) map[string]*node { return n.durable }) }
