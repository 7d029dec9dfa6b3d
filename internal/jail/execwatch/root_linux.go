package execwatch

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// process is one process of the tree, in /proc as this process sees it.
type process int

func (p process) proc(name string) string { return "/proc/" + strconv.Itoa(int(p)) + "/" + name }

// openFlags open what may by now be a fifo or a terminal, without waiting for one
// or getting one.
const openFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY

// open opens a path as the process would: from its working directory, links and
// all beneath its root. A path through its descriptors is its descriptor.
func (p process) open(name string) (*os.File, error) {
	if fd, ok := descriptorPath(name); ok {
		link := p.proc("fd/" + fd)
		n, err := unix.Open(link, openFlags, 0)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: link, Err: err}
		}
		return os.NewFile(uintptr(n), name), nil
	}
	if !path.IsAbs(name) {
		dir, err := os.Readlink(p.proc("cwd"))
		if err != nil {
			return nil, err
		}
		name = dir + "/" + name
	}
	root, err := unix.Open(p.proc("root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: p.proc("root"), Err: err}
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, name, &unix.OpenHow{Flags: openFlags, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return nil, &os.PathError{Op: "openat2", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// descriptorPath takes the number from the names that the kernel and libc give to
// a program that was run by descriptor.
func descriptorPath(name string) (fd string, ok bool) {
	for _, prefix := range []string{"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"} {
		if rest, cut := strings.CutPrefix(name, prefix); cut {
			_, err := strconv.ParseUint(rest, 10, 31)
			return rest, err == nil
		}
	}
	return "", false
}

// pathOf is an open file's path, as the kernel has it.
func pathOf(f *os.File) string {
	s, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return f.Name()
	}
	return s
}

// called is the path that execve was called with. The kernel keeps a copy on the
// new stack, beyond the reach of the threads that there were.
func (p process) called() (string, error) {
	auxv, err := os.ReadFile(p.proc("auxv"))
	if err != nil {
		return "", err
	}
	at, ok := auxiliary(auxv, atExecFn)
	if !ok {
		return "", fmt.Errorf("%s: there is no AT_EXECFN", p.proc("auxv"))
	}
	mem, err := os.Open(p.proc("mem"))
	if err != nil {
		return "", err
	}
	defer mem.Close()
	b := make([]byte, maxPath)
	n, err := mem.ReadAt(b, int64(at))
	name, _, ended := bytes.Cut(b[:n], []byte{0})
	if !ended {
		return "", fmt.Errorf("%s: AT_EXECFN is no string: %w", p.proc("mem"), err)
	}
	return string(name), nil
}

const atExecFn = 31 // AT_EXECFN

// threads are the threads of the process.
func (p process) threads() (list []int, err error) {
	entries, err := os.ReadDir(p.proc("task"))
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, tid)
		}
	}
	return list, err
}

// group is the process that a thread belongs to.
func (p process) group() int {
	if fd, err := unix.PidfdOpen(int(p), 0); err == nil { // only the first thread has one
		unix.Close(fd)
		return int(p)
	}
	if pid, err := strconv.Atoi(p.status("Tgid")); err == nil {
		return pid
	}
	return int(p)
}

// status is one line of the process's state.
func (p process) status(name string) string {
	b, _ := os.ReadFile(p.proc("status"))
	_, rest, _ := bytes.Cut(b, []byte("\n"+name+":\t"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(line)
}
