package rootfs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jail/execwatch"
	"github.com/joulebox/joulebox/unit"
)

// maxScript bounds a script, which is copied to memory.
const maxScript = 64 << 20

// Host opens a program of the host's own filesystem, of which it alone is pinned
// (§3). Path is the program's name as the unit sees it and must be absolute.
//
// What is hashed is what Root.Program holds. A program is hashed as it is open; who
// may write to it still can, which Again shows. A script is read by its interpreter
// again, so Program is a copy of the bytes that were hashed, in memory that nobody
// can change: run it through its descriptor, which must stay open in execve.
func Host(path string) (*Root, error) {
	root, err := openHost(path)
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	return root, nil
}

func openHost(path string) (*Root, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return nil, fmt.Errorf("got %q, want an absolute path without \".\", \"..\" and empty parts", path)
	}
	if err := executable(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s: is no file", path)
	}
	program, id, err := hostProgram(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	r := &Root{Image: unit.Image{Kind: unit.Host, Program: unit.Program{Path: path, B3: id}}, Program: program, close: program.Close}
	if r.ID, err = r.Image.ID(); err != nil {
		program.Close()
		return nil, err
	}
	r.again = func(context.Context) (joulebox.ID, error) {
		id, err := sum(whole(program))
		if err != nil {
			return joulebox.ID{}, err
		}
		im := r.Image
		im.Program.B3 = id
		return im.ID()
	}
	return r, nil
}

func whole(f *os.File) io.Reader { return io.NewSectionReader(f, 0, 1<<62) }

// hostProgram gives what is executed, and its address. A script's file is closed.
func hostProgram(f *os.File) (*os.File, joulebox.ID, error) {
	var head [2]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || !bytes.Equal(head[:], []byte("#!")) {
		id, err := sum(whole(f))
		return f, id, err
	}
	sealed, id, err := execwatch.SealedCopy(whole(f), filepath.Base(f.Name()), maxScript)
	if err != nil {
		return nil, id, err
	}
	f.Close()
	return sealed, id, nil
}
