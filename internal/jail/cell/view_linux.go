//go:build amd64 || arm64

package cell

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// view is the unit's view of files in the making, by init in a mount namespace of
// its own.
type view struct {
	base   *base
	order  *order
	handed []int
	host   int // the host's root, O_PATH
	top    int // the view's, when it is the process's, O_PATH; else -1
	// owned are the filesystems that hold nothing but what the cell has put there.
	owned map[uint64]bool
	// memory is the cell's own filesystem, O_PATH.
	memory int
	// rules are Landlock's to be.
	rules             []rule
	programFD, rootFD int
	masks             masks
	// noticed is what isn't to be looked at.
	noticed []noticed
	// ptmx is the master side of the unit's terminal, or -1.
	ptmx int
}

// begin makes what every view has, if its root is the host's. It needs no order.
func (v *view) begin() (err error) {
	v.owned, v.top, v.ptmx = map[uint64]bool{}, -1, -1
	// Nothing that is mounted here or there shows up on the other side.
	if err := unix.MountSetattr(here, "/", unix.AT_RECURSIVE, &unix.MountAttr{Propagation: unix.MS_PRIVATE}); err != nil {
		return os.NewSyscallError("mount_setattr private", err)
	}
	if v.host, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return os.NewSyscallError("open /", err)
	}
	if !v.base.Host {
		return nil
	}
	return steps(v.enterRoot, v.hostRoot, v.dev, v.proc, v.sys)
}

// finish makes the rest. The host's view is gone afterwards.
func (v *view) finish() error {
	places := &places{v: v}
	if err := v.inHost(places.open); err != nil {
		return err
	}
	if !v.base.Host {
		if err := steps(v.enterRoot, v.dev, v.proc, v.sys); err != nil {
			return err
		}
	}
	return steps(v.resize, v.files, v.terminal, v.private, places.bind, v.program, v.hide, v.leaveHost, v.close)
}

