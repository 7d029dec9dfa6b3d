//go:build amd64 || arm64

package cell

import (
	"bytes"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/jail"
)

// named is a path that a call has, and what it needs there.
type named struct {
	dir    int  // the argument that says where a relative path begins, or -1
	path   int  // the argument that has it
	link   bool // what a link leads to isn't meant
	look   bool // a look at what is there, which takes reading for a file and nothing for the rest
	read   bool
	write  bool
	delete bool
	open   int // the argument that has open's flags, if above zero
	flags  int // the argument that may have AT_SYMLINK_NOFOLLOW, if above zero
}

// observedCalls are the calls that name files, with the mode argument of those that
// make some.
var observedCalls = map[int][]named{
	unix.SYS_OPENAT:            {{dir: 0, path: 1, open: 2}},
	unix.SYS_STATX:             {{dir: 0, path: 1, look: true, flags: 2}},
	unix.SYS_FACCESSAT:         {{dir: 0, path: 1, look: true}},
	unix.SYS_FACCESSAT2:        {{dir: 0, path: 1, look: true}},
	unix.SYS_READLINKAT:        {{dir: 0, path: 1, look: true, link: true}},
	unix.SYS_INOTIFY_ADD_WATCH: {{dir: -1, path: 1, read: true}},
	unix.SYS_TRUNCATE:          {{dir: -1, path: 0, write: true}},
	unix.SYS_MKDIRAT:           {{dir: 0, path: 1, write: true, link: true}},
	unix.SYS_MKNODAT:           {{dir: 0, path: 1, write: true, link: true}},
	unix.SYS_SYMLINKAT:         {{dir: 1, path: 2, write: true, link: true}},
	unix.SYS_LINKAT:            {{dir: 0, path: 1, read: true, link: true}, {dir: 2, path: 3, write: true, link: true}},
	unix.SYS_UNLINKAT:          {{dir: 0, path: 1, delete: true, link: true}},
	unix.SYS_RENAMEAT2:         renamed(1),
	unix.SYS_RENAMEAT:          renamed(1),
	unix.SYS_FCHMODAT:          {{dir: 0, path: 1, write: true}},
	unix.SYS_UTIMENSAT:         {{dir: 0, path: 1, write: true}},
}

// renamed are the paths of a rename; from is where the first one stands, after its
// folder if there is room for that.
func renamed(from int) []named {
	if from == 0 {
		return []named{{dir: -1, path: 0, delete: true, link: true}, {dir: -1, path: 1, write: true, delete: true, link: true}}
	}
	return []named{{dir: 0, path: 1, delete: true, link: true}, {dir: 2, path: 3, write: true, delete: true, link: true}}
}

// observed reports whether a call is one that an observer is told of.
func observed(nr int) bool {
	return nr == unix.SYS_CONNECT || nr == unix.SYS_OPENAT2 || observedCalls[nr] != nil || archObserved[nr] != nil
}

// observe has those calls asked about. What would refuse them for their arguments
// isn't in the filter any more then; see refuses.
func observe(f *jail.Filter) {
	f.Answer(jail.Notify, unix.SYS_CONNECT)
	f.Answer(jail.Fail(unix.ENOSYS), unix.SYS_OPENAT2) // its flags lie in memory; libraries fall back
	for nr := range observedCalls {
		f.Answer(jail.Notify, uintptr(nr))
	}
	for nr := range archObserved {
		f.Answer(jail.Notify, uintptr(nr))
	}
}

// refuses says what a filter without an observer would refuse: devices, and what
// lends the caller's rights to whoever runs it.
func refuses(n notice) bool {
	mode, makes := -1, false
	switch int(n.nr) {
	case unix.SYS_OPENAT:
		if n.args[2]&(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY) != 0 {
			mode = 3
		}
	case unix.SYS_FCHMODAT, unix.SYS_MKDIRAT:
		mode = 2
	case unix.SYS_MKNODAT:
		mode, makes = 2, true
	default:
		mode, makes = archMode(n)
	}
	if mode < 0 {
		return false
	}
	bits := uint32(n.args[mode])
	kinds := []uint32{0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK}
	return bits&lends != 0 || makes && !slices.Contains(kinds, bits&unix.S_IFMT)
}

// observe tells of a call and lets it go on.
func (c *Cell) observe(questions int, n notice) {
	if refuses(n) {
		reply(questions, n, unix.EPERM)
		return
	}
	if n.nr == unix.SYS_CONNECT {
		c.observeConnect(n)
	} else {
		list := observedCalls[int(n.nr)]
		if list == nil {
			list = archObserved[int(n.nr)]
		}
		for _, what := range list {
			c.observePath(n, what)
		}
	}
	goOn(questions, n)
}

