package execwatch

import (
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
)

// file is an opened file that is about to run.
type file struct {
	*os.File
	id identity
	// readOnly is what the tree's mount says; other mounts of the same directory may
	// say otherwise.
	readOnly bool
	// honest says that ctime tells of every change.
	honest bool
	// loose says that it may be written to even while it runs: memory with a name,
	// whose maker doesn't count as a writer, unless it is sealed against that.
	loose bool
}

// inspect says what an open file is.
func inspect(f *os.File) (file, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return file{}, &os.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return file{}, &os.PathError{Op: "inspect", Path: f.Name(), Err: unix.EACCES}
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return file{}, &os.PathError{Op: "fstatfs", Path: f.Name(), Err: err}
	}
	readOnly := int64(fs.Flags)&unix.ST_RDONLY != 0
	return file{
		File:     f,
		id:       identify(&st),
		readOnly: readOnly,
		honest:   honest(int64(fs.Type), readOnly),
		loose:    inMemory(int64(fs.Type)) && st.Nlink == 0 && !sealedFile(f),
	}, nil
}

func inMemory(kind int64) bool {
	return kind == unix.TMPFS_MAGIC || kind == unix.HUGETLBFS_MAGIC || kind == unix.RAMFS_MAGIC
}

func sealedFile(f *os.File) bool {
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	return err == nil && seals&unix.F_SEAL_WRITE != 0
}

func identify(st *unix.Stat_t) identity {
	return identity{dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano()}
}

// honest names the file systems on which a change always shows in ctime. On tmpfs
// a write through a mapping doesn't; over a network or in user space the other
// side says what it likes. Layers may be of any kind, so nothing is said of what
// can be written through them.
func honest(kind int64, readOnly bool) bool {
	switch uint32(kind) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.SQUASHFS_MAGIC, unix.EROFS_SUPER_MAGIC_V1:
		return true
	case unix.OVERLAYFS_SUPER_MAGIC:
		return readOnly
	}
	return false
}

// unchanged reports whether the file is in the state that it was inspected in.
func (f file) unchanged() bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && identify(&st) == f.id
}

// read gives the content of a file. Still says that nobody can write to it now. A
// file that is too large, or that changes, or that anyone may change, has no hash.
func (c *Cache) read(f file, still bool, largest int64) content {
	k := key{f.id, still}
	keep := f.honest && (still || f.readOnly)
	if keep {
		if v, ok := c.get(k); ok {
			return v
		}
	}
	if f.loose || f.id.size > largest {
		return content{header: parseHeader(f)}
	}
	began := time.Now()
	hash, ok := sum(f)
	v := content{hash: hash, header: parseHeader(f)}
	if !ok || !f.unchanged() {
		v.hash = joulebox.ID{}
		return v
	}
	if keep {
		c.keep(k, v, began)
	}
	return v
}

// sum hashes as many bytes as the file has, by their offsets: the descriptor may
// be shared.
func sum(f file) (joulebox.ID, bool) {
	h := joulebox.NewHasher()
	n, err := io.CopyBuffer(h, io.NewSectionReader(f, 0, f.id.size), make([]byte, min(256<<10, f.id.size+1)))
	return h.ID(), err == nil && n == f.id.size
}
