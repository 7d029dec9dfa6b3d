//go:build amd64 || arm64

package cell

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// devices are the host's that every unit has. None of them stores or tells
// anything.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// devLinks are what programs expect beside them.
var devLinks = map[string]string{
	"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	"ptmx": "pts/ptmx", "core": "/proc/kcore",
}

// dev makes a small /dev, with terminals of its own.
func (v *view) dev() error {
	if err := v.devFolder(); err != nil {
		return err
	}
	for _, name := range devices {
		if err := makeFile("/dev/"+name, nil, 0o666); err != nil {
			return err
		}
		// nodev would make it a file that can't be opened. Where programs are decided by
		// their content, nothing that can be written to may be mapped as code.
		if err := bind(v.host, "dev/"+name, "/dev/"+name, noSuid|noExec, false); err != nil {
			return err
		}
	}
	for name, to := range devLinks {
		if err := unix.Symlink(to, "/dev/"+name); err != nil {
			return &os.PathError{Op: "symlink", Path: "/dev/" + name, Err: err}
		}
	}
	return v.terminals()
}

// devFolder is where they are: in the root, if that is the cell's own.
func (v *view) devFolder() error {
	if v.base.Host {
		return makePlace("/dev", true)
	}
	return v.own("/dev", 0o755)
}

// terminals mounts the unit's terminals.
func (v *view) terminals() error {
	for _, name := range []string{"/dev/pts", "/dev/shm"} {
		if err := unix.Mkdir(name, 0o755); err != nil {
			return &os.PathError{Op: "mkdir", Path: name, Err: err}
		}
	}
	if err := unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return fmt.Errorf("terminals: %w", os.NewSyscallError("mount devpts", err))
	}
	v.rule("/dev", rightsDevice, true)
	return nil
}

// terminal opens the first when the unit is to have one.
func (v *view) terminal() error {
	if v.order.Terminal == nil {
		return nil
	}
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("terminal: %w", os.NewSyscallError("open", err))
	}
	v.ptmx = fd
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return fmt.Errorf("terminal: %w", os.NewSyscallError("unlock", err))
	}
	return resize(fd, *v.order.Terminal)
}

func resize(fd int, s Size) error {
	err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: s.Rows, Col: s.Cols})
	return os.NewSyscallError("terminal size", err)
}
