package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/ledger"
)

type buildFlags struct {
	out    string
	asJSON bool
	host   hostProcess
}

func newBuild(c *console) *cobra.Command {
	var f buildFlags
	cmd := &cobra.Command{
		Use:   "build FILE",
		Short: "run a build's steps, and record it in the ledger",
		Long: `Runs the steps of a build one after another, each a unit with its grants, and signs
an account of the whole: which units ran, at which tier, how they came out, what each
cost, and their attestations. Every step is verified before it is recorded.

  {"intent": "greet in capitals",
   "steps": [{"name": "greet", "program": "hello.wasm"},
             {"name": "upper", "program": "upper.wasm", "stdin_step": "greet"}]}

A step has what joulebox run takes (program args lang entry grants timeout memory
energy env mounts stdin trusted sensitive). Its output is what it writes to standard
output; the next steps get it by content, as stdin_step, as program_step, or as a file
in their image: "inputs": {"src/a.txt": {"step": "greet"}, "b.txt": {"file": "b.txt"}}.

The last step's output goes to standard output, or to --output. A step that doesn't
complete ends the build, which is recorded as it came out.

Exits with 0 when the build completed, 1 when it didn't.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.build(cmd.Context(), f, args[0]) },
	}
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "write the last step's output to `FILE`")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON document; the output is then only written with --output")
	f.host.register(cmd.Flags())
	return cmd
}

// built is a build on its way.
type built struct {
	*console
	house   *house
	file    buildFile
	dir     string // for what steps hand on; gone afterwards
	bundles []*bundle.Bundle
	outputs map[string][]byte
}

func (c *console) build(ctx context.Context, f buildFlags, path string) error {
	src, err := c.readFile(path)
	if err != nil {
		return fail(exitUsage, err, "")
	}
	b := &built{console: c, outputs: map[string][]byte{}}
	if b.file, err = parseBuildFile(src); err != nil {
		return fail(exitFailed, fmt.Errorf("%s: %w", path, err), "")
	}
	if b.dir, err = os.MkdirTemp("", "joulebox-build-"); err != nil {
		return fail(exitFailed, err, "")
	}
	defer os.RemoveAll(b.dir)
	processes, err := f.host.open()
	if err != nil {
		return fail(exitFailed, err, "")
	}
	if b.house, err = openHouse(c, processes); err != nil {
		if processes != nil {
			_ = processes.Close()
		}
		return fail(exitFailed, err, "")
	}
	defer b.house.close()
	stepErr := b.steps(ctx)
	if len(b.bundles) == 0 {
		return fail(exitFailed, stepErr, "")
	}
	signed, err := b.record(context.WithoutCancel(ctx))
	if err = errors.Join(err, stepErr); err != nil && signed == nil {
		return fail(exitFailed, err, "")
	}
	return b.finish(f, signed, stepErr)
}

// steps runs them in order until one doesn't complete.
func (b *built) steps(ctx context.Context) error {
	for i := range b.file.Steps {
		s := &b.file.Steps[i]
		run, err := b.step(ctx, s)
		if run != nil {
			b.bundles = append(b.bundles, run)
		}
		if err != nil {
			return fmt.Errorf("step %s: %w", s.Name, err)
		}
		if o := run.Statement().Fields().Outcome; o != joulebox.Completed {
			return fmt.Errorf("step %s: it came out as %s", s.Name, newRunRecord(run).outcomeText())
		}
		b.note("%s: %s, %s", s.Name, run.Statement().Fields().Tier, newRunRecord(run).Energy.text())
	}
	return nil
}

// shownBuild is a build as --json shows it.
type shownBuild struct {
	BuildID   joulebox.ID   `json:"build_id"`
	ReceiptID joulebox.ID   `json:"receipt_id"` // the address of the sealed build receipt
	Intent    joulebox.ID   `json:"intent_b3"`
	Prev      joulebox.ID   `json:"prev,omitzero"`
	Completed bool          `json:"completed"`
	Total     ledger.Total  `json:"total"`
	Steps     []ledger.Step `json:"steps"`
	Output    joulebox.ID   `json:"output_b3,omitzero"`
	Error     string        `json:"error,omitempty"`
}

func newShownBuild(s ledger.Signed) (shownBuild, error) {
	text, err := s.Canonical()
	if err != nil {
		return shownBuild{}, err
	}
	total, err := s.Build.Total()
	return shownBuild{
		BuildID: s.Build.ID(), ReceiptID: joulebox.Sum(text), Intent: s.Build.Intent, Prev: s.Build.Prev,
		Completed: s.Build.Completed(), Total: total, Steps: s.Build.Steps,
	}, err
}

// finish shows the build and hands its output on.
func (b *built) finish(f buildFlags, signed *ledger.Signed, stepErr error) error {
	doc, err := newShownBuild(*signed)
	if err != nil {
		return fail(exitFailed, err, "")
	}
	output := b.outputs[b.file.Steps[len(b.file.Steps)-1].Name]
	if stepErr == nil {
		doc.Output = joulebox.Sum(output)
		err = b.deliver(f, output)
	} else {
		doc.Error = stepErr.Error()
	}
	if err != nil {
		return fail(exitFailed, fmt.Errorf("the build is recorded as %s, but its output: %w", short(doc.BuildID), err), "")
	}
	if f.asJSON {
		err = b.document(doc)
	} else {
		b.note("build %s, %d steps, %s estimated; joulebox ledger show %s tells about it", doc.BuildID, len(doc.Steps), formatEnergy(uint64(doc.Total.Estimated)), short(doc.BuildID))
	}
	switch {
	case err != nil:
		return fail(exitFailed, err, "")
	case stepErr != nil && f.asJSON:
		return quiet(exitFailed)
	case stepErr != nil:
		return fail(exitFailed, stepErr, "it is recorded as it came out")
	}
	return nil
}

func (b *built) deliver(f buildFlags, output []byte) (err error) {
	switch {
	case f.out != "":
		return writeFile(f.out, func(w *os.File) error {
			_, err := w.Write(output)
			return err
		})
	case !f.asJSON:
		_, err = bytes.NewReader(output).WriteTo(b.out)
	}
	return err
}
