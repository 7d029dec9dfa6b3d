package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/wasi"
)

// listBuffer is how much of a directory is read at a time, whatever its size.
const listBuffer = 32 << 10

// List hands out entries from a cookie on, which is the kernel's own position: the
// directory is neither kept in memory nor read again from its start.
func (d *dir) List(ctx context.Context, cookie uint64, yield func(wasi.Dirent) bool) error {
	if err := d.openList(); err != nil {
		return err
	}
	if cookie > math.MaxInt64 {
		return unix.EINVAL
	}
	if _, err := unix.Seek(d.list, int64(cookie), unix.SEEK_SET); err != nil {
		return err
	}
	if d.s.dents == nil {
		d.s.dents = make([]byte, listBuffer)
	}
	for {
		if err := d.s.b.operation(ctx, false); err != nil {
			return err
		}
		n, err := transfer(func() (int, error) { return unix.Getdents(d.list, d.s.dents) })
		if n == 0 || err != nil {
			return err
		}
		d.s.b.counts.readBytes.Add(uint64(n))
		if err := d.s.b.rate.bytes(ctx, n); err != nil {
			return err
		}
		if !d.entries(d.s.dents[:n], yield) {
			return nil
		}
	}
}

// openList decides anew each time: the directory may have another name by now.
func (d *dir) openList() error {
	path, err := d.s.guestName(d.root, d.fd)
	if err != nil {
		return err
	}
	if err := d.s.b.settle(d.s.b.enforcer.MayList(path), path); err != nil {
		return err
	}
	if d.list >= 0 {
		return nil
	}
	d.list, err = openAgain(d.fd, unix.O_RDONLY|unix.O_DIRECTORY)
	return err
}

// Offsets into the kernel's linux_dirent64.
const (
	direntNext = 8
	direntLen  = 16
	direntType = 18
	direntName = 19
)

// entries hands a buffer of entries out; false when yield has enough.
func (d *dir) entries(buf []byte, yield func(wasi.Dirent) bool) bool {
	for len(buf) >= direntName {
		size := int(binary.NativeEndian.Uint16(buf[direntLen:]))
		if size < direntName || size > len(buf) {
			return false
		}
		rec := buf[:size]
		buf = buf[size:]
		name := rec[direntName:]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		e := wasi.Dirent{
			Ino: binary.NativeEndian.Uint64(rec), Next: binary.NativeEndian.Uint64(rec[direntNext:]),
			Type: d.entryType(rec[direntType], name), Name: name,
		}
		if string(name) == ".." {
			e.Ino = 0 // above a root is nothing that a unit knows
		}
		if !yield(e) {
			return false
		}
	}
	return true
}

var direntTypes = map[byte]wasi.Filetype{
	unix.DT_REG: wasi.TypeRegularFile, unix.DT_DIR: wasi.TypeDirectory, unix.DT_LNK: wasi.TypeSymbolicLink,
	unix.DT_BLK: wasi.TypeBlockDevice, unix.DT_CHR: wasi.TypeCharacterDevice, unix.DT_SOCK: wasi.TypeSocketStream,
}

// entryType asks the file where the directory doesn't say.
func (d *dir) entryType(t byte, name []byte) wasi.Filetype {
	if t != unix.DT_UNKNOWN {
		return direntTypes[t]
	}
	var st unix.Stat_t
	if unix.Fstatat(d.fd, string(name), &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return wasi.TypeUnknown
	}
	return filetype(st.Mode)
}
