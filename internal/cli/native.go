package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/internal/rootfs"
)

// unitPath is where a native unit itself looks for programs.
const unitPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// isNative reports whether a word names a native program: a bare name that no file
// here has, or the path of an executable of this machine, or of a script that no
// language here runs at a lower tier. A bare name never means a native program that
// lies here by chance, or by someone's design.
func (f *runFlags) isNative(word string) (bool, error) {
	if f.lang != "" || word == "-" || f.set.Changed("code") {
		return false, nil
	}
	file, err := openProgram(word)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return !strings.Contains(word, "/") && filepath.Ext(word) != ".wasm" && filepath.Ext(word) != ".wat", nil
	case err != nil:
		return false, nil // it is told when it is read
	}
	defer file.Close()
	head := make([]byte, 256)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		if strings.Contains(word, "/") {
			return false, nil
		}
		_, err := lookUp(word)
		return err == nil, nil // a folder that has a program's name is no reason not to run it
	}
	switch head = head[:n]; {
	case bytes.HasPrefix(head, []byte("\x7fELF")) && !strings.Contains(word, "/"):
		return false, fail(exitDecline, fmt.Errorf("%s: is it the file that is here, or a program of that name?", word),
			"write ./"+word+" for the file, or the whole path of the program")
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return true, nil
	case bytes.HasPrefix(head, []byte("#!")) && strings.Contains(word, "/"):
		l, err := f.language(&program{name: filepath.Base(word), data: head})
		return l == nil || err != nil, nil
	}
	return false, nil
}

// openProgram opens what may be a program. Opening a named pipe would wait for who
// writes to it, and a program has to be read more than once.
func openProgram(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "read", Path: name, Err: errNoFile}
	}
	if err != nil {
		return nil, err
	}
	return os.Open(name)
}

var errNoFile = errors.New("a program has to be a file; - reads it from standard input")

// nativeProgram finds and reads a native program. A bare name is looked for as the
// unit would, then as the caller's shell would.
func nativeProgram(args []string) (*program, error) {
	path, err := lookUp(args[0])
	if err != nil {
		return nil, err
	}
	n, err := host.HostProgram(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(exitMissing, err, "")
	case errors.Is(err, fs.ErrPermission):
		return nil, fail(exitDenied, err, "")
	case err != nil:
		return nil, fail(exitDecline, err, "")
	}
	return &program{name: filepath.Base(path), path: path, args: args[1:], native: n}, nil
}

func lookUp(name string) (string, error) {
	if strings.Contains(name, "/") {
		path, err := filepath.Abs(name)
		if err != nil {
			return "", fail(exitDecline, err, "")
		}
		return path, nil
	}
	path, err := rootfs.LookPath(name, unitPath+":"+os.Getenv("PATH"))
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, fs.ErrPermission):
		return "", fail(exitDenied, err, "")
	case !errors.Is(err, fs.ErrNotExist):
		return "", fail(exitDecline, err, "")
	}
	hint := ""
	switch {
	case strings.HasPrefix(name, "-"):
		hint = "flags stand before the program"
	case exists(name):
		hint = "write ./" + name + " for the file that is here"
	}
	return "", fail(exitMissing, fmt.Errorf("%s: not found on the PATH", name), hint)
}

// programPaths finds the programs that --exec names without a folder.
func programPaths(names []string) (paths []string, err error) {
	for _, name := range names {
		if !strings.Contains(name, "/") && name != "" {
			if name, err = lookUp(name); err != nil {
				return nil, err
			}
			if real, err := filepath.EvalSymlinks(name); err == nil && real != name {
				paths = append(paths, real) // links are resolved before it is decided
			}
		}
		paths = append(paths, name)
	}
	return paths, nil
}
