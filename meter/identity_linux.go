package meter

import (
	"bufio"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// hostCPU reads the model from /proc/cpuinfo and the kernel release. Both are
// constant while the process lives, so they are read once.
var hostCPU = sync.OnceValues(func() (model, driver string) {
	return cpuModel("/proc/cpuinfo"), "linux " + kernelRelease()
})

func kernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

func cpuModel(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), ":")
		// "model name" on x86; arm64 kernels print only these numbers.
		if n := strings.TrimSpace(name); n == "model name" || n == "CPU part" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