func steps(list ...func() error) error {
	for _, step := range list {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// inHost does something where paths are the host's, which the view already hides.
func (v *view) inHost(f func() error) error {
	if v.top < 0 {
		return f()
	}
	if err := goRoot(v.host); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return goRoot(v.top)
}

// goRoot makes a folder the process's root and working directory.
func goRoot(fd int) error {
	if err := unix.Fchdir(fd); err != nil {
		return os.NewSyscallError("fchdir", err)
	}
	return os.NewSyscallError("chroot", unix.Chroot("."))
}

// places are what is granted, opened in the host's view.
type places struct {
	v    *view
	list []opened
}

type opened struct {
	mount
	fd  int
	dir bool
}

// open opens them in the host's view.
func (p *places) open() error {
	v := p.v
	if o := v.order.Program; o != nil {
		fd, dir, err := o.open(v.handed)
		if err != nil || dir {
			return fmt.Errorf("program: got a folder, or %w", err)
		}
		v.programFD = fd
	}
	if o := v.order.Root; o != nil {
		fd, dir, err := o.open(v.handed)
		if err != nil || !dir {
			return fmt.Errorf("root: want a folder: %w", err)
		}
		v.rootFD = fd
	}
	for _, m := range v.order.Mounts {
		fd, dir, err := m.open(v.handed)
		if err != nil {
			return fmt.Errorf("mount %s: %w", m.Target, err)
		}
		p.list = append(p.list, opened{m, fd, dir})
	}
	return nil
}

// bind binds the granted places.
func (p *places) bind() error {
	for _, m := range p.list {
		if err := p.v.place(m.Target, m.dir); err != nil {
			return fmt.Errorf("mount %w", err)
		}
		attributes := uint64(noSuid | noDev)
		if !m.Write && !m.Delete {
			attributes |= readOnly
		}
		if !m.Exec || p.v.order.NoExec && (m.Write || m.Delete) {
			attributes |= noExec
		}
		if err := bind(m.fd, "", m.Target, attributes, m.dir); err != nil {
			return err
		}
		unix.Close(m.fd)
		p.v.rule(m.Target, m.rights(), m.dir)
	}
	return nil
}

// enterRoot makes the first mount and turns it into the root. The host's stays
// mounted over it, where no path leads, until leaveHost.
func (v *view) enterRoot() error {
	if err := unix.Mount("tmpfs", "/", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return os.NewSyscallError("mount tmpfs", err)
	}
	// A path to / stays beneath what was just mounted on it; /.. does not.
	if err := unix.Chdir("/.."); err != nil {
		return os.NewSyscallError("chdir", err)
	}
	var err error
	if v.memory, err = unix.Open(".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return os.NewSyscallError("open", err)
	}
	if !v.base.Host {
		if err := v.overlay(); err != nil {
			return err
		}
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return os.NewSyscallError("pivot_root", err)
	}
	if v.top, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return os.NewSyscallError("open /", err)
	}
	return v.adopt("/")
}

// resize bounds the cell's own filesystem where memory is bounded: what doesn't fit
// is an error to who writes it, and not the end of the unit.
func (v *view) resize() error {
	most := v.order.Limits.Memory
	if most == 0 {
		return nil
	}
	fs, err := unix.Fspick(v.memory, "", unix.FSPICK_CLOEXEC|unix.FSPICK_EMPTY_PATH)
	if err != nil {
		return os.NewSyscallError("fspick", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigSetString(fs, "size", strconv.FormatUint(most, 10)); err != nil {
		return os.NewSyscallError("fsconfig size", err)
	}
	return os.NewSyscallError("fsconfig", unix.FsconfigReconfigure(fs))
}

// adopt notes that a filesystem is the cell's own.
func (v *view) adopt(at string) error {
	var st unix.Stat_t
	if err := unix.Stat(at, &st); err != nil {
		return &os.PathError{Op: "stat", Path: at, Err: err}
	}
	v.owned[uint64(st.Dev)] = true
	return nil
}

// hostDirs are the host's programs, and links to them on most hosts of today.
var hostDirs = []string{"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"}

func (v *view) hostRoot() error {
	for _, name := range hostDirs {
		if err := v.show(name); err != nil {
			return err
		}
	}
	for _, name := range hostFolders {
		if err := makePlace(name, true); err != nil {
			return err
		}
	}
	for _, name := range hostSettings {
		if err := v.show(name); err != nil {
			return err
		}
	}
	v.rule("/etc", rightsRead, true)
	return nil
}

// show binds a file or folder of the host, read-only, if it is there; a link stays
// a link.
func (v *view) show(name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(v.host, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil // hosts differ
	}
	to := "/" + name
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return v.showLink(name, to)
	}
	dir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	if err := makePlace(to, dir); err != nil {
		return err
	}
	if err := bind(v.host, name, to, readOnly|noSuid|noDev, dir); err != nil {
		return err
	}
	if !strings.Contains(name, "/") {
		v.rule(to, rightsRun, true)
	}
	return nil
}

func (v *view) showLink(name, to string) error {
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(v.host, name, target)
	if err != nil {
		return &os.PathError{Op: "readlink", Path: to, Err: err}
	}
	if err := unix.Symlink(string(target[:n]), to); err != nil {
		return &os.PathError{Op: "symlink", Path: to, Err: err}
	}
	return nil
}

// program lays the handed program over its path, as the unit would find it.
func (v *view) program() error {
	if v.order.Program == nil {
		return nil
	}
	defer unix.Close(v.programFD)
	script, err := v.script()
	if err != nil {
		return fmt.Errorf("program: %w", err)
	}
	if err := v.place(v.order.Path, false); err != nil {
		return fmt.Errorf("program: %w", err)
	}
	v.rule(v.order.Path, rightsRun, false)
	if script == nil {
		return bind(v.programFD, "", v.order.Path, readOnly|noSuid|noDev, false)
	}
	return v.layCopy(script)
}

// script is the text of a program that is one, and nil for any other.
func (v *view) script() ([]byte, error) {
	f, err := os.Open("/proc/self/fd/" + strconv.Itoa(v.handed[v.order.Program.FD]))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 2)
	if _, err := f.ReadAt(head, 0); err != nil || string(head) != "#!" {
		return nil, nil
	}
	return io.ReadAll(io.LimitReader(f, maxScript))
}

// maxScript bounds a script, which is kept in memory.
const maxScript = 64 << 20

// layCopy lays a copy over the program's path that nobody can write to: the root
// that its file lies in is closed to writing. The file keeps a name, since whoever
// decides about programs by their content knows none of a file without.
func (v *view) layCopy(text []byte) error {
	const name = "/.program" // /dev is noexec
	if err := makeFile(name, text, 0o555); err != nil {
		return err
	}
	return bind(here, name, v.order.Path, readOnly|noSuid|noDev, false)
}

// leaveHost lets go of the host's view.
func (v *view) leaveHost() error {
	if err := unix.Fchdir(v.host); err != nil {
		return os.NewSyscallError("fchdir", err)
	}
	unix.Close(v.host)
	unix.Close(v.memory)
	for _, p := range []*place{v.order.Root, v.order.Program} {
		if p != nil {
			unix.Close(v.handed[p.FD])
		}
	}
	for _, m := range v.order.Mounts {
		unix.Close(v.handed[m.FD])
	}
	stacked := 1
	if !v.base.Host {
		stacked = 2 // the mount that the overlay was made in lies on the host's view
	}
	for range stacked {
		if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
			return os.NewSyscallError("umount the host's view", err)
		}
	}
	unix.Close(v.top)
	return os.NewSyscallError("chdir", unix.Chdir("/"))
}

// close keeps what the unit isn't to change from being written to.
func (v *view) close() error {
	if !v.base.Host {
		if err := setHere("/dev", readOnly|noSuid); err != nil {
			return err
		}
	}
	if v.order.Writable {
		return nil
	}
	return setHere("/", readOnly|noSuid|noDev)
}

// hide covers paths with what is empty and can't be opened.
func (v *view) hide() error {
	for _, at := range v.order.Hidden {
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil {
			continue
		}
		with := v.masks.hiddenFile
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			with = v.masks.hiddenFolder
		}
		if err := bind(with, "", at, readOnly|noSuid|noDev|noExec, false); err != nil {
			return err
		}
	}
	return nil
}
