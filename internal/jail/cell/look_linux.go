//go:build amd64 || arm64

package cell

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// identity is what the kernel says of a process that a unit can't have changed.
type identity struct {
	status     [len(statusNames)]string
	namespaces [len(namespaceNames)]string
}

// What is looked at: lines of /proc/N/status, and links of /proc/N/ns.
var (
	statusNames    = [...]string{"Uid", "Gid", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"}
	namespaceNames = [...]string{"user", "mnt", "pid", "net", "ipc", "uts"}
)

// remember notes what the unit's processes were made to be: the first process's
// namespaces, the caller's ids, and nothing of what rights give.
func (c *Cell) remember() {
	uid, gid := strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid())
	none := strings.Repeat("0", 16)
	c.given.status = [...]string{
		strings.Join([]string{uid, uid, uid, uid}, "\t"), strings.Join([]string{gid, gid, gid, gid}, "\t"),
		none, none, none, none, "1", "2",
	}
	c.given.namespaces = namespacesOf(c.process.Pid)
}

func namespacesOf(pid int) (list [len(namespaceNames)]string) {
	for n, name := range namespaceNames {
		list[n], _ = os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/" + name)
	}
	return list
}

// look compares every process of the unit with that, and says what differs.
func (c *Cell) look() string {
	b, err := os.ReadFile(c.groups.has[controlTime] + "/cgroup.procs")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || pid <= 0 || pid == c.process.Pid || pid == os.Getpid() {
			continue
		}
		if what := c.differs(pid); what != "" {
			return what
		}
	}
	return ""
}

func (c *Cell) differs(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return "" // it has ended
	}
	for n, name := range statusNames {
		if have := statusLine(string(b), name); have != c.given.status[n] && have != "" {
			return fmt.Sprintf("a process has %s %q, want %q", name, have, c.given.status[n])
		}
	}
	for n, have := range namespacesOf(pid) {
		if have != "" && c.given.namespaces[n] != "" && have != c.given.namespaces[n] {
			return fmt.Sprintf("a process is in another %s namespace", namespaceNames[n])
		}
	}
	return ""
}

func statusLine(status, name string) string {
	_, rest, _ := strings.Cut(status, "\n"+name+":\t")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}
