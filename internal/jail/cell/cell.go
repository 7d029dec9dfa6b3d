// Package cell builds the jail in which a native unit runs (§2.4, §7.5): its own
// namespaces, a view of files that is made of what it was handed, control groups,
// a list of system calls, Landlock beneath, and no privileges. It knows nothing of
// grants; it does what a [Spec] says or declines.
//
// A cell is a re-execution of this program that becomes the first process of the
// cell's namespaces, so main must call [RunInitIfAsked] before all else. That
// process builds the view, gives its own rights away, starts the unit, takes in
// what is orphaned, and ends everything when the unit's main process has ended.
//
//	supervisor ── socket ── init (pid 1, outside of the unit's limits of rights)
//	                          └── the unit's main process and all that comes of it
//
// Who is who: the unit's user is the caller outside, whatever its number inside
// (Spec.UID), so granted files of the caller can be read and written as the caller
// could; files of others, as anyone could. It has no capability, inside or outside,
// and can't get any, so it can't become anyone else: root's unit is root's files'
// owner and nothing more, and what it leaves there lends nobody root's rights.
//
// What is enforced by whom:
//
//	nothing but the granted is there   a mount namespace with a root of its own
//	read, write, delete, exec apart    Landlock; read-only and noexec mounts beneath it
//	sockets in granted folders         Landlock from version 9 on, else connections are made by init
//	nobody else is seen or signalled   pid, ipc, uts, cgroup, time and user namespaces
//	no network but the granted         a network namespace of its own
//	calls that reach past all this     a seccomp filter that lists what is allowed
//	memory, processes, processor, I/O  control groups, of version 2 where they have the controllers, else 1
//	the end of everything              the first process is the kernel's own switch for its namespace
//
// A supervisor that is killed takes its cells with it at once; their empty control
// groups go when the next supervisor in the same group starts a cell.
package cell

import (
	"net/netip"
	"os"
	"syscall"
	"time"
)

// Spec is a cell and what runs in it.
type Spec struct {
	// Path is the program, as the unit sees it: absolute, or found by no search.
	Path string
	// Program, if not nil, holds the bytes that are run, whatever lies at Path: it is
	// laid over Path. A script is copied, so that nobody can rewrite it while it is
	// interpreted. It must have been opened from a path.
	Program *os.File
	// Argv is the argument list, its name for itself included.
	Argv []string
	// Env is the whole environment. See [Env].
	Env []string
	// Dir is the working directory, as the unit sees it. Empty is "/".
	Dir string

	// Stdin, Stdout and Stderr are handed to the unit. Nil is the cell's /dev/null.
	// With a terminal they are the terminal where they are nil.
	Stdin, Stdout, Stderr *os.File
	// Terminal, if not nil, gives the unit a controlling terminal of that size. Its
	// other side is [Cell.Terminal].
	Terminal *Size

	Root   Root
	Mounts []Mount
	// Files are laid into the cell's own root: /etc/resolv.conf, say.
	Files []File
	// Hidden are files and folders of the view that are covered by something empty
	// that can't be opened. What isn't there is skipped.
	Hidden []string
	// UID and GID are the numbers that the unit sees itself as.
	UID, GID uint32
	// Hostname is "unit" if empty.
	Hostname string

	// Network is given to [Inside].Network. Nil is a network of its own with nothing
	// but a loopback in it.
	Network []byte
	// Exec is given to [Inside].Exec.
	Exec []byte
	// Hold is called in this process with the process number of the cell's init, when
	// the view is complete and nothing of the unit has run yet. An error ends the cell.
	Hold func(pid int) error
	// Crowded, if not nil, is told of each process that wasn't made for
	// Limits.Programs; fork fails with EAGAIN. When it is bound, making one takes a
	// little longer.
	Crowded func()
	// Unreachable, if not nil, says that the unit has no way out of its network, and is
	// told where it tries to connect to; the call fails then. Sockets of its loopback and
	// of its files aren't told. A connection takes a little longer.
	Unreachable func(netip.AddrPort)
	// Observe, if not nil, is told of each call of the unit that names a file or an
	// address, before it is made; the call waits until it returns, and is made then
	// whatever it says. It is for units that are trusted: connections to sockets in
	// granted folders aren't gated, and what is named may be another by then.
	Observe func(Seen)
	// NoExec keeps every writable mount of the view from being run from, private ones
	// included.
	NoExec bool

	Limits Limits
}

