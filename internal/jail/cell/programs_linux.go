//go:build amd64 || arm64

package cell

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Programs is how many processes there are, threads not counted, the main one among
// them. The cell's own first process isn't one of the unit's.
func (c *Cell) Programs() (int, error) {
	b, err := os.ReadFile(c.groups.has[controlTime] + "/cgroup.procs")
	if err != nil {
		return 0, fmt.Errorf("cell: %w", err)
	}
	first, n := strconv.Itoa(c.process.Pid), 0
	for _, pid := range strings.Fields(string(b)) {
		if pid != first {
			n++
		}
	}
	return n, nil
}
