package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
	"github.com/joulebox/joulebox/supervisor"
)

type fleetRunFlags struct {
	jobs, retries int
	dir           string
	rerun         bool
	oneTenant     bool
	partial       bool
	asJSON        bool
	host          hostProcess
}

func newFleetRun(c *console) *cobra.Command {
	var f fleetRunFlags
	cmd := &cobra.Command{
		Use:   "run FILE.jsonl",
		Short: "run each line's unit, and seal the whole",
		Long: `Runs one unit for each line of a file, several at once, each in its own bounds and
with its own signed record. A line is a JSON object:

  {"program": "work.wasm", "args": ["x"], "timeout": "5s",
   "grants": {"storage": {"read": ["/data/**"]}}}

with what joulebox run takes: program args lang entry grants timeout memory energy
env mounts stdin trusted sensitive.

Everything is kept in a folder, FILE.fleet or --dir: the journal, what the units
wrote, their bundles, and at the end the list of leaves and the signed record. The
same command goes on after a crash or an interrupt: an item that has a record isn't
run again. One that broke off with this process is run again only if it could have
had no effect outside of its record; else --rerun-broken says so.

Items are taken to be of several tenants, so one with a storage grant needs both I/O
ceilings, or a tier that keeps neighbours apart (§2.4).

Exits with 0 when every item completed, 1 when one didn't.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.fleetRun(cmd.Context(), f, args[0]) },
	}
	cmd.Flags().IntVarP(&f.jobs, "jobs", "j", runtime.NumCPU(), "run `N` units at once")
	cmd.Flags().IntVar(&f.retries, "retries", 0, "run an item that didn't complete up to `N` times more; every attempt is on the record")
	cmd.Flags().StringVar(&f.dir, "dir", "", "keep everything in the folder `DIR`")
	cmd.Flags().BoolVar(&f.rerun, "rerun-broken", false, "run items again that broke off and may have had effects")
	cmd.Flags().BoolVar(&f.partial, "seal-partial", false, "seal the runs that there are, though an item has none")
	cmd.Flags().BoolVar(&f.oneTenant, "all-items-are-of-one-tenant", false, "let neighbours share disks without ceilings")
	jsonFlag(cmd, &f.asJSON)
	f.host.register(cmd.Flags())
	return cmd
}

// fleetRun is one run of a fleet, open.
type fleetRun struct {
	*console
	flags   fleetRunFlags
	dir     string
	hidden  string   // dir by its real name, which no unit reaches
	lines   [][]byte // of the file; parsed again when needed
	journal *fleetJournal
	house   *house
	runner  *supervisor.Supervisor
}

func (c *console) fleetRun(ctx context.Context, f fleetRunFlags, file string) error {
	if f.jobs < 1 || f.retries < 0 {
		return fail(exitUsage, fmt.Errorf("--jobs and --retries: got %d and %d, want at least 1 and 0", f.jobs, f.retries), "")
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return fail(exitUsage, err, "")
	}
	r := &fleetRun{console: c, flags: f, dir: f.dir}
	if r.dir == "" {
		r.dir = strings.TrimSuffix(file, ".jsonl") + ".fleet"
	}
	if r.lines, err = fleetLines(src); err != nil {
		return fail(exitFailed, fmt.Errorf("%s: %w", file, err), "")
	}
	unlock, err := lockFolder(r.dir)
	if err != nil {
		return fail(exitFailed, err, "")
	}
	defer unlock()
	if r.hidden, err = realPath(r.dir); err != nil {
		return fail(exitFailed, err, "")
	}
	if r.journal, err = openFleetJournal(ctx, r.dir, joulebox.Sum(src), len(r.lines)); err != nil {
		return fail(exitFailed, err, "")
	}
	defer r.journal.close()
	if err := r.open(); err != nil {
		return fail(exitFailed, err, "")
	}
	defer r.house.close()
	if err := r.recover(ctx); err != nil {
		return fail(exitFailed, err, "")
	}
	if err := r.work(ctx); err != nil {
		return fail(exitFailed, err, "the same command goes on from here")
	}
	return r.finish(ctx)
}

// fleetLines checks every line before anything runs, and names all that are wrong.
func fleetLines(src []byte) (lines [][]byte, err error) {
	var wrong []error
	for i, line := range bytes.Split(bytes.TrimSuffix(src, []byte("\n")), []byte("\n")) {
		if _, _, err := parseItem(line); err != nil && len(wrong) < 20 {
			wrong = append(wrong, fmt.Errorf("line %d: %w", i+1, err))
		}
		lines = append(lines, line)
	}
	return lines, errors.Join(wrong...)
}

// lockFolder makes the folder and holds it: two processes would run items twice.
func lockFolder(dir string) (func(), error) {
	if err := disk.MakeDirs(disk.OS, dir); err != nil {
		return nil, err
	}
	lock, err := disk.OS.Open(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	free, err := lock.TryLock(disk.Exclusive)
	if err == nil && !free {
		err = fmt.Errorf("another process is running in %s", dir)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return func() { _ = lock.Close() }, nil
}

func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

func (r *fleetRun) open() (err error) {
	processes, err := r.flags.host.open()
	if err != nil {
		return err
	}
	if r.house, err = openHouse(r.console, processes); err != nil {
		if processes != nil {
			_ = processes.Close()
		}
		return err
	}
	config := r.house.config()
	config.MultiTenant = !r.flags.oneTenant
	if r.runner, err = supervisor.New(config); err != nil {
		r.house.close()
	}
	return err
}
