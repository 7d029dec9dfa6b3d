package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/internal/sig"
	"github.com/joulebox/joulebox/ledger"
	"github.com/joulebox/joulebox/store"
	"github.com/joulebox/joulebox/unit"
)

func newLedgerExport(c *console) *cobra.Command {
	chain := false
	cmd := &cobra.Command{
		Use:   "export [ID]",
		Short: "print a build as SLSA provenance, or the whole ledger",
		Long: `Prints a build as an in-toto statement with SLSA provenance in a signed DSSE
envelope, one line, for a file NAME.intoto.jsonl. Its subject is the last step's
output; digests are SHA-256 and BLAKE3. ID is the beginning of one of the build's ids.

With --chain it prints every sealed receipt, one a line, and the signed head as the
last, for joulebox ledger verify somewhere else.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if chain == (len(args) == 1) {
				return fail(exitUsage, errors.New("want a build's id, or --chain"), "")
			}
			l, err := openLedger(false)
			if err != nil {
				return fail(exitFailed, err, "")
			}
			defer l.close()
			if chain {
				err = c.exportChain(cmd.Context(), l)
			} else {
				err = c.exportBuild(cmd.Context(), l, args[0])
			}
			if err != nil {
				return fail(exitFailed, err, "")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&chain, "chain", false, "print the whole ledger instead")
	return cmd
}

func (c *console) exportChain(ctx context.Context, l *hostLedger) error {
	chain, err := l.each(ctx, func(s ledger.Signed) error {
		text, err := s.Canonical()
		if err == nil {
			_, err = fmt.Fprintf(c.out, "%s\n", text)
		}
		return err
	})
	if err != nil {
		return err
	}
	key, err := c.openKey()
	if err != nil {
		return err
	}
	defer key.Close()
	head, err := chain.SignHead(key)
	if err == nil {
		_, err = fmt.Fprintf(c.out, "%s\n", head)
	}
	return err
}

func (c *console) exportBuild(ctx context.Context, l *hostLedger, id string) error {
	signed, err := l.find(ctx, id)
	if err != nil {
		return err
	}
	s, err := openStore()
	if err != nil {
		return err
	}
	defer s.Close()
	key, err := c.openKey()
	if err != nil {
		return err
	}
	defer key.Close()
	public, err := sig.Public(key)
	if err != nil {
		return err
	}
	// Nothing is vouched for anew that doesn't verify.
	if err := signed.Verify(public); err != nil {
		return err
	}
	p, err := provenance(ctx, s, signed)
	if err != nil {
		return err
	}
	p.HostID, p.Version = attestation.KeyID(public), readVersion().Version
	statement, err := p.Statement()
	if err != nil {
		return err
	}
	envelope, err := ledger.SealEnvelope(key, statement)
	if err == nil {
		_, err = fmt.Fprintf(c.out, "%s\n", envelope)
	}
	return err
}

// provenance gathers what was kept of a build.
func provenance(ctx context.Context, s *store.Dir, signed ledger.Signed) (p ledger.Provenance, err error) {
	intent, err := s.Get(ctx, signed.Build.Intent)
	if err != nil {
		return p, fmt.Errorf("the intent: %w", err)
	}
	p = ledger.Provenance{Signed: signed, Intent: string(intent)}
	written := map[joulebox.ID]bool{} // by steps of this build: no dependencies
	for i, step := range signed.Build.Steps {
		run, err := keptRun(ctx, s, step.AttestationID)
		if err == nil && run == nil {
			err = fmt.Errorf("the record of run %s isn't kept here", step.AttestationID)
		}
		if err == nil {
			err = addStep(ctx, s, &p, run, i, written)
		}
		if err != nil {
			return p, fmt.Errorf("step %d: %w", i, err)
		}
		written[run.Result().Stdout] = true
		if i == len(signed.Build.Steps)-1 {
			output, err := s.Get(ctx, run.Result().Stdout)
			if err != nil {
				return p, fmt.Errorf("the output: %w", err)
			}
			p.Outputs = []ledger.Artifact{{Name: "output", Content: output}}
		}
	}
	return p, nil
}

func addStep(ctx context.Context, s *store.Dir, p *ledger.Provenance, run *bundle.Bundle, i int, written map[joulebox.ID]bool) error {
	f := run.Statement().Fields()
	p.Steps = append(p.Steps, ledger.StepDetail{
		Entrypoint: run.Unit().Entrypoint, GrantsID: f.GrantsID,
		StartedUS: f.StartedAtUS, FinishedUS: f.FinishedAtUS, Attestation: run.Statement().Core(),
	})
	add := func(name string, id joulebox.ID) error {
		if written[id] {
			return nil
		}
		content, err := s.Get(ctx, id)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		p.Dependencies = append(p.Dependencies, ledger.Artifact{Name: name, Content: content, Annotations: map[string]string{"step": fmt.Sprint(i), "b3": id.String()}})
		return nil
	}
	image := run.Image()
	if image == nil {
		return add("module", f.ImageID)
	}
	for _, e := range image.Entries {
		if e.Type == unit.File {
			if err := add(e.Path, e.B3); err != nil {
				return err
			}
		}
	}
	return nil
}
