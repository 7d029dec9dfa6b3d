package rootfs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/unit"
)

// scanner goes through a tree without following a link and without leaving the file
// system that it begins on. It reads no file.
type scanner struct {
	budget *budget
	device uint64
	newest int64 // the last change of anything
	found  []found
	left   *LeftOut // what is passed over; nil refuses it
}

// scan lists what is beneath a folder, itself included, sorted by the paths' bytes.
func scan(ctx context.Context, dir int, b *budget, left *LeftOut) (*scanner, error) {
	var t unix.Stat_t
	if err := unix.Fstat(dir, &t); err != nil {
		return nil, named("stat", "", err)
	}
	s := &scanner{budget: b, device: t.Dev, left: left}
	if err := s.see("/", &t, ""); err != nil {
		return nil, err
	}
	if err := s.dir(ctx, dir, "", 0); err != nil {
		return nil, err
	}
	slices.SortFunc(s.found, func(a, b found) int { return cmp.Compare(a.Path, b.Path) })
	return s, nil
}

func (s *scanner) dir(ctx context.Context, dir int, path string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	names, err := namesIn(dir)
	if err != nil {
		return fmt.Errorf("%q: %w", cmp.Or(path, "/"), err)
	}
	for _, name := range names {
		if err := s.name(ctx, dir, path+"/"+name, name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) name(ctx context.Context, dir int, path, name string, depth int) error {
	if err := checkText(path); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	if depth > s.budget.Depth {
		return &LimitError{"depth", int64(depth), int64(s.budget.Depth)}
	}
	var t unix.Stat_t
	if err := unix.Fstatat(dir, name, &t, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return named("stat", path, err)
	}
	if t.Dev != s.device {
		return fmt.Errorf("%q: is a mount of its own; unmount it, or give a copy", path)
	}
	target := ""
	if t.Mode&unix.S_IFMT == unix.S_IFLNK {
		var err error
		if target, err = readLink(dir, name); err != nil {
			return named("link", path, err)
		}
	}
	if err := s.see(path, &t, target); err != nil || t.Mode&unix.S_IFMT != unix.S_IFDIR {
		return err
	}
	fd, err := openDir(dir, name)
	if err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	defer unix.Close(fd)
	return s.dir(ctx, fd, path, depth)
}

// see notes an entry.
func (s *scanner) see(path string, t *unix.Stat_t, target string) error {
	if err := s.budget.entry(len(path) + len(target)); err != nil {
		return err
	}
	f := found{Entry: unit.Entry{Path: path, Mode: t.Mode & maxMode}, state: stateOf(t)}
	switch t.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		f.Type = unit.Dir
	case unix.S_IFREG:
		f.Type = unit.File
		if err := s.budget.file(t.Size); err != nil {
			return fmt.Errorf("%q: %w", path, err)
		}
	case unix.S_IFLNK:
		f.Type, f.Target = unit.Link, target
		if err := checkText(target); err != nil {
			return fmt.Errorf("%q: link: %w", path, err)
		}
	default:
		return s.passOver(path, t.Mode&unix.S_IFMT)
	}
	s.newest = max(s.newest, f.changed, t.Mtim.Nano())
	s.found = append(s.found, f)
	return nil
}

func (s *scanner) passOver(path string, kind uint32) error {
	if s.left == nil {
		return fmt.Errorf("%q: is a device, pipe or socket", path)
	}
	switch kind {
	case unix.S_IFIFO:
		s.left.Pipes++
	case unix.S_IFSOCK:
		s.left.Sockets++
	default:
		s.left.Devices++
	}
	return nil
}

func stateOf(t *unix.Stat_t) state {
	s := state{inode: t.Ino, changed: time.Unix(t.Ctim.Unix()).UnixNano()}
	if t.Mode&unix.S_IFMT == unix.S_IFREG {
		s.size = t.Size
	}
	return s
}

// namesIn reads a folder through a description of its own, since reading one moves
// it.
func namesIn(dir int) ([]string, error) {
	fd, err := openDir(dir, ".")
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	return f.Readdirnames(-1)
}

func readLink(dir int, name string) (string, error) {
	buf := make([]byte, maxPath+1)
	n, err := again(func() (int, error) { return unix.Readlinkat(dir, name, buf) })
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}