// Seen is what a call names and needs. Files that are the cell's own, processes and
// devices aren't told.
type Seen struct {
	// PID is the thread that calls, as the supervisor knows it.
	PID int
	// Path is the file as the unit sees it, links on the way to it resolved.
	Path   string
	Read   bool // its bytes, or which names a folder has
	Write  bool // its bytes or attributes, or to make it
	Delete bool // to remove it, also by renaming or replacing it
	Folder bool // it is one
	New    bool // there is nothing of that name yet
	// Address is what a connection is to be made to; Path is empty then.
	Address netip.AddrPort
}

// Env is what belongs into every unit's environment, so that zone and locale say
// nothing of the machine (§7.5).
var Env = []string{"TZ=UTC", "LANG=C.UTF-8"}

// Size is a terminal's, in characters.
type Size struct{ Rows, Cols uint16 }

// Root is what the view begins with.
type Root struct {
	// Dir is an unpacked root filesystem. Nil is the host's: /usr, /bin, /sbin, /lib*
	// and what of /etc programs need, read-only; nothing that is secret or says who
	// the machine's users are.
	Dir *os.File
	// Writable lays a private layer over Dir that takes what the unit writes and goes
	// with it. It lies in memory, so it counts against Limits.Memory. Without it the
	// root is read-only.
	Writable bool
}

// Mount is a granted file or folder. It is bound where the unit sees it; a folder
// with all that is mounted beneath it. What it can't be used for the kernel
// refuses.
//
// A grant that is finer than a folder, all *.txt say, can't be expressed: the
// caller hands over each file, or declines. Of two mounts with one file beneath
// both, each access holds if either has it.
type Mount struct {
	// File was opened from a path, with O_PATH or for reading.
	File *os.File
	// Target is absolute. A place for it is made in the cell's own root; within
	// another mount it must be there already.
	Target string
	Read   bool // read files and list folders
	Write  bool // change files, make files, folders and links
	Delete bool // remove them, also by renaming or by replacing them by a rename
	Exec   bool // run programs and map code
}

// File is a small file of the cell's own, which the unit can only read.
type File struct {
	Path string
	Data []byte
}

// Limits are what the kernel holds the tree to. Zero bounds nothing.
type Limits struct {
	Memory    uint64  // bytes, all processes together, with files in memory; swap included
	Processes uint64  // processes and threads at once
	Programs  *uint32 // processes beside the main one at once, threads not counted; nil bounds nothing. See Spec.Crowded
	CPUs      uint64  // thousandths of a processor
	CPUWeight uint64  // share against others when all want more: 1 to 10000, 100 being theirs
	OpenFiles uint64  // descriptors of a process
	FileSize  uint64  // bytes of a file

	// Device I/O beneath the mounts and the root, a second, for each disk. What only
	// touches memory isn't counted. Where control groups are of version 1 the kernel
	// writes back what was written to memory for all groups as one: such a write is
	// bounded only if it is direct or waited for (fsync).
	ReadIOPS, WriteIOPS uint64
	ReadBPS, WriteBPS   uint64
}

func (l Limits) io() bool { return l.ReadIOPS|l.WriteIOPS|l.ReadBPS|l.WriteBPS != 0 }

// End is how a unit ended.
type End struct {
	// Code is the exit code of the main process; nil if it was ended by a signal.
	Code *uint32
	// Signal ended the main process.
	Signal syscall.Signal
	// OOM says that the kernel ended a process of the tree for want of memory
	// under Limits.Memory. The whole tree ends with it.
	OOM bool
	// Killed is what [Cell.Kill] was told first; empty if it wasn't called before the
	// end.
	Killed string
	// Probing are the denied calls that only a privileged process needs and looks at
	// what the cell hides, sorted, each once: "mount", "setns", "/sys".
	Probing []string
	// Changed says what of the credentials or namespaces of a process in the tree
	// isn't what it was given: a hole in the jail. Empty otherwise.
	Changed string
	Usage   Usage
}

// Usage is what the tree has used, what has ended in it included.
type Usage struct {
	CPU        time.Duration
	Memory     uint64 // bytes, the most at once
	Processes  uint64 // processes and threads now
	Reads      uint64 // of devices
	ReadBytes  uint64
	Writes     uint64
	WriteBytes uint64
}

// Inside are what others do in the cell before it closes, in the cell's init. They
// are called if the Spec has something to give to them.
type Inside struct {
	// Network is called in the cell's network namespace, with all rights over it and
	// with the host's view of files. The descriptors that it returns are handed to
	// [Cell.Network].
	Network func(config []byte) ([]*os.File, error)
	// Exec is called on the thread whose child the unit will be, when the view is
	// complete; it can gain no privileges by then. What it restricts the unit inherits.
	Exec func(config []byte) error
}