func (c *Cell) observeConnect(n notice) {
	b := make([]byte, min(n.args[2], maxAddress))
	if len(b) < 2 || memory(int(n.pid), uintptr(n.args[1]), b) != nil {
		return
	}
	if to, ok := destination(b); ok {
		c.spec.Observe(Seen{PID: int(n.pid), Address: to})
	}
}

// observePath tells of one path of a call.
func (c *Cell) observePath(n notice, what named) {
	name, ok := textOf(int(n.pid), uintptr(n.args[what.path]))
	if !ok || name == "" { // a descriptor by itself was opened before
		return
	}
	s := Seen{PID: int(n.pid), Read: what.read, Write: what.write, Delete: what.delete}
	link := what.link || what.flags > 0 && n.args[what.flags]&unix.AT_SYMLINK_NOFOLLOW != 0
	if what.open > 0 {
		flags := n.args[what.open]
		access := flags & unix.O_ACCMODE
		s.Read = access != unix.O_WRONLY && flags&unix.O_PATH == 0
		s.Write = access != unix.O_RDONLY || flags&(unix.O_CREAT|unix.O_TRUNC) != 0
		link = flags&unix.O_NOFOLLOW != 0
		if flags&unix.O_PATH != 0 {
			s.Write, what.look = false, true
		}
	}
	dir := int32(unix.AT_FDCWD)
	if what.dir >= 0 {
		dir = int32(n.args[what.dir])
	}
	if name, ok = under(int(n.pid), dir, name); !ok {
		return
	}
	c.tell(int(n.pid), name, link, what.look, s)
}

// tell resolves a path and tells what is needed there.
func (c *Cell) tell(tid int, name string, link, look bool, s Seen) {
	root, err := unix.Open("/proc/"+strconv.Itoa(tid)+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(root)
	var own, st unix.Stat_t
	if unix.Fstat(root, &own) != nil {
		return
	}
	at, err := located(root, name, link, &st)
	if err == unix.ENOENT && s.Write {
		s.New, s.Delete = true, false
		var parent string
		parent, err = located(root, path.Dir(name), false, &st)
		at = path.Join(parent, path.Base(name))
	}
	if err != nil || st.Dev == own.Dev {
		return
	}
	s.Path, s.Folder = at, !s.New && st.Mode&unix.S_IFMT == unix.S_IFDIR
	if look {
		s.Read = st.Mode&unix.S_IFMT == unix.S_IFREG
	}
	if kind := st.Mode & unix.S_IFMT; kind == unix.S_IFCHR || strings.HasPrefix(at, "/proc/") || !s.Read && !s.Write && !s.Delete {
		return
	}
	c.spec.Observe(s)
}

// located finds a path beneath a root, and its own name.
func located(root int, name string, link bool, st *unix.Stat_t) (string, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
	if link {
		how.Flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Openat2(root, name, &how)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, st); err != nil {
		return "", err
	}
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
}

// under is a path from where a thread's relative paths begin.
func under(tid int, dir int32, name string) (string, bool) {
	if path.IsAbs(name) {
		return name, true
	}
	at := "/proc/" + strconv.Itoa(tid) + "/cwd"
	if dir != unix.AT_FDCWD {
		at = "/proc/" + strconv.Itoa(tid) + "/fd/" + strconv.Itoa(int(dir))
	}
	base, err := os.Readlink(at)
	return base + "/" + name, err == nil && path.IsAbs(base)
}

// textOf reads a text of a process. It ends with a page, so no more than that is
// read at a time.
func textOf(tid int, at uintptr) (string, bool) {
	const page = 4096
	var text []byte
	for at != 0 && len(text) < unix.PathMax {
		b := make([]byte, page-at%page)
		if memory(tid, at, b) != nil {
			return "", false
		}
		if end := bytes.IndexByte(b, 0); end >= 0 {
			return string(append(text, b[:end]...)), true
		}
		text, at = append(text, b...), at+uintptr(len(b))
	}
	return "", false
}

// HostShows reports whether the host's view has a path without a grant.
func HostShows(at string) bool {
	for _, list := range [][]string{hostDirs, hostSettings, {"proc", "dev", "sys"}} {
		for _, name := range list {
			if at == "/"+name || strings.HasPrefix(at, "/"+name+"/") {
				return true
			}
		}
	}
	return false
}
