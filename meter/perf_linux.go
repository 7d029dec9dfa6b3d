package meter

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenPerf is the kernel's way to open an event.
func OpenPerf(e PerfEvent, cpu int) (func() (uint64, error), error) {
	attr := unix.PerfEventAttr{Type: e.Type, Config: e.Config, Size: uint32(binary.Size(unix.PerfEventAttr{}))}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open on cpu %d: %w", cpu, err)
	}
	f := os.NewFile(uintptr(fd), "perf event")
	return func() (uint64, error) {
		var b [8]byte
		if n, err := f.Read(b[:]); n != len(b) {
			return 0, fmt.Errorf("got %d bytes, want 8: %w", n, err)
		}
		return binary.NativeEndian.Uint64(b[:]), nil
	}, nil
}
