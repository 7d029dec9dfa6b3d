package execwatch

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
)

// SealedCopy copies a program or script to memory that nobody can change, and gives
// its content address: what was judged is then what runs, whoever has the file. Run
// it through /proc/self/fd; a script's interpreter opens that too, so its descriptor
// must stay open in execve. Its name is no longer the file's. Largest bounds the
// copy.
func SealedCopy(r io.Reader, name string, largest int64) (*os.File, joulebox.ID, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 it took no such flag
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, joulebox.ID{}, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	h := joulebox.NewHasher()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(r, largest+1))
	if err == nil && n > largest {
		err = fmt.Errorf("program %q: it has more than %d bytes", name, largest)
	}
	if err != nil {
		return nil, joulebox.ID{}, err
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return nil, joulebox.ID{}, os.NewSyscallError("fcntl", err)
	}
	// A descriptor for reading: one for writing keeps the kernel from running it.
	read, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	return read, h.ID(), err
}
