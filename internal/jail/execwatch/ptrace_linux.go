package execwatch

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Requests and events that unix names by half.
const (
	ptraceSeize  = unix.PTRACE_SEIZE
	ptraceListen = unix.PTRACE_LISTEN
	traceOptions = unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACEFORK |
		unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACESYSGOOD
)

// seize takes a thread without stopping it. Its children are taken from their
// first instruction, and all end with this thread.
func seize(tid int) error { return ptrace(ptraceSeize, tid, 0, traceOptions) }

func ptrace(request, tid int, addr, data uintptr) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("ptrace", errno)
	}
	return nil
}

// ours reports whether a thread is traced by this process, or gone.
func ours(tid int) bool {
	by := process(tid).status("TracerPid")
	return by == "" || by == strconv.Itoa(os.Getpid())
}

// seizeAll takes all threads of a process. A thread that isn't taken yet may make
// another, so it looks until there is none that is new.
func seizeAll(pid int) error {
	taken := map[int]bool{}
	for {
		list, err := process(pid).threads()
		if err != nil {
			return fmt.Errorf("threads of %d: %w", pid, err)
		}
		before := len(taken)
		for _, tid := range list {
			if taken[tid] {
				continue
			}
			// Refused when an already taken thread has made it, which then is ours too.
			if err := seize(tid); err != nil && !ours(tid) {
				return fmt.Errorf("thread %d of %d: %w", tid, pid, err)
			}
			taken[tid] = true
		}
		if len(taken) == before {
			return nil
		}
	}
}
