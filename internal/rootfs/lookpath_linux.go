package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// LookPath finds a program of the host as a shell would. An error that is
// fs.ErrPermission says that there is something that may not be run (exit code 126);
// one that is fs.ErrNotExist that there is nothing (127). Entries of path that
// aren't absolute are passed over.
func LookPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	if name == "" {
		return "", &LookError{name, fs.ErrNotExist}
	}
	denied := false
	for dir := range strings.SplitSeq(path, ":") {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		denied = denied || errors.Is(err, fs.ErrPermission)
	}
	if denied {
		return "", &LookError{name, fs.ErrPermission}
	}
	return "", &LookError{name, fs.ErrNotExist}
}

func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return &LookError{file, fs.ErrPermission}
	case err != nil:
		return &LookError{file, fs.ErrNotExist}
	case !info.Mode().IsRegular(), unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS) != nil, info.Mode().Perm()&0o111 == 0:
		return &LookError{file, fs.ErrPermission}
	}
	return nil
}
