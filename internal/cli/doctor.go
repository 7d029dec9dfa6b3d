package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/custody"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/supervisor"
)

func newDoctor(c *console) *cobra.Command {
	var asJSON, readiness bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "show what this host can run and meter, and why not the rest",
		Long: `Shows, tier by tier and class by class, what this host can run and how it meters it,
and the state of key, records and cache. What it claims it has just tried: S2 is
proven by running a unit and verifying its record, in memory and with a key that is
thrown away. Exits with 0 if S2 works, else with 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if readiness {
				_, err := fmt.Fprint(c.out, readinessPage())
				return err
			}
			r := examine(cmd.Context())
			if asJSON {
				if err := c.document(r); err != nil {
					return err
				}
			} else {
				c.showDiagnosis(r)
			}
			if !r.Works {
				return quiet(exitFailed)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&readiness, "readiness", false, "print how much of each part of the standard is there, and what is missing")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// finding is one thing that was looked at.
type finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what was found, or why not
}

// diagnosis is all of it.
type diagnosis struct {
	Works   bool      `json:"s2_works"`
	Host    string    `json:"host"`
	Tiers   []finding `json:"tiers"`
	Jail    []finding `json:"jail"` // what holds host processes in
	Meters  []finding `json:"meters"`
	Keeping []finding `json:"keeping"` // key, records, cache
}

func examine(ctx context.Context) (d diagnosis) {
	id := meter.HostCPU(joulebox.CPU)
	d.Host = fmt.Sprintf("%s/%s, %s, %s", runtime.GOOS, runtime.GOARCH, id.Model, id.Driver)
	d.Tiers = examineTiers(ctx)
	d.Works = d.Tiers[joulebox.S2].OK
	d.Jail = append(examineJail(), examinePartition()...)
	table, model := examineModel()
	d.Meters = append(examineMeters(supervisor.HostMeters(table), table), model)
	d.Keeping = []finding{examineKey(), examineStore(ctx), examineCache()}
	return d
}

// missingTiers says why a rung isn't there. No device node, however promising,
// is taken for a tier: what can't be run isn't advertised (§9).
var missingTiers = map[joulebox.Tier]string{
	joulebox.S4: "this joulebox has no virtual machine monitor",
	joulebox.S5: "this joulebox has no virtual machine monitor",
	joulebox.S6: "this joulebox can't obtain or verify hardware evidence",
	joulebox.S7: "S7 contains S6",
}

func examineTiers(ctx context.Context) (list []finding) {
	proven := map[joulebox.Tier]error{}
	for _, t := range []joulebox.Tier{joulebox.S0, joulebox.S1, joulebox.S2, joulebox.S3} {
		proven[t] = selfTest(ctx, t)
	}
	for _, t := range joulebox.Tiers() {
		f := finding{Name: fmt.Sprintf("%s %s", t, t.Name())}
		err, tried := proven[t]
		switch {
		case !tried:
			f.Detail = missingTiers[t]
		case err != nil:
			f.Detail = err.Error()
		case t == joulebox.S3:
			f.OK, f.Detail = true, "ran a native unit, and its record verifies"
		default:
			f.OK, f.Detail = true, "ran a WASM unit, and its record verifies"
		}
		list = append(list, f)
	}
	return list
}

func examineKey() finding {
	info, err := custody.Show(custody.DefaultReference)
	switch {
	case errors.Is(err, custody.ErrNoKey):
		return finding{"key", true, "none yet: the first run makes one"}
	case err != nil:
		return finding{"key", false, err.Error()}
	case info.Reason != "":
		return finding{"key", false, info.Reason}
	}
	return finding{"key", true, fmt.Sprintf("%x in %s, next number %d", []byte(info.Public), info.Path, info.NextSequence)}
}

func examineStore(ctx context.Context) finding {
	s, err := openStore()
	if errors.Is(err, errNoStore) {
		return finding{"records", true, "none yet"}
	}
	if err != nil {
		return finding{"records", false, err.Error()}
	}
	defer s.Close()
	n := 0
	for _, err := range s.Records(ctx, 0) {
		if err != nil {
			return finding{"records", false, err.Error()}
		}
		n++
	}
	return finding{"records", true, fmt.Sprintf("%d runs", n)}
}

func examineCache() finding {
	dir, err := cacheDir()
	if err != nil {
		return finding{"cache", false, err.Error()}
	}
	e, err := openEngine()
	if err != nil {
		return finding{"cache", false, err.Error()}
	}
	defer e.Close()
	return finding{"cache", true, dir}
}

func (c *console) showDiagnosis(d diagnosis) {
	fmt.Fprintf(c.out, "host     %s\n", d.Host)
	for _, group := range []struct {
		head string
		list []finding
	}{{"tiers", d.Tiers}, {"jail", d.Jail}, {"meters", d.Meters}, {"keeping", d.Keeping}} {
		head := group.head
		for _, f := range group.list {
			mark, how := "ok", green
			if !f.OK {
				mark, how = "no", dim
			}
			fmt.Fprintf(c.out, "%-8s %s %-15s %s\n", head, c.paintOut(how, mark), f.Name, f.Detail)
			head = ""
		}
	}
}
