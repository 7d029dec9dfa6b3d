package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// beforeMain prints what the packages of a program do before main, the least of n
// starts each, and which of them take longest. A jailed run waits for it twice.
func beforeMain(n int, program string) error {
	least := map[string]float64{}
	for range n {
		c := exec.Command(program, "version")
		c.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		trace, err := c.CombinedOutput()
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(trace)) {
			name, ms, ok := initOf(line)
			if old, seen := least[name]; ok && (!seen || ms < old) {
				least[name] = ms
			}
		}
	}
	total := 0.0
	for _, ms := range least {
		total += ms
	}
	names := slices.SortedFunc(maps.Keys(least), func(a, b string) int { return int(1e6 * (least[b] - least[a])) })
	fmt.Printf("%-34s %.2fms in %d packages", "before main, in each process", total, len(least))
	for _, name := range names[:min(5, len(names))] {
		fmt.Printf(", %s %.2f", name, least[name])
	}
	fmt.Println()
	return nil
}

// initOf reads "init PACKAGE @1.2 ms, 0.3 ms clock, 456 bytes, 7 allocs".
func initOf(line string) (name string, ms float64, ok bool) {
	f := strings.Fields(line)
	if len(f) < 6 || f[0] != "init" {
		return "", 0, false
	}
	ms, err := strconv.ParseFloat(f[4], 64)
	return f[1], ms, err == nil
}
