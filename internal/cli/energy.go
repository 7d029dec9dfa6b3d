package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox/bundle"
)

type energyFlags struct {
	by                  []string
	since, until        string
	format              string
	json                bool
	intensity, embodied float64
}

func newEnergy(c *console) *cobra.Command {
	var f energyFlags
	cmd := &cobra.Command{
		Use:   "energy",
		Short: "add up the energy of past runs",
		Long: `Adds up the energy of the runs on record. What counters measured and what was
estimated from counted work stand in columns of their own and are never added up.
Idle energy is what a kept process drew before its run; it is part of both.

Emissions are worked out only where an intensity is given, as the Software Carbon
Intensity has it: (energy x intensity + embodied) / runs.`,
		Example: `  joulebox energy --by day,tier
  joulebox energy --by unit --since 2026-11-01 --format csv
  joulebox energy --by day --format svg > energy.svg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("embodied") && f.intensity == 0 {
				return fail(exitUsage, errors.New("--embodied: say with --intensity what energy emits here"), "")
			}
			return c.energy(cmd.Context(), f)
		},
	}
	to := cmd.Flags()
	to.StringSliceVar(&f.by, "by", []string{"day", "tier", "device", "provenance"}, "add up by these `KEYS`: "+strings.Join(energyKeys, ", "))
	to.StringVar(&f.since, "since", "", "count runs that started at `TIME` or later: 2026-11-30, or with a time as in RFC 3339")
	to.StringVar(&f.until, "until", "", "count runs that started before `TIME`")
	to.StringVar(&f.format, "format", "text", "write a `FORM`: "+strings.Join(slices.Sorted(maps.Keys(energyFormats)), ", "))
	to.Float64Var(&f.intensity, "intensity", 0, "work out emissions with this many `GRAMS` of CO2e per kWh")
	to.Float64Var(&f.embodied, "embodied", 0, "add this many `GRAMS` of CO2e for each run's share of the hardware")
	jsonFlag(cmd, &f.json)
	return cmd
}

func (c *console) energy(ctx context.Context, f energyFlags) error {
	show := energyFormats[f.format]
	if show == nil {
		return fail(exitUsage, fmt.Errorf("--format: got %q, want %s", f.format, strings.Join(slices.Sorted(maps.Keys(energyFormats)), ", ")), "")
	}
	if f.intensity < 0 || f.embodied < 0 {
		return fail(exitUsage, errors.New("--intensity and --embodied: want no negative numbers"), "")
	}
	report, err := f.report(ctx)
	if err != nil {
		return err
	}
	if f.json {
		return c.document(report)
	}
	return show(c.out, report)
}

func (f energyFlags) report(ctx context.Context) (r energyReport, err error) {
	r = energyReport{By: f.by, Rows: []energyRow{}}
	sum, err := newEnergySum(f.by)
	if err != nil {
		return r, fail(exitUsage, err, "")
	}
	within, err := f.window()
	if err != nil {
		return r, fail(exitUsage, err, "")
	}
	if err := sumRecords(ctx, sum, within); err != nil {
		return r, fail(exitFailed, err, "")
	}
	r.Rows = sum.sorted()
	if f.intensity > 0 {
		emit(r.Rows, f.intensity, f.embodied)
	}
	return r, nil
}

// sumRecords adds every record up. One that can't be read is an error: it must
// not just be missing from a sum.
func sumRecords(ctx context.Context, sum *energySum, within func(us uint64) bool) error {
	s, err := openStore()
	if errors.Is(err, errNoStore) {
		return nil
	}
	if err != nil {
		return err
	}
	defer s.Close()
	for record, err := range s.Recent(ctx) {
		if err != nil {
			return err
		}
		b, err := bundle.Parse(record.Data)
		if err != nil {
			return fmt.Errorf("the record at %d of the log: %w", record.Offset, err)
		}
		if !within(b.Statement().Fields().StartedAtUS) {
			continue
		}
		if err := sum.add(b); err != nil {
			return err
		}
	}
	return nil
}

func (f energyFlags) window() (func(us uint64) bool, error) {
	since, err := parseMoment("--since", f.since)
	if err != nil {
		return nil, err
	}
	until, err := parseMoment("--until", f.until)
	if err != nil {
		return nil, err
	}
	return func(us uint64) bool {
		t := time.UnixMicro(int64(us))
		return (since.IsZero() || !t.Before(since)) && (until.IsZero() || t.Before(until))
	}, nil
}

// parseMoment reads a day, which begins in UTC, or a time.
func parseMoment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s: got %q, want a day like 2026-11-30 or a time like 2026-11-30T12:00:00Z", flag, text)
}
