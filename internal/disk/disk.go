// Package disk is the narrow way to the file system that keys and records take:
// few operations, each one what it says, so that crash safety can be proven by
// putting a disk that fails in its place (disktest).
//
// Nothing here follows a symbolic link in the last component of a name. Files
// are made 0600 and folders 0700.
package disk

import (
	"context"
	"io"
	"io/fs"
	"os"
)

// FS is a file system. Errors are those of package os: errors.Is with
// fs.ErrNotExist, fs.ErrExist, syscall.ENOSPC and the like works on them.
type FS interface {
	// Open opens a file, or a folder with os.O_RDONLY. A symbolic link is an error.
	// It never waits, not even on a named pipe.
	Open(name string, flag int) (File, error)
	Mkdir(name string) error
	Rename(from, to string) error
	Remove(name string) error
	// List returns the names in a folder, sorted.
	List(name string) ([]string, error)
	// Stat doesn't follow a symbolic link.
	Stat(name string) (Stat, error)
	// SyncDir makes the names in a folder durable.
	SyncDir(name string) error
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt // one system call where the system lets it be one
	io.Closer
	Stat() (Stat, error)
	Truncate(size int64) error
	// Sync makes the data durable, and as much about the file as is needed to read
	// it back. Times may be lost.
	Sync() error
	Chmod(mode fs.FileMode) error
	// Lock waits for an advisory lock that ends with the file or the process.
	// Locks of two File values exclude each other also within one process.
	Lock(ctx context.Context, how LockKind) error
	// TryLock doesn't wait; false says that someone else holds it.
	TryLock(how LockKind) (bool, error)
	Unlock() error
}

// LockKind says who else may hold a lock.
type LockKind bool

// The two kinds.
const (
	Shared    LockKind = false
	Exclusive LockKind = true
)

// Stat is what is known about a file or folder.
type Stat struct {
	Mode   fs.FileMode
	Size   int64
	Owner  int    // user id
	Links  uint64 // names that the file has
	Device uint64
	Inode  uint64
	Born   int64 // birth in nanoseconds of Unix time; 0 where the file system doesn't say
}

// CreateNew are the flags for a file that must not be there yet.
const CreateNew = os.O_RDWR | os.O_CREATE | os.O_EXCL

const (
	fileMode   fs.FileMode = 0o600
	folderMode fs.FileMode = 0o700
)
