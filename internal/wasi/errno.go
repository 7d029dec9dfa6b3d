package wasi

import "fmt"

// Errno is a preview 1 error number.
type Errno uint16

// The error numbers that this host gives.
const (
	Success      Errno = 0
	E2Big        Errno = 1
	EAcces       Errno = 2
	EAgain       Errno = 6
	EBadf        Errno = 8
	EBusy        Errno = 10
	ECanceled    Errno = 11
	EDquot       Errno = 19
	EExist       Errno = 20
	EFault       Errno = 21
	EFbig        Errno = 22
	EIlseq       Errno = 25
	EIntr        Errno = 27
	EInval       Errno = 28
	EIO          Errno = 29
	EIsdir       Errno = 31
	ELoop        Errno = 32
	EMfile       Errno = 33
	EMlink       Errno = 34
	ENametoolong Errno = 37
	ENfile       Errno = 41
	ENodev       Errno = 43
	ENoent       Errno = 44
	ENomem       Errno = 48
	ENospc       Errno = 51
	ENosys       Errno = 52
	ENotdir      Errno = 54
	ENotempty    Errno = 55
	ENotsock     Errno = 57
	ENotsup      Errno = 58
	ENotty       Errno = 59
	ENxio        Errno = 60
	EOverflow    Errno = 61
	EPerm        Errno = 63
	EPipe        Errno = 64
	ERofs        Errno = 69
	ESpipe       Errno = 70
	EStale       Errno = 72
	ETimedout    Errno = 73
	ETxtbsy      Errno = 74
	EXdev        Errno = 75
	ENotcapable  Errno = 76
)

var errnoNames = map[Errno]string{
	Success: "success", E2Big: "2big", EAcces: "acces", EAgain: "again", EBadf: "badf", EBusy: "busy",
	ECanceled: "canceled", EDquot: "dquot", EExist: "exist", EFault: "fault", EFbig: "fbig", EIlseq: "ilseq",
	EIntr: "intr", EInval: "inval", EIO: "io", EIsdir: "isdir", ELoop: "loop", EMfile: "mfile", EMlink: "mlink",
	ENametoolong: "nametoolong", ENfile: "nfile", ENodev: "nodev", ENoent: "noent", ENomem: "nomem",
	ENospc: "nospc", ENosys: "nosys", ENotdir: "notdir", ENotempty: "notempty", ENotsock: "notsock",
	ENotsup: "notsup", ENotty: "notty", ENxio: "nxio", EOverflow: "overflow", EPerm: "perm", EPipe: "pipe",
	ERofs: "rofs", ESpipe: "spipe", EStale: "stale", ETimedout: "timedout", ETxtbsy: "txtbsy", EXdev: "xdev",
	ENotcapable: "notcapable",
}

// Error is WASI's own short name.
func (e Errno) Error() string {
	if n, ok := errnoNames[e]; ok {
		return n
	}
	return fmt.Sprintf("errno %d", uint16(e))
}
