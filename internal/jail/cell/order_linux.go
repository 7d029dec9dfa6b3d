//go:build amd64 || arm64

package cell

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// base is what init can begin with before there is an order.
type base struct {
	Host bool // the root is the host's
}

func (b *base) fields(c *codec) { c.bool(&b.Host) }

// order is what init is told. Descriptors are numbers into what came with it, and
// no descriptor is -1.
type order struct {
	Path       string
	Program    *place
	Argv, Env  []string
	Dir        string
	Streams    [3]int
	Terminal   *Size
	Root       *place
	Writable   bool
	Mounts     []mount
	Files      []File
	Hidden     []string
	UID, GID   uint32
	Hostname   string
	Network    []byte
	Exec       []byte
	HasNetwork bool
	HasExec    bool
	Hold       bool
	NoExec     bool
	Limits     Limits
	Gated      bool
	Nowhere    bool // what can't be reached is told
	Counted    bool // processes are, up to Most beside the main one
	Most       uint32
	Group      int // the directory of a control group that the first process counts in, or -1
	Filter     []unix.SockFilter
	Join       []int // control groups' files that the unit's first thread writes itself to
}

func (o *order) fields(c *codec) {
	c.text(&o.Path)
	optional(c, &o.Program)
	c.texts(&o.Argv)
	c.texts(&o.Env)
	c.text(&o.Dir)
	for n := range o.Streams {
		number(c, &o.Streams[n])
	}
	optional(c, &o.Terminal)
	optional(c, &o.Root)
	list(c, &o.Mounts, func(c *codec, m *mount) { m.fields(c) })
	list(c, &o.Files, func(c *codec, f *File) { c.text(&f.Path); c.bytes(&f.Data) })
	c.texts(&o.Hidden)
	number(c, &o.UID)
	number(c, &o.GID)
	c.text(&o.Hostname)
	c.bytes(&o.Network)
	c.bytes(&o.Exec)
	for _, b := range []*bool{&o.Writable, &o.HasNetwork, &o.HasExec, &o.Hold, &o.NoExec, &o.Gated, &o.Nowhere, &o.Counted} {
		c.bool(b)
	}
	for _, n := range []*uint64{&o.Limits.Memory, &o.Limits.OpenFiles, &o.Limits.FileSize} { // the rest isn't init's
		c.u64(n)
	}
	number(c, &o.Most)
	number(c, &o.Group)
	list(c, &o.Filter, statement)
	list(c, &o.Join, number[int])
}

// statement passes one statement of a filter, which has 8 bytes.
func statement(c *codec, f *unix.SockFilter) {
	n := uint64(f.Code)<<48 | uint64(f.Jt)<<40 | uint64(f.Jf)<<32 | uint64(f.K)
	c.u64(&n)
	*f = unix.SockFilter{Code: uint16(n >> 48), Jt: uint8(n >> 40), Jf: uint8(n >> 32), K: uint32(n)}
}

// optional passes what may not be there.
func optional[T any, P interface {
	*T
	message
}](c *codec, v **T) {
	there := *v != nil
	c.bool(&there)
	if !there {
		*v = nil
		return
	}
	if c.reading {
		*v = new(T)
	}
	P(*v).fields(c)
}

func (s *Size) fields(c *codec) {
	number(c, &s.Rows)
	number(c, &s.Cols)
}

func (p *place) fields(c *codec) {
	number(c, &p.FD)
	c.text(&p.Path)
}

func (m *mount) fields(c *codec) {
	m.place.fields(c)
	c.text(&m.Target)
	for _, b := range []*bool{&m.Read, &m.Write, &m.Delete, &m.Exec} {
		c.bool(b)
	}
}

// place is a file of the host's view: a descriptor, and where it was opened. A
// mount namespace binds only what lies in itself, so init opens the path again and
// compares.
type place struct {
	FD   int
	Path string
}

type mount struct {
	place
	Target                    string
	Read, Write, Delete, Exec bool
}

// handing collects the descriptors of an order.
type handing struct {
	files []*os.File
	held  bool // the caller has seen the cell that they went to
}

func (h *handing) add(f *os.File) int {
	if f == nil {
		return -1
	}
	h.files = append(h.files, f)
	return len(h.files) - 1
}

func (h *handing) place(f *os.File) (place, error) {
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err == nil && !path.IsAbs(name) {
		err = fmt.Errorf("got %q, want a file that was opened from a path", name)
	}
	return place{h.add(f), name}, err
}

