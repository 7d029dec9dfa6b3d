//go:build amd64 || arm64

package cell

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// groupPrefix begins the name of every cell's groups. The number and the start of
// the process that made them follow.
const groupPrefix = "joulebox-cell."

// startOf is when a process started, in the kernel's ticks since boot; empty if
// there is none.
func startOf(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // the name before it may hold anything
	if len(fields) < 20 {
		return ""
	}
	return string(fields[19])
}

var ownStart = sync.OnceValue(func() string { return startOf(os.Getpid()) })

// abandoned reports whether a group was made by a process that is gone.
func abandoned(name string) bool {
	rest, ok := strings.CutPrefix(name, groupPrefix)
	parts := strings.Split(rest, ".")
	if !ok || len(parts) != 3 {
		return false
	}
	pid, err := strconv.Atoi(parts[0])
	return err == nil && startOf(pid) != parts[1]
}

// sweepGroups removes what a supervisor left that was ended by force: its cells ended
// with it, but nobody was left to take their groups away. One that holds
// processes stays.
func sweepGroups(base string) {
	f, err := os.Open(base)
	if err != nil {
		return
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	for _, name := range names {
		if abandoned(name) {
			_ = unix.Rmdir(fmt.Sprintf("%s/%s/unit", base, name))
			_ = unix.Rmdir(base + "/" + name)
		}
	}
}

var swept sync.Map

// sweepOnce sweeps a group once in the life of this process.
func sweepOnce(base string) {
	if _, done := swept.LoadOrStore(base, true); !done {
		sweepGroups(base)
	}
}
