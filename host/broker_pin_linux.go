package host

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// node is a file that was found: a descriptor that can't be read or written
// (O_PATH), and the guest path that it has now.
type node struct {
	fd   int
	path string
	st   unix.Stat_t
}

func (n *node) close() error { return unix.Close(n.fd) }

func (n *node) kind() uint32 { return n.st.Mode & unix.S_IFMT }

// openBeneath opens a path without leaving dirfd on any component.
func openBeneath(dirfd int, path string, flags uint64) (int, error) {
	how := unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	}
	// EAGAIN says that a rename elsewhere got in the way of a "..". It is the
	// guest's own doing or its neighbour's; patience has an end.
	for tries := 0; ; tries++ {
		fd, err := unix.Openat2(dirfd, path, &how)
		if err == unix.EINTR || err == unix.EAGAIN && tries < 32 {
			continue
		}
		return fd, err
	}
}

// pin finds a path beneath a directory and names what was found. Flags are added
// to O_PATH: O_NOFOLLOW, O_DIRECTORY.
func (s *storage) pin(r *root, dirfd int, path string, flags uint64) (*node, error) {
	fd, err := openBeneath(dirfd, path, unix.O_PATH|flags)
	if err != nil {
		return nil, err
	}
	n := &node{fd: fd}
	if err := s.identify(r, n); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return n, nil
}

// identify fills a node in, and refuses what no grant reaches.
func (s *storage) identify(r *root, n *node) error {
	if err := unix.Fstat(n.fd, &n.st); err != nil {
		return err
	}
	var err error
	if n.path, err = s.guestName(r, n.fd); err != nil {
		return err
	}
	if n.st.Nlink == 0 && strings.HasSuffix(n.path, " (deleted)") {
		return unix.ENOENT
	}
	return nil
}

// guestName is the guest path that a descriptor has now. It fails for what has
// none: moved out of its root, shadowed by another root, hidden, or not a file
// but a window on the kernel, where a host's keys and a neighbour's memory are.
func (s *storage) guestName(r *root, fd int) (string, error) {
	host, err := nameOf(fd)
	if err != nil {
		return "", err
	}
	if !holds(r.host, host) {
		return "", s.b.refuse(r.guest, errEscapes)
	}
	guest := join(r.guest, strings.TrimPrefix(host, strings.TrimSuffix(r.host, "/")))
	if s.rootOf(guest) != r || anyHolds(s.hidden, host) {
		return "", s.b.refuse(guest, errDenied)
	}
	pseudo, err := onPseudoFS(fd)
	if err != nil {
		return "", err
	}
	if pseudo {
		return "", s.b.refuse(guest, errDenied)
	}
	return guest, nil
}

// nameOf is the kernel's name of a descriptor.
func nameOf(fd int) (string, error) {
	proc, err := descriptors()
	if err != nil {
		return "", err
	}
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(proc, strconv.Itoa(fd), buf[:])
	if err != nil {
		return "", err
	}
	if n == len(buf) || n == 0 || buf[0] != '/' {
		return "", unix.ENAMETOOLONG
	}
	return string(buf[:n]), nil
}

// descriptors is this process's /proc/self/fd, opened once: through it the kernel
// names a descriptor, and opens the very file of one.
var descriptors = sync.OnceValues(func() (int, error) {
	fd, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	var fs unix.Statfs_t
	if err == nil {
		err = unix.Fstatfs(fd, &fs)
	}
	if err != nil || fs.Type != unix.PROC_SUPER_MAGIC {
		return -1, errors.New("/proc isn't mounted, and the names of descriptors are read there; mount it")
	}
	return fd, nil
})

// openAgain opens the file of a descriptor, not whatever has its name by now.
func openAgain(fd, flags int) (int, error) {
	proc, err := descriptors()
	if err != nil {
		return -1, err
	}
	return openRetry(proc, strconv.Itoa(fd), flags|unix.O_CLOEXEC, 0)
}

func openRetry(dirfd int, path string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dirfd, path, flags, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func realPath(p string) (string, error) {
	fd, err := unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	name, err := nameOf(fd)
	return name, errors.Join(err, unix.Close(fd))
}

// pseudoFS are file systems that show the kernel and not a disk.
var pseudoFS = map[int64]bool{
	unix.PROC_SUPER_MAGIC: true, unix.SYSFS_MAGIC: true, unix.DEBUGFS_MAGIC: true, unix.TRACEFS_MAGIC: true,
	unix.SECURITYFS_MAGIC: true, unix.SELINUX_MAGIC: true, unix.CGROUP_SUPER_MAGIC: true,
	unix.CGROUP2_SUPER_MAGIC: true, unix.BPF_FS_MAGIC: true, unix.EFIVARFS_MAGIC: true, unix.PSTOREFS_MAGIC: true,
	unix.DEVPTS_SUPER_MAGIC: true, unix.NSFS_MAGIC: true, unix.BINFMTFS_MAGIC: true, unix.RDTGROUP_SUPER_MAGIC: true,
	unix.XENFS_SUPER_MAGIC: true, unix.PID_FS_MAGIC: true, configFS: true,
}

const configFS = 0x62656570 // CONFIGFS_MAGIC, which the package unix lacks

func onPseudoFS(fd int) (bool, error) {
	var fs unix.Statfs_t
	for {
		err := unix.Fstatfs(fd, &fs)
		if err != unix.EINTR {
			return pseudoFS[int64(fs.Type)], err
		}
	}
}