func (h *handing) fds() (list []int) {
	for _, f := range h.files {
		list = append(list, int(f.Fd()))
	}
	return list
}

const defaultHostname = "unit"

// order is the spec as init needs it. It checks what can be told without trying.
func (s *Spec) order(h *handing) (*order, error) {
	o := &order{
		Path: s.Path, Argv: s.Argv, Env: s.Env, Dir: s.Dir, Terminal: s.Terminal, Files: s.Files, Hidden: s.Hidden,
		UID: s.UID, GID: s.GID, Hostname: s.Hostname, Network: s.Network, Exec: s.Exec, HasNetwork: s.Network != nil,
		HasExec: s.Exec != nil, Hold: s.Hold != nil, NoExec: s.NoExec, Limits: s.Limits, Writable: s.Root.Writable,
		Nowhere: s.Unreachable != nil, Group: -1,
	}
	if o.Hostname == "" {
		o.Hostname = defaultHostname
	}
	if s.Limits.Programs != nil {
		o.Counted, o.Most = true, *s.Limits.Programs
	}
	if o.Dir == "" {
		o.Dir = "/"
	}
	for i, f := range []*os.File{s.Stdin, s.Stdout, s.Stderr} {
		o.Streams[i] = h.add(f)
	}
	if s.Program != nil {
		p, err := h.place(s.Program)
		if err != nil {
			return nil, fmt.Errorf("program: %w", err)
		}
		o.Program = &p
	}
	if s.Root.Dir != nil {
		p, err := h.place(s.Root.Dir)
		if err != nil {
			return nil, fmt.Errorf("root: %w", err)
		}
		o.Root = &p
	}
	for i, m := range s.Mounts {
		p, err := h.place(m.File)
		if err != nil {
			return nil, fmt.Errorf("mounts[%d]: %w", i, err)
		}
		o.Mounts = append(o.Mounts, mount{p, m.Target, m.Read, m.Write, m.Delete, m.Exec})
	}
	// What lies above comes first.
	slices.SortStableFunc(o.Mounts, func(a, b mount) int { return strings.Compare(a.Target, b.Target) })
	return o, o.check()
}

func (o *order) check() error {
	if len(o.Argv) == 0 {
		return errors.New("argv: got none, want the program's name at least")
	}
	if err := canonical("path", o.Path); err != nil {
		return err
	}
	if err := canonical("dir", o.Dir); err != nil {
		return err
	}
	for i, m := range o.Mounts {
		if err := canonical(fmt.Sprintf("mounts[%d].target", i), m.Target); err != nil {
			return err
		}
		if m.Target == "/" {
			return fmt.Errorf("mounts[%d].target: got %q, want a path beneath it; Root is for that", i, m.Target)
		}
	}
	for _, t := range append(slices.Clone(o.Argv), o.Env...) {
		if strings.ContainsRune(t, 0) {
			return fmt.Errorf("argv or env: got %q, want no NUL", t)
		}
	}
	if o.Root == nil && o.Writable {
		return errors.New("root: the host's view is never writable; hand over a directory")
	}
	return nil
}

// outside reports whether the unit can write to what others see.
func (o *order) outside() bool {
	return slices.ContainsFunc(o.Mounts, func(m mount) bool { return m.Write })
}

func canonical(what, p string) error {
	if !path.IsAbs(p) || path.Clean(p) != p || strings.ContainsRune(p, 0) {
		return fmt.Errorf("%s: got %q, want an absolute path with neither . nor .. in it", what, p)
	}
	return nil
}

// open opens a place in the calling process's view, if it is still the file that
// was handed over.
func (p place) open(handed []int) (fd int, dir bool, err error) {
	var want, have unix.Stat_t
	if err := unix.Fstat(handed[p.FD], &want); err != nil {
		return -1, false, os.NewSyscallError("fstat", err)
	}
	fd, err = unix.Open(p.Path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, false, &os.PathError{Op: "open", Path: p.Path, Err: err}
	}
	if err = unix.Fstat(fd, &have); err == nil && (have.Dev != want.Dev || have.Ino != want.Ino) {
		err = errors.New("it isn't the file that was handed over any more")
	}
	if err != nil {
		unix.Close(fd)
		return -1, false, &os.PathError{Op: "open", Path: p.Path, Err: err}
	}
	return fd, have.Mode&unix.S_IFMT == unix.S_IFDIR, nil
}
