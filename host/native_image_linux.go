package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/unit"
)

// HostProgram makes the image of a program in this host's own file system. What is
// hashed is what runs: the program is executed from the descriptor that it was read
// from, and a script, which its interpreter reads again, from a copy that nobody
// can change. Nothing else of the host is pinned (§3).
func HostProgram(path string) (n *Native, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, errNoProgram)
	}
	if unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) != nil {
		return nil, fmt.Errorf("%s may not be executed: %w", path, os.ErrPermission)
	}
	if file, err = sealedScript(file); err != nil {
		return nil, err
	}
	id, err := sumFile(file)
	if err != nil {
		return nil, err
	}
	n = &Native{Image: unit.Image{Kind: unit.Host, Program: unit.Program{Path: path, B3: id}}, Program: file, UID: unitUser, GID: unitUser}
	if n.ID, err = n.Image.ID(); err != nil {
		return nil, err
	}
	n.Again = func() (joulebox.ID, error) {
		id, err := sumFile(file)
		if err != nil {
			return joulebox.ID{}, err
		}
		again := n.Image
		again.Program.B3 = id
		return again.ID()
	}
	return n, nil
}

var errNoProgram = errors.New("it is no file")

// unitUser is who a unit is, within: an ordinary user, as most programs want one.
const unitUser = 1000

func sumFile(f *os.File) (joulebox.ID, error) {
	h := joulebox.NewHasher()
	_, err := io.Copy(h, io.NewSectionReader(f, 0, 1<<62))
	return h.ID(), err
}

// maxScriptFile bounds a script, which is copied.
const maxScriptFile = 64 << 20

// sealedScript replaces a script by a copy of it that can't be changed.
func sealedScript(file *os.File) (*os.File, error) {
	var head [2]byte
	if n, err := file.ReadAt(head[:], 0); n < 2 || err != nil || !bytes.Equal(head[:], []byte("#!")) {
		return file, nil
	}
	fd, err := unix.MemfdCreate("script", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // a kernel that doesn't tell memory files apart
		fd, err = unix.MemfdCreate("script", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return file, fmt.Errorf("copy of the script: %w", err)
	}
	copied := os.NewFile(uintptr(fd), file.Name())
	n, err := io.Copy(copied, io.LimitReader(io.NewSectionReader(file, 0, 1<<62), maxScriptFile+1))
	if err == nil && n > maxScriptFile {
		err = fmt.Errorf("the script is larger than %d bytes", maxScriptFile)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err == nil {
		err = unix.Fchmod(fd, 0o555)
	}
	if err != nil {
		copied.Close()
		return file, fmt.Errorf("copy of the script: %w", err)
	}
	// Another description, which isn't open for writing: the kernel doesn't execute
	// what someone may write to.
	again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	copied.Close()
	if err != nil {
		return file, fmt.Errorf("copy of the script: %w", err)
	}
	file.Close()
	return again, nil
}

// Close lets go of the program or tree.
func (n *Native) Close() error {
	var errs []error
	for _, f := range []*os.File{n.Program, n.Root} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
