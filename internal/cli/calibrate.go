package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/supervisor"
)

type calibrateFlags struct {
	cpu     string
	seconds float64
	dry     bool
	json    bool
}

func newCalibrate(c *console) *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "fit this host's energy model to its counters",
		Long: `Runs known work, and fits what an instruction, a vector instruction and a second of
CPU time cost to what this host's energy counters say. Other work, which the model
was not made from, then shows its error. The model is signed and kept in the state
folder; the records of later runs quote its id, and their estimates are ModelBased.

Where there is no counter, the published power of the processor is taken, at the
speed that is found here. That measures nothing: estimates stay Estimator. Where the
processor hides its name, as in many virtual machines, --cpu says what it is.

Let nothing else work meanwhile.`,
		Example: `  joulebox calibrate
  joulebox calibrate --cpu "AMD EPYC 7763"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.calibrate(cmd.Context(), f) },
	}
	to := cmd.Flags()
	to.StringVar(&f.cpu, "cpu", "", "take the published figures of this `PROCESSOR`, and no counter")
	to.Float64Var(&f.seconds, "seconds", 2, "run each kind of work for about this many `SECONDS`")
	to.BoolVar(&f.dry, "dry-run", false, "show the model and keep nothing")
	jsonFlag(cmd, &f.json)
	return cmd
}

func (c *console) calibrate(ctx context.Context, f calibrateFlags) error {
	if f.seconds < 0.1 || f.seconds > 600 {
		return fail(exitUsage, fmt.Errorf("--seconds: got %g, want 0.1 to 600", f.seconds), "")
	}
	model, err := c.makeModel(ctx, f)
	if err != nil {
		return fail(exitFailed, err, "docs/ENERGY.md says how to get counters; without a model the constants stand, and their figures are labelled so")
	}
	id, err := model.ID()
	if err != nil {
		return fail(exitFailed, err, "")
	}
	var path string
	if !f.dry {
		if path, err = signModel(model); err != nil {
			return fail(exitFailed, err, "")
		}
	}
	if f.json {
		return c.document(struct {
			ID    joulebox.ID        `json:"id"`
			Model *meter.Calibration `json:"model"`
		}{id, model})
	}
	c.showModel(model, id, path)
	return nil
}

// makeModel fits a model, to a counter if there is one and none of public figures
// was asked for.
func (c *console) makeModel(ctx context.Context, f calibrateFlags) (*meter.Calibration, error) {
	name := meter.HostCPU(joulebox.CPU).Model
	counter, counterErr := meter.HostCounter()
	if f.cpu == "" && counterErr == nil {
		return c.fitCounter(ctx, f, name, counter)
	}
	asked := f.cpu
	if asked == "" {
		asked = name
	}
	public, known := meter.FindPublicCPU(asked)
	switch {
	case !known && f.cpu != "":
		return nil, fmt.Errorf("--cpu: nothing is published here of %q", f.cpu)
	case !known:
		return nil, fmt.Errorf("no counter, and nothing is published here of %q: %w", name, counterErr)
	}
	return c.fitPublic(ctx, f, name, public)
}

func (c *console) fitCounter(ctx context.Context, f calibrateFlags, name string, counter meter.Counter) (*meter.Calibration, error) {
	done := c.progress("watching the idle machine")
	floor, err := meter.IdlePower(ctx, counter, 5, meter.Now, meter.Sleep)
	done()
	if err != nil {
		return nil, err
	}
	node, err := meter.NewNode(meter.NodeConfig{Counter: counter, Busy: meter.BusyCPU, Floor: floor})
	if err != nil {
		return nil, err
	}
	k, end, err := newCalibrator(func() (*meter.Node, error) { return node, nil })
	if err != nil {
		return nil, err
	}
	defer end()
	model, err := c.fit(ctx, f, k, name)
	if err != nil {
		return nil, err
	}
	model.Reference, model.IdleMilliwatts = counter.Name(), floor
	return model, nil
}

// fit makes a model from measured work, and holds other work against it.
func (c *console) fit(ctx context.Context, f calibrateFlags, k calibrator, name string) (*meter.Calibration, error) {
	made, err := c.samples(ctx, f, k, fitted)
	if err != nil {
		return nil, err
	}
	table, err := meter.Fit(made, meter.DefaultTable())
	if err != nil {
		return nil, err
	}
	others, err := c.samples(ctx, f, k, held)
	if err != nil {
		return nil, err
	}
	model := meter.NewCalibration(name, table)
	model.Source, model.MadeAtUS = meter.SourceCounter, uint64(time.Now().UnixMicro())
	model.Validation, model.ErrorPermille, err = meter.Validate(table, others)
	return &model, err
}

func (c *console) fitPublic(ctx context.Context, f calibrateFlags, name string, public meter.PublicCPU) (*meter.Calibration, error) {
	k, end, err := newCalibrator(func() (*meter.Node, error) { return nil, meter.ErrNotMeasured })
	if err != nil {
		return nil, err
	}
	defer end()
	timed, err := c.samples(ctx, f, k, fitted)
	if err != nil {
		return nil, err
	}
	table, err := public.Table(timed, meter.DefaultTable())
	if err != nil {
		return nil, err
	}
	model := meter.NewCalibration(name, table)
	model.Source, model.MadeAtUS = meter.SourcePublic, uint64(time.Now().UnixMicro())
	model.Reference = fmt.Sprintf("%s: %s, %d W, %d cores", meter.PublicReference, public.Name, public.Watts, public.Cores)
	return &model, nil
}

func (c *console) samples(ctx context.Context, f calibrateFlags, k calibrator, list []workload) (made []meter.Sample, err error) {
	for _, w := range list {
		done := c.progress("running " + w.name)
		s, err := k.sample(ctx, w, time.Duration(f.seconds*float64(time.Second)))
		done()
		if err != nil {
			return nil, err
		}
		made = append(made, s)
	}
	return made, nil
}

// newCalibrator runs work with a key and a store that nobody will see again.
func newCalibrator(node func() (*meter.Node, error)) (k calibrator, done func(), err error) {
	table := meter.DefaultTable()
	s, done, err := throwawayWith(table, supervisor.NewMeters(table, node))
	if err != nil {
		return k, nil, err
	}
	return calibrator{runWith(s)}, done, nil
}

func (c *console) showModel(m *meter.Calibration, id joulebox.ID, path string) {
	fmt.Fprintf(c.out, "processor      %s\nfrom           %s: %s\n", m.CPU, m.Source, m.Reference)
	fmt.Fprintf(c.out, "instruction    %d pJ\nvector         as %d instructions\nCPU second     %s\n",
		m.PicojoulesPerUnit, m.UnitsPerVector, formatEnergy(m.MicrojoulesPerCPUSecond))
	if m.IdleMilliwatts > 0 {
		fmt.Fprintf(c.out, "idle           %d mW, in no estimate\n", m.IdleMilliwatts)
	}
	for _, v := range m.Validation {
		fmt.Fprintf(c.out, "validation     %s: %s measured, %s estimated\n", v.Work, formatEnergy(uint64(v.MeasuredUJ)), formatEnergy(uint64(v.EstimatedUJ)))
	}
	if m.Source == meter.SourceCounter {
		fmt.Fprintf(c.out, "error          at most %d.%d %% of what was measured\n", m.ErrorPermille/10, m.ErrorPermille%10)
	} else {
		fmt.Fprintln(c.out, "error          unknown: nothing was measured")
	}
	fmt.Fprintf(c.out, "id             %s\n", id)
	if path != "" {
		fmt.Fprintf(c.out, "kept           %s\n", path)
	}
}
