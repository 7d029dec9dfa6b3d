package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/unit"
)

// HostProgram makes the image of a program in this host's own file system. What is
// hashed is what runs: the program is executed from the file that it was read from, a
// script from a copy that nobody can change, and what is about to run is hashed once
// more. Nothing else of the host is pinned (§3).
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
	id, err := sumFile(file)
	if err != nil {
		return nil, err
	}
	n = &Native{Image: unit.Image{Kind: unit.Host, Program: unit.Program{Path: path, B3: id}}, Program: file, UID: unitUser, GID: unitUser}
	if n.ID, err = n.Image.ID(); err != nil {
		return nil, err
	}
	n.Again = func(context.Context) (joulebox.ID, error) {
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
