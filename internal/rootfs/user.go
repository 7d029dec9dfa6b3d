package rootfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/unit"
)

// maxUsers bounds the lists of users and groups that an image brings.
const maxUsers = 1 << 20

// User is who the image's program runs as: the numbers of Config.User, which is
// "user", "uid", "user:group" or any mix of them, by the lists that the image itself
// has. Without a group it is the user's own of those lists, and 0 for a user that
// isn't in them; without a user it is 0, as OCI has it. A name that the lists lack is
// an error that is fs.ErrNotExist.
func (r *Root) User() (uid, gid uint32, err error) {
	if r.Config.User == "" {
		return 0, 0, nil
	}
	var lists [2][]byte
	for i, name := range []string{"/etc/passwd", "/etc/group"} {
		if lists[i], err = r.read(name, maxUsers); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, 0, err
		}
	}
	uid, gid, err = findUser(r.Config.User, lists[0], lists[1])
	if err != nil {
		err = fmt.Errorf("the image's user %q: %w", r.Config.User, err)
	}
	return uid, gid, err
}

// read reads a file of the tree, whose bytes have to be those of its address.
func (r *Root) read(name string, largest int64) ([]byte, error) {
	e, err := Resolve(r.Image, name)
	switch {
	case err != nil:
		return nil, err
	case e.Type != unit.File:
		return nil, fmt.Errorf("%s: want a file: %w", name, fs.ErrNotExist)
	}
	tree, err := os.OpenRoot(r.Path)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	f, err := tree.Open(strings.TrimPrefix(e.Path, "/"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, largest+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(text)) > largest:
		return nil, fmt.Errorf("%s: want at most %d bytes", name, largest)
	case joulebox.Sum(text) != e.B3:
		return nil, fmt.Errorf("%s: its bytes aren't the image's any more", name)
	}
	return text, nil
}

// findUser reads "user[:group]" by the lists of passwd(5) and group(5).
func findUser(text string, passwd, group []byte) (uid, gid uint32, err error) {
	user, wanted, hasGroup := strings.Cut(text, ":")
	if user != "" {
		if uid, gid, err = findNumbers(passwd, user); err != nil {
			return 0, 0, err
		}
	}
	if !hasGroup {
		return uid, gid, nil
	}
	if fields := findEntry(group, wanted, 4); fields != nil {
		wanted = fields[2]
	}
	if gid, err = number(wanted); err != nil {
		return 0, 0, fmt.Errorf("got the group %q, want a number or a name that is in /etc/group: %w", wanted, err)
	}
	return uid, gid, nil
}

// findNumbers gives a user's number, and that of the group that is its own.
func findNumbers(passwd []byte, user string) (uid, gid uint32, err error) {
	fields := findEntry(passwd, user, 7)
	if fields == nil {
		if uid, err = number(user); err != nil {
			err = fmt.Errorf("got the user %q, want a number or a name that is in /etc/passwd: %w", user, err)
		}
		return uid, 0, err
	}
	if uid, err = number(fields[2]); err == nil {
		gid, err = number(fields[3])
	}
	if err != nil {
		err = fmt.Errorf("/etc/passwd: the entry of %q: %w", user, err)
	}
	return uid, gid, err
}

// findEntry gives the first entry of a name, else of a number, in a list whose entries
// have as many fields.
func findEntry(list []byte, key string, fields int) (byNumber []string) {
	for line := range bytes.Lines(list) {
		f := strings.Split(strings.TrimRight(string(line), "\n"), ":")
		switch {
		case len(f) != fields || key == "":
		case f[0] == key:
			return f
		case f[2] == key && byNumber == nil && key[0] != '-':
			byNumber = f
		}
	}
	return byNumber
}

func number(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, errors.Join(fs.ErrNotExist, fmt.Errorf("%q is no number from 0 to %d", text, 1<<31-1))
	}
	return uint32(n), nil
}
