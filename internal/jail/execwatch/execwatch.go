// Package execwatch decides every execve in a tree of processes by the BLAKE3 of
// the bytes that are about to run (§5.5). A name is no more than a hint: rename,
// copy, links, wrapper scripts, interpreters' first lines and descriptors all lead
// to the same bytes.
//
// There are two mechanisms. With the superuser's rights the kernel asks before it
// runs a file (fanotify); otherwise the tree is traced and stopped in execve, when
// the kernel keeps the new program from being written to and before its first
// instruction (ptrace). [Start] watches a process that stands still and all that
// comes of it. [Trace] and [Reap] are the loops of a process that has a tree of
// its own to wait for.
//
// A program that has started can still map code by itself. [Rules],
// [DenyExecGain], [SealMemfds] and [CheckMounts] are what a cell adds where the
// grant holds hashes.
package execwatch

import (
	"fmt"
	"syscall"

	"github.com/joulebox/joulebox"
)

// Role is the part that a file has in an execve.
type Role uint8

// The roles.
const (
	Program     Role = iota // what the call named
	Script                  // what the call named, a file whose first line names an interpreter
	Interpreter             // what a script's first line names
	Loader                  // what a program's header names, ld.so
)

var roleNames = [...]string{"program", "script", "interpreter", "loader"}

// String is the role as a word.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role %d", uint8(r))
}

// Exec is one file of one execve. A call has one to four of them or more: a
// script, its interpreter, the interpreter's loader. Each is decided, and the call
// fails with the first that is refused.
type Exec struct {
	// PID is the process, as the watching process knows it.
	PID int
	// Path is the file as the unit sees it, links resolved. It is a name, and may
	// have changed since.
	Path string
	// Hash is the content address of its bytes; zero when they can't be read.
	Hash joulebox.ID
	// Size is how many bytes.
	Size int64
	Role Role
	// Entry says that this is the tree's first execve: the unit's own entrypoint.
	Entry bool
	// Writable says that the file lies on a mount that isn't read-only in the tree's
	// view.
	Writable bool
}

// Verdict is the answer.
type Verdict struct {
	Allowed bool
	// Reason names the rule.
	Reason string
}

// Decide answers for one file. It may be called from several threads at once, and
// the process waits for it.
type Decide func(Exec) Verdict

// Record is a decision that was made and enforced.
type Record struct {
	Exec
	Verdict
}

// Ended is told of an end.
type Ended func(pid int, status syscall.WaitStatus, usage syscall.Rusage)

// Options are how a tree is watched.
type Options struct {
	// Decide is asked for each file. Nil refuses all.
	Decide Decide
	// Record is told of each decision, by one thread at a time. It must not block.
	Record func(Record)
	// Ended is told of each thread and process whose end the tracing thread sees, with
	// what wait4 gives. A traced child of a process that lives is seen here first and
	// by its parent then; if the parent never waits for it, it is seen here again.
	Ended Ended
	// Sealed says that hashes bind. Then nothing runs whose bytes may be others when
	// they are read than when they were judged: no unknown content, and no script,
	// interpreter or loader from a writable mount; and no loader by itself, since it
	// runs what it is told to.
	Sealed bool
	// Cache is for trees that share files. Nil is a new one.
	Cache *Cache
	// Largest is the size of the largest file that is read; the content of a larger
	// one isn't known. Zero is 4 GiB.
	Largest int64
}

const defaultLargest = 4 << 30

func (o Options) withDefaults() Options {
	if o.Decide == nil {
		o.Decide = func(Exec) Verdict { return Verdict{Reason: "no exec grant"} }
	}
	if o.Record == nil {
		o.Record = func(Record) {}
	}
	if o.Ended == nil {
		o.Ended = func(int, syscall.WaitStatus, syscall.Rusage) {}
	}
	if o.Cache == nil {
		o.Cache = NewCache()
	}
	if o.Largest == 0 {
		o.Largest = defaultLargest
	}
	return o
}

// Mechanism is a way to watch.
type Mechanism string

// The mechanisms.
const (
	Fanotify Mechanism = "fanotify"
	Ptrace   Mechanism = "ptrace"
)
