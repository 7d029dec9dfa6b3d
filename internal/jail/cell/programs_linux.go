//go:build amd64 || arm64

package cell

import (
	"fmt"
	"os"
)

// Programs is how many processes there are, threads not counted, the main one among
// them. The cell's own first process isn't one of the unit's.
func (c *Cell) Programs() (int, error) {
	list, err := c.programs()
	return len(list), err
}

func (c *Cell) programs() ([]string, error) {
	b, err := os.ReadFile(c.groups.has[controlTime] + "/cgroup.procs")
	if err != nil {
		return nil, fmt.Errorf("cell: %w", err)
	}
	return others(b, c.process.Pid), nil
}
