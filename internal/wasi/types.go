package wasi

// Filetype is the kind of thing that a descriptor or a name stands for.
type Filetype uint8

// The file types.
const (
	TypeUnknown Filetype = iota
	TypeBlockDevice
	TypeCharacterDevice
	TypeDirectory
	TypeRegularFile
	TypeSocketDgram
	TypeSocketStream
	TypeSymbolicLink
)

// Fdflags are the flags of an open descriptor.
type Fdflags uint16

// The descriptor flags.
const (
	FlagAppend Fdflags = 1 << iota
	FlagDsync
	FlagNonblock
	FlagRsync
	FlagSync

	allFdflags = FlagAppend | FlagDsync | FlagNonblock | FlagRsync | FlagSync
)

// How a name is opened (oflags).
const (
	oCreat uint16 = 1 << iota
	oDirectory
	oExcl
	oTrunc

	allOflags = oCreat | oDirectory | oExcl | oTrunc
)

const lookupFollow = 1

// Filestat is what a guest can know of a file. Times are nanoseconds since 1970.
type Filestat struct {
	Dev, Ino         uint64
	Type             Filetype
	Nlink, Size      uint64
	Atim, Mtim, Ctim uint64
}

// Times is a change of times. A time is set to the host's now, to a value, or
// left alone.
type Times struct {
	SetAtim, AtimNow bool
	SetMtim, MtimNow bool
	Atim, Mtim       uint64 // nanoseconds since 1970
}

// OpenHow says how a name is opened.
type OpenHow struct {
	Follow                   bool // a link in the last component too
	Create, Exclusive, Trunc bool
	Directory                bool
	Read, Write              bool
	Flags                    Fdflags
}

// Dirent is one entry of a directory. Next is the cookie that goes on behind it.
type Dirent struct {
	Next, Ino uint64
	Type      Filetype
	Name      []byte // valid during the call that it is handed to
}

// ClockID names a clock.
type ClockID uint32

// The clocks.
const (
	ClockRealtime ClockID = iota
	ClockMonotonic
	ClockProcessCPU
	ClockThreadCPU
)
