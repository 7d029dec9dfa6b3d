package wasi

import (
	"context"
	"time"

	"github.com/joulebox/joulebox/internal/effect"
	"github.com/joulebox/joulebox/internal/toll"
)

// System is everything that a guest can reach through WASI. Errors are Errnos or
// syscall.Errnos; anything else is told to the guest as EIO.
type System interface {
	Args() []string
	Environ() []string // "NAME=value"
	Tolls() toll.Table
	Recorder() effect.Recorder // nil for none

	// Now is a clock's time in nanoseconds; counted is how many units the run has
	// used, for clocks that follow the work and not the world.
	Now(id ClockID, counted uint64) (uint64, error)
	// Resolution is a clock's step in nanoseconds.
	Resolution(id ClockID) (uint64, error)
	// Wait lasts until ready is closed (true), d has passed, or ctx ends. A nil
	// ready never closes; a negative d never passes.
	Wait(ctx context.Context, d time.Duration, ready <-chan struct{}) bool
	// Virtual reports that time passes by counting alone.
	Virtual() bool

	Random(ctx context.Context, p []byte) error

	Stdin() Stream
	Stdout() Stream
	Stderr() Stream
	// Terminal reports that the unit was told that it talks to one.
	Terminal() bool

	// Preopens opens the directories that a unit begins with, as descriptors 3 and on.
	Preopens() ([]Preopen, error)
}

// Preopen is a directory that is open from the start.
type Preopen struct {
	Name string // guest path
	Dir  Dir
}

// Stream is one end of the standard streams. Reads block until there is a byte,
// the end (0, nil) or the end of ctx.
type Stream interface {
	Read(ctx context.Context, bufs [][]byte) (int, error)
	Write(ctx context.Context, bufs [][]byte) (int, error)
	// Ready is how many bytes can be read at once, and a channel that closes when
	// that changes; nil when reading won't block.
	Ready() (int, <-chan struct{})
}

// File is an open file.
type File interface {
	Read(ctx context.Context, bufs [][]byte) (int, error)
	Write(ctx context.Context, bufs [][]byte) (int, error)
	Pread(ctx context.Context, bufs [][]byte, off int64) (int, error)
	Pwrite(ctx context.Context, bufs [][]byte, off int64) (int, error)
	// Seek has io.Seeker's whence.
	Seek(off int64, whence int) (int64, error)
	Advise(off, length int64, advice uint8) error
	Allocate(ctx context.Context, off, length int64) error
	Sync(ctx context.Context, dataOnly bool) error
	SetSize(ctx context.Context, n int64) error
	SetFlags(f Fdflags) error
	Node
}

// Node is what files and directories have in common.
type Node interface {
	Stat(ctx context.Context) (Filestat, error)
	SetTimes(ctx context.Context, t Times) error
	Close() error
}

// Dir is an open directory. Paths are not empty and UTF-8 without NUL. They
// resolve beneath the directory on every component; an absolute one never does.
type Dir interface {
	// Open gives a File or a Dir, the other one nil.
	Open(ctx context.Context, path string, how OpenHow) (File, Dir, error)
	StatAt(ctx context.Context, path string, follow bool) (Filestat, error)
	SetTimesAt(ctx context.Context, path string, follow bool, t Times) error
	Mkdir(ctx context.Context, path string) error
	Rmdir(ctx context.Context, path string) error
	Unlink(ctx context.Context, path string) error
	Rename(ctx context.Context, path string, to Dir, newPath string) error
	Link(ctx context.Context, path string, to Dir, newPath string) error
	Symlink(ctx context.Context, target, path string) error
	Readlink(ctx context.Context, path string) (string, error)
	// List hands entries over from cookie on, until yield says false or the end.
	List(ctx context.Context, cookie uint64, yield func(Dirent) bool) error
	Sync(ctx context.Context, dataOnly bool) error
	Node
}
