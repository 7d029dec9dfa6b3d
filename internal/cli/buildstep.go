package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/unit"
)

// maxStepOutput bounds what one step hands on: it is kept with the records.
const maxStepOutput = 64 << 20

// capped keeps what is written to it, up to a bound.
type capped struct{ bytes.Buffer }

func (c *capped) Write(p []byte) (int, error) {
	if c.Len()+len(p) > maxStepOutput {
		return 0, fmt.Errorf("a step's output is larger than %s", formatBytes(maxStepOutput))
	}
	return c.Buffer.Write(p)
}

// step runs one step and verifies what came of it. The bundle is nil when nothing
// has run.
func (b *built) step(ctx context.Context, s *buildStep) (*bundle.Bundle, error) {
	it, err := b.item(s)
	if err != nil {
		return nil, err
	}
	var out capped
	p, err := it.prepare(b.console, nil, &out, b.err)
	if err != nil {
		return nil, err
	}
	defer p.handed.close()
	if err := b.intoImage(s, &p); err != nil {
		return nil, err
	}
	plan, err := b.house.supervisor.Plan(p.request)
	if err != nil {
		return nil, err
	}
	record, err := b.house.supervisor.Run(ctx, plan, p.handed.BrokerConfig)
	if err != nil {
		return nil, err
	}
	if err := b.verify(s, record.Bundle, out.Bytes()); err != nil {
		return nil, err
	}
	if _, err := b.house.store.Put(context.WithoutCancel(ctx), out.Bytes()); err != nil {
		return record.Bundle, err
	}
	b.outputs[s.Name] = out.Bytes()
	return record.Bundle, nil
}

// verify checks a step's record as a stranger would, and that what it was given is
// what the steps before it wrote, by content.
func (b *built) verify(s *buildStep, run *bundle.Bundle, output []byte) error {
	report := run.Verify(bundle.Options{Pinned: []bundle.Key{{Name: "this host", Public: b.house.supervisor.Public()}}})
	if report.Verdict != bundle.Valid {
		return fmt.Errorf("its record doesn't verify: %s", names(append(report.Failures(), report.Missing()...)))
	}
	if got := run.Result().Stdout; got != joulebox.Sum(output) {
		return fmt.Errorf("it wrote %s, and %s was kept", got, joulebox.Sum(output))
	}
	if s.StdinStep != "" {
		// A unit need not read all of its input; what it read is a beginning of it.
		if got, empty := run.Result().Stdin, joulebox.Sum(nil); got != joulebox.Sum(b.outputs[s.StdinStep]) && got != empty {
			b.note("%s: it read a part of what %s wrote", s.Name, s.StdinStep)
		}
	}
	return nil
}

// item is the step's unit with what other steps wrote put where it is looked for.
func (b *built) item(s *buildStep) (it unitItem, err error) {
	it = s.unitItem
	if s.ProgramStep != "" {
		if it.Program, err = b.handOn(s.ProgramStep); err != nil {
			return it, err
		}
	}
	if s.StdinStep != "" {
		it.Stdin, err = b.handOn(s.StdinStep)
	}
	return it, err
}

// handOn puts a step's output into a file.
func (b *built) handOn(step string) (string, error) {
	name := filepath.Join(b.dir, step)
	return name, os.WriteFile(name, b.outputs[step], 0o600)
}

// Where a module and its inputs are in the image of a step.
const (
	stepProgram = "/program.wasm"
	stepInputs  = "/in"
)

// intoImage makes one image of a step's program and its inputs, so that the image
// id, and with it the build's id, covers all of them.
func (b *built) intoImage(s *buildStep, p *prepared) error {
	if len(s.Inputs) == 0 {
		return nil
	}
	entries, contents := []unit.Entry{}, map[joulebox.ID]host.Content{}
	add := func(name string, data []byte) {
		id := joulebox.Sum(data)
		entries = append(entries, unit.Entry{Path: name, Type: unit.File, Mode: 0o444, B3: id})
		contents[id] = host.Bytes(data)
	}
	switch r := &p.request; {
	case r.Native != nil:
		return errors.New("inputs: a native program's image is what it is; grant it files to read")
	case r.Tree != nil: // a script's, with its language
		for _, e := range r.Tree.Image().Entries {
			entries = append(entries, e)
			contents[e.B3] = r.Tree.Content(e.B3)
		}
	default:
		add(stepProgram, r.Image)
	}
	for name, in := range s.Inputs {
		data, err := b.input(in)
		if err != nil {
			return fmt.Errorf("inputs.%s: %w", name, err)
		}
		add(path.Join(stepInputs, name), data)
	}
	image, err := unit.NewTree(entries)
	if err != nil {
		return err
	}
	tree, err := host.NewTree(image, contents)
	if err != nil {
		return err
	}
	if p.request.Tree == nil {
		p.request.Entrypoint = append([]string{stepProgram}, p.request.Entrypoint[1:]...)
	}
	p.request.Image, p.request.Tree = nil, tree
	return nil
}

func (b *built) input(in buildInput) ([]byte, error) {
	if in.Step != "" {
		return b.outputs[in.Step], nil
	}
	data, err := os.ReadFile(in.File)
	if err == nil && len(data) > maxStepOutput {
		err = fmt.Errorf("%s is larger than %s", in.File, formatBytes(maxStepOutput))
	}
	return data, err
}
