package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/unit"
)

// LookError is a program that can't be run: fs.ErrNotExist or fs.ErrPermission.
type LookError struct {
	Name string
	Err  error
}

func (e *LookError) Error() string {
	if errors.Is(e.Err, fs.ErrPermission) {
		return fmt.Sprintf("%s: is there and may not be executed", e.Name)
	}
	return fmt.Sprintf("%s: no such program", e.Name)
}

func (e *LookError) Unwrap() error { return e.Err }

// Program is a program in a tree.
type Program struct {
	Path string // canonical: it leads through no link
	B3   joulebox.ID
	Mode uint32
}

// LookPath finds a program in a tree, as a shell would whose root it is: links lead
// nowhere else. A name with a slash that isn't absolute begins in the image's
// working directory. Errors are those of the function [LookPath].
func (r *Root) LookPath(name, pathList string) (Program, error) {
	if strings.Contains(name, "/") {
		full := name
		if name[0] != '/' {
			full = path.Join("/", r.Config.WorkingDir) + "/" + name
		}
		return r.program(full)
	}
	denied := false
	for dir := range strings.SplitSeq(pathList, ":") {
		if name == "" || dir == "" || dir[0] != '/' {
			continue
		}
		p, err := r.program(dir + "/" + name)
		if err == nil {
			return p, nil
		}
		denied = denied || errors.Is(err, fs.ErrPermission)
	}
	if denied {
		return Program{}, &LookError{name, fs.ErrPermission}
	}
	return Program{}, &LookError{name, fs.ErrNotExist}
}

func (r *Root) program(full string) (Program, error) {
	e, err := Resolve(r.Image, full)
	switch {
	case err != nil:
		return Program{}, &LookError{full, fs.ErrNotExist}
	case e.Type != unit.File, e.Mode&0o111 == 0:
		return Program{}, &LookError{full, fs.ErrPermission}
	}
	return Program{e.Path, e.B3, e.Mode}, nil
}

// Resolve follows a path through a tree's links, as a process would whose root it
// is, to an entry that is no link. It reads no disk.
func Resolve(im unit.Image, full string) (unit.Entry, error) {
	at, links := unit.Entry{Path: "/", Type: unit.Dir}, 0
	rest := strings.Split(full, "/")
	for len(rest) > 0 {
		seg := rest[0]
		rest = rest[1:]
		if at.Type != unit.Dir {
			return unit.Entry{}, fmt.Errorf("%s: %w", full, fs.ErrNotExist)
		}
		switch seg {
		case "", ".":
			continue
		case "..":
			at = unit.Entry{Path: path.Dir(at.Path), Type: unit.Dir}
			continue
		}
		next, ok := entryAt(im, strings.TrimSuffix(at.Path, "/")+"/"+seg)
		if !ok {
			return unit.Entry{}, fmt.Errorf("%s: %w", full, fs.ErrNotExist)
		}
		if next.Type != unit.Link {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return unit.Entry{}, fmt.Errorf("%s: leads through more than %d links", full, maxLinks)
		}
		if strings.HasPrefix(next.Target, "/") {
			at = unit.Entry{Path: "/", Type: unit.Dir}
		}
		rest = append(strings.Split(next.Target, "/"), rest...)
	}
	if found, ok := entryAt(im, at.Path); ok {
		at = found
	}
	return at, nil
}

func entryAt(im unit.Image, p string) (unit.Entry, bool) {
	i, ok := slices.BinarySearchFunc(im.Entries, p, func(e unit.Entry, p string) int { return strings.Compare(e.Path, p) })
	if !ok {
		return unit.Entry{}, false
	}
	return im.Entries[i], true
}
