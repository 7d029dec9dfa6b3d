//go:build amd64 || arm64

package cell

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

// period is what a share of processors is divided over, in microseconds.
const period = 100_000

// limit writes the limits. Nothing of the unit runs before.
func (g *groups) limit(places []*os.File) error {
	l := g.limits
	if l.Memory > 0 {
		if err := g.limitMemory(l.Memory); err != nil {
			return need(nameMemory, err)
		}
	}
	if l.Processes > 0 {
		// The thread that is the unit's parent counts too.
		if err := g.write(controlPIDs, "pids.max", strconv.FormatUint(l.Processes+1, 10)); err != nil {
			return need(nameProcesses, err)
		}
	}
	if err := g.limitCPU(); err != nil {
		return need(nameCPU, err)
	}
	if l.io() {
		if err := g.limitIO(places); err != nil {
			return need(nameIO, err)
		}
	}
	return nil
}

func (g *groups) isTwo(controller string) bool {
	dir := g.has[controller]
	return g.two != "" && (dir == g.two || dir == g.two+"/unit")
}

func (g *groups) write(controller, file, text string) error {
	return writeFile(g.has[controller]+"/"+file, text)
}

func (g *groups) limitMemory(bytes uint64) error {
	text := strconv.FormatUint(bytes, 10)
	if g.isTwo(controlMemory) {
		if err := g.write(controlMemory, "memory.max", text); err != nil {
			return err
		}
		if err := g.write(controlMemory, "memory.swap.max", "0"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return g.write(controlMemory, "memory.oom.group", "1")
	}
	if err := g.write(controlMemory, "memory.limit_in_bytes", text); err != nil {
		return err
	}
	err := g.write(controlMemory, "memory.memsw.limit_in_bytes", text)
	if errors.Is(err, os.ErrNotExist) {
		if swaps() {
			return fmt.Errorf("swap isn't counted, and there is some: boot with swapaccount=1 or switch it off: %w", err)
		}
		err = nil
	}
	if err != nil {
		return err
	}
	g.oom, err = watchOOM(g.has[controlMemory])
	return err
}

// swaps reports whether there is swap space.
func swaps() bool {
	b, err := os.ReadFile("/proc/swaps")
	lines := 0
	for _, c := range b {
		if c == '\n' {
			lines++
		}
	}
	return err != nil && !errors.Is(err, os.ErrNotExist) || lines > 1
}

func (g *groups) limitCPU() error {
	l, two := g.limits, g.isTwo(controlCPU)
	if l.CPUWeight > 0 {
		if l.CPUWeight > 10000 {
			return fmt.Errorf("weight: got %d, want 1 to 10000", l.CPUWeight)
		}
		file, value := "cpu.weight", l.CPUWeight
		if !two {
			file, value = "cpu.shares", max(2, l.CPUWeight*1024/100)
		}
		if err := g.write(controlCPU, file, strconv.FormatUint(value, 10)); err != nil {
			return err
		}
	}
	if l.CPUs == 0 {
		return nil
	}
	quota := strconv.FormatUint(max(1000, l.CPUs*period/1000), 10)
	if two {
		return g.write(controlCPU, "cpu.max", quota+" "+strconv.Itoa(period))
	}
	if err := g.write(controlCPU, "cpu.cfs_period_us", strconv.Itoa(period)); err != nil {
		return err
	}
	return g.write(controlCPU, "cpu.cfs_quota_us", quota)
}
