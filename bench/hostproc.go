package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/joulebox/joulebox/host"
)

// hostproc compares units in host processes of their own with the same units in
// the supervisor's process: a run repeated in a process that is kept, as many of
// them as the processors can do, and a whole command that starts its process anew.
func hostproc(n int) error {
	dir, err := os.MkdirTemp(".", ".bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	processes, err := host.NewProcesses(host.ProcessConfig{Keep: atOnce})
	if err != nil {
		return err
	}
	defer processes.Close()
	jailed := func(e *host.Engine) host.Executor { return processes.Jailed(host.S2(e)) }
	ours, size, closeOurs, err := attestedRunOn(filepath.Join(dir, "ours"), jailed)
	if err != nil {
		return err
	}
	defer closeOurs()
	peer, _, closePeer, err := attestedRunOn(filepath.Join(dir, "peer"), host.S2)
	if err != nil {
		return err
	}
	defer closePeer()
	header("Attested run of an empty unit in a process that is kept", "host process", "in-process")
	p, err := measure("one run", 40*n, clock(ours), clock(peer))
	if err != nil {
		return err
	}
	p.print()
	fmt.Printf("%-34s %12v\n", "median of the pairs' differences", p.difference())
	if err := throughput(n, dir, size, ours, peer); err != nil {
		return err
	}
	return oneshotHostproc(n, dir)
}

// difference is the median of what ours takes longer than its peer.
func (p pairs) difference() time.Duration {
	d := make([]time.Duration, len(p.ours))
	for i := range d {
		d[i] = p.ours[i] - p.peer[i]
	}
	slices.Sort(d)
	return short(d[len(d)/2])
}

// atOnce is how many runs go on side by side.
const atOnce = 8

// throughput is many runs side by side, against the signatures, verifications and
// appends alone.
func throughput(n int, dir string, size int, ours, peer func() error) error {
	parts, closeParts, err := leastRun(filepath.Join(dir, "parts"), size)
	if err != nil {
		return err
	}
	defer closeParts()
	header(fmt.Sprintf("The same, %d at once: time a run", atOnce), "host process", "in-process")
	p, err := measure("against in-process", n, sideBySide(ours), sideBySide(peer))
	if err != nil {
		return err
	}
	p.print()
	q, err := measure("against signing and appending", n, sideBySide(ours), sideBySide(parts))
	if err == nil {
		q.print()
	}
	return err
}

// sideBySide is the time of one of many calls that are made at once.
func sideBySide(f func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		var wg sync.WaitGroup
		errs := make([]error, atOnce)
		start := time.Now()
		for i := range errs {
			wg.Go(func() {
				for range runs {
					if errs[i] = f(); errs[i] != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return 0, err
			}
		}
		return time.Since(start) / (atOnce * runs), nil
	}
}

func oneshotHostproc(n int, dir string) error {
	joulebox, err := filepath.Abs("bin/joulebox")
	if err != nil {
		return err
	}
	programs, err := oneshotPrograms(dir)
	if err != nil {
		return err
	}
	header("One-shot command, warm compile cache", "host process", "in-process")
	for _, p := range programs {
		ours := command(dir, joulebox, "run", "--quiet", p.path)
		peer := command(dir, joulebox, "run", "--quiet", "--host-process=in-process", p.path)
		pair, err := measure(p.name, 2*n, clock(ours), clock(peer))
		if err != nil {
			return err
		}
		pair.print()
	}
	return nil
}
