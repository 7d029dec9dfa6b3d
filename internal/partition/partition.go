// Package partition runs a program in a partition of its own: namespaces, a view of
// files that is made of what was handed over, a share of processor, memory and
// disk, no capability, and a short list of system calls (§2.2, S3). It knows
// nothing of grants, keys and meters.
//
// The partition's first process is a re-execution of this program, which builds the
// view, gives up all that it has, starts the program and reaps what comes of it.
// When it ends, so does everything in the partition.
package partition

import (
	"os"
	"time"
)

// Home is a program's own folder, in memory.
const Home = "/home/unit"

// Spec is what a partition is made of.
type Spec struct {
	Argv []string // the program's name first
	Env  []string
	Dir  string // where it begins; empty is its home
	// Program is executed from this descriptor, so what was looked at is what runs.
	// Nil executes Path.
	Program *os.File
	Path    string // as the unit sees it

	Stdin, Stdout, Stderr *os.File
	// Terminal gives the program a terminal in place of the three.
	Terminal      bool
	Rows, Columns uint16

	// Root is the directory of a root filesystem; empty shows parts of this host's.
	Root   string
	Mounts []Mount
	// Covered are paths in the view that are shown empty, whatever a mount holds there.
	Covered []string
	// UID and GID are who the program is within.
	UID, GID uint32

	Limits Limits
	// Held is called when the partition stands and before the program starts, with the
	// process that all of it comes from, which stands still meanwhile.
	Held func(pid int) error
	// Sealed takes from the program the ways to run code that no execve brings in.
	Sealed bool
}

// Mount shows a file or directory of this host.
type Mount struct {
	Source string // by its real path
	Dev    uint64 // what that is; when it has become something else nothing starts
	Ino    uint64
	Target string // as the unit sees it
	Read   bool
	Write  bool
	Delete bool
}

// Limits are the partition's share. Zero bounds nothing but by what the host has.
type Limits struct {
	Memory    uint64 // bytes, of all its processes and its own files in memory
	Tasks     uint64 // threads and processes at once
	ReadBPS   uint64 // bytes a second from each disk that a mount is on
	WriteBPS  uint64
	IOPS      uint64 // operations a second, of each kind
	OpenFiles uint64 // of each process
}

// Usage is what a partition has used.
type Usage struct {
	CPUTime    time.Duration
	PeakMemory uint64
	Reads, ReadBytes,
	Writes, WrittenBytes uint64 // of disks; what memory answered isn't counted
}

// End is how the program ended.
type End struct {
	Code   int    // of a program that ended by itself
	Signal uint32 // else
	// OutOfMemory says that the kernel ended a process for want of the partition's
	// memory.
	OutOfMemory bool
	// Killed says that Kill was called before the program had ended.
	Killed bool
	// Probing says that something tried what only someone who wants out does.
	Probing bool
	Usage   Usage
}

// MissingError says what this host lacks, and what to do about it.
type MissingError struct {
	What string
	Err  error
	Hint string
}

func (e *MissingError) Error() string { return e.What + ": " + e.Err.Error() }
func (e *MissingError) Unwrap() error { return e.Err }

// StartError is that a partition stands and the program couldn't be started in it.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }
