package execwatch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// mount is one mount of a process's view that can be reached.
type mount struct {
	at   string
	fd   int // O_PATH
	kind string
	// writable and executable are what the mount lets a process do.
	writable, executable bool
}

// mounts opens what can be reached of a process's mounts. What another mount
// covers can't be, by any path.
func (p process) mounts() (list []mount, err error) {
	info, err := os.ReadFile(p.proc("mountinfo"))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(info) {
		id, at, kind, err := parseMount(line)
		if err != nil {
			return list, err
		}
		fd, err := p.locate(at)
		if err != nil {
			return list, fmt.Errorf("mount %q: %w", at, err)
		}
		m, err := statMount(fd, id)
		if err != nil {
			unix.Close(fd)
			if errors.Is(err, errCovered) {
				continue
			}
			return list, fmt.Errorf("mount %q: %w", at, err)
		}
		m.at, m.kind = at, kind
		m.executable = m.executable && !runsNothing(kind)
		list = append(list, m)
	}
	return list, nil
}

// runsNothing names the file systems that the kernel runs nothing from, whatever
// the mount says.
func runsNothing(kind string) bool { return kind == "proc" || kind == "sysfs" }

var errCovered = errors.New("it is covered by another mount")

func statMount(fd int, id uint64) (m mount, err error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err != nil {
		return m, os.NewSyscallError("statx", err)
	}
	if st.Mask&unix.STATX_MNT_ID == 0 {
		return m, errors.New("the kernel doesn't say which mount a path is on; Linux 5.8 does")
	}
	if st.Mnt_id != id {
		return m, errCovered
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return m, os.NewSyscallError("fstatfs", err)
	}
	flags := int64(fs.Flags)
	return mount{fd: fd, writable: flags&unix.ST_RDONLY == 0, executable: flags&unix.ST_NOEXEC == 0}, nil
}

// locate opens a path as the process would, as a place and not to be read.
func (p process) locate(name string) (fd int, err error) {
	root, err := unix.Open(p.proc("root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: p.proc("root"), Err: err}
	}
	defer unix.Close(root)
	fd, err = unix.Openat2(root, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return -1, &os.PathError{Op: "openat2", Path: name, Err: err}
	}
	return fd, nil
}

func closeMounts(list []mount) {
	for _, m := range list {
		unix.Close(m.fd)
	}
}

// parseMount takes the number, the place and the type from a line of mountinfo.
func parseMount(line []byte) (id uint64, at, kind string, err error) {
	before, after, ok := bytes.Cut(line, []byte(" - "))
	fields, rest := bytes.Fields(before), bytes.Fields(after)
	if !ok || len(fields) < 6 || len(rest) < 1 {
		return 0, "", "", fmt.Errorf("mountinfo: %q is no mount", line)
	}
	id, err = strconv.ParseUint(string(fields[0]), 10, 64)
	return id, unescape(fields[4]), string(rest[0]), err
}

// unescape undoes \040 and its like.
func unescape(b []byte) string {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		if b[0] == '\\' && len(b) >= 4 {
			if n, err := strconv.ParseUint(string(b[1:4]), 8, 8); err == nil {
				out, b = append(out, byte(n)), b[4:]
				continue
			}
		}
		out, b = append(out, b[0]), b[1:]
	}
	return string(out)
}

// CheckMounts says why hashes couldn't bind in a process's view: a mount that can
// be written to and run from, where what was judged could be replaced; or one of
// /proc that can be written to, by which a process writes over its own code.
func CheckMounts(pid int) error {
	list, err := process(pid).mounts()
	defer closeMounts(list)
	if err != nil {
		return err
	}
	var bad []error
	for _, m := range list {
		switch {
		case !m.writable:
		case m.kind == "proc":
			bad = append(bad, fmt.Errorf("mount %q: /proc is writable, and so is the code of whoever writes to /proc/self/mem; make it read-only", m.at))
		case m.executable:
			bad = append(bad, fmt.Errorf("mount %q (%s) is writable and not noexec; with hashes in the grant it has to be one of both", m.at, m.kind))
		}
	}
	return errors.Join(bad...)
}
