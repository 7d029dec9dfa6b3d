package execwatch

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mappingsAttack tries to get code into memory in every way that isn't a private
// mapping of a file on a mount that can be run from.
func mappingsAttack() error {
	page := os.Getpagesize()
	const (
		x  = unix.PROT_READ | unix.PROT_EXEC
		w  = unix.PROT_READ | unix.PROT_WRITE
		wx = x | w
	)
	anonymous := func(prot, flags int) func() error {
		return func() error { _, err := unix.Mmap(-1, 0, page, prot, flags|unix.MAP_ANON); return err }
	}
	of := func(path string, open, prot, flags int) func() error {
		return func() error {
			fd, err := unix.Open(path, open|unix.O_CLOEXEC, 0o700)
			if err != nil {
				return fmt.Errorf("BUG: %w", err)
			}
			defer unix.Close(fd)
			_, _ = unix.Pwrite(fd, make([]byte, page), 0)
			_, err = unix.Mmap(fd, 0, page, prot, flags)
			return err
		}
	}
	gain := func(from, to int) func() error {
		return func() error {
			b, err := unix.Mmap(-1, 0, page, from, unix.MAP_ANON|unix.MAP_PRIVATE)
			if err != nil {
				return fmt.Errorf("BUG: %w", err)
			}
			return unix.Mprotect(b, to)
		}
	}
	ways := map[string]func() error{
		"anonymous memory":            anonymous(x, unix.MAP_PRIVATE),
		"writable anonymous memory":   anonymous(wx, unix.MAP_PRIVATE),
		"shared anonymous memory":     anonymous(x, unix.MAP_SHARED),
		"memory that was writable":    gain(w, x),
		"memory that stays writable":  gain(w, wx),
		"a file that can be written":  of("file", unix.O_RDWR|unix.O_CREAT, x, unix.MAP_PRIVATE),
		"a shared one":                of("file", unix.O_RDWR|unix.O_CREAT, x, unix.MAP_SHARED),
		"a program, shared":           of(os.Args[1], unix.O_RDONLY, x, unix.MAP_SHARED),
		"a program, writable":         of(os.Args[1], unix.O_RDONLY, wx, unix.MAP_PRIVATE),
		"a changed copy of a program": changedCopy,
		"a memory file":               func() error { _, err := unix.MemfdCreate("x", unix.MFD_NOEXEC_SEAL); return err },
		"a shared segment": func() error {
			id, err := unix.SysvShmGet(unix.IPC_PRIVATE, page, 0o700)
			if err != nil {
				return fmt.Errorf("BUG: %w", err)
			}
			defer unix.SysvShmCtl(id, unix.IPC_RMID, nil)
			_, err = unix.SysvShmAttach(id, 0, shmExec|unix.SHM_RDONLY)
			return err
		},
		"a personality": func() error {
			if _, _, errno := unix.Syscall(unix.SYS_PERSONALITY, readImpliesExec, 0, 0); errno != 0 {
				return errno
			}
			return nil
		},
		"one's own memory as a file": func() error { _, err := unix.Open("/proc/self/mem", unix.O_RDWR, 0); return err },
	}
	for name, try := range ways {
		err := try()
		if err == nil || !refusal(err) {
			fmt.Fprintf(os.Stderr, "%s: got %v, want a refusal\n", name, err)
			_, _ = unix.Write(markerFD, []byte("!"))
		}
		_, _ = unix.Write(markerFD, []byte("."))
	}
	// And what every program does still works.
	if err := of(os.Args[1], unix.O_RDONLY, x, unix.MAP_PRIVATE)(); err != nil {
		return fmt.Errorf("a program's own mapping: %w", err)
	}
	if r, _, errno := unix.Syscall(unix.SYS_PERSONALITY, askPersonality, 0, 0); errno != 0 {
		return fmt.Errorf("asking for the personality: %d, %w", r, errno)
	}
	return nil
}

func refusal(err error) bool {
	for _, e := range []error{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EROFS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// changedCopy makes a program's own mapping writable, and executable again.
func changedCopy() error {
	fd, err := unix.Open(os.Args[1], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("BUG: %w", err)
	}
	defer unix.Close(fd)
	const x = unix.PROT_READ | unix.PROT_EXEC
	b, err := unix.Mmap(fd, 0, os.Getpagesize(), x, unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("BUG: %w", err)
	}
	if err := unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return fmt.Errorf("BUG: %w", err)
	}
	b[0]++
	return unix.Mprotect(b, x)
}
