package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/journal"
	"github.com/joulebox/joulebox/store"
	"github.com/joulebox/joulebox/supervisor"
)

type replayFlags struct {
	keys   []string
	module string
	env    []string
	output string
	asJSON bool
	quiet  bool
}

func newReplay(c *console) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay [flags] BUNDLE",
		Short: "rerun a recorded run from its journal alone, and compare every state",
		Long: `Verifies a bundle as joulebox verify does, then reruns its unit with nothing but the
journal to answer it: no file, clock, network or randomness is touched, and what
the unit writes goes nowhere unless --output says so. The rerun must take the same
course to the same states, counts, outcome and output.

The journal is the one in the bundle, or that which this host kept with the
record. The module comes from this host's store by its id, or from --module.

Exits with 0 when the run is what the record says, 1 when a check failed or the
rerun departs from the journal, which names the entry, 2 on a usage error, 3 when
something that trust or the rerun needs is missing.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.replay(cmd.Context(), f, args[0]) },
	}
	cmd.Flags().StringArrayVar(&f.keys, "key", nil, "trust only this public key: `PUB` is 64 hex digits, the name of a trusted key, or a file that holds one")
	cmd.Flags().StringVar(&f.module, "module", "", "take the module from `FILE`")
	cmd.Flags().StringArrayVar(&f.env, "env", nil, "hand in the value of a secret variable: `K` alone takes this process's value, K=V says it")
	cmd.Flags().StringVar(&f.output, "output", "", "write the unit's standard output to `FILE`; - is standard output, and ours goes to standard error")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print one line")
	jsonFlag(cmd, &f.asJSON)
	return cmd
}

// replay does what the command says: verify, find what is needed, rerun, compare.
func (c *console) replay(ctx context.Context, f replayFlags, file string) error {
	secrets, err := secretValues(f.env)
	if err != nil {
		return fail(exitUsage, err, "")
	}
	pinned, err := pinnedKeys(f.keys)
	if err != nil {
		return fail(exitUsage, err, "")
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return fail(exitUsage, err, "")
	}
	doc := &replayed{File: file}
	b, err := doc.verify(src, bundle.Options{Pinned: pinned})
	if err == nil {
		err = c.rerun(ctx, f, b, secrets, doc)
	}
	if ctx.Err() != nil {
		return quiet(128 + interruptedBy(ctx))
	}
	if err != nil {
		var own *failure
		if errors.As(err, &own) {
			return err
		}
		doc.depart(err)
	}
	if err := c.showReplayed(f, doc); err != nil {
		return fail(exitFailed, err, "")
	}
	return quiet(doc.Verdict.ExitCode())
}

// verify checks all but the journal, which is read by itself: it can say which of
// its entries is at fault.
func (d *replayed) verify(src []byte, o bundle.Options) (*bundle.Bundle, error) {
	v, b := verifyOne(d.File, src, o)
	if b == nil {
		return nil, errors.New(v.Failures()[0].Detail)
	}
	d.Tier, d.Outcome, d.UnitID, d.Root = v.Tier, v.Outcome, v.UnitID, b.Statement().Fields().JournalRoot
	report := b.WithJournal(nil).Verify(o)
	switch {
	case report.Verdict == bundle.Invalid && d.Root.IsZero() && b.Journal() != nil:
		return nil, errors.New("a journal is here, and the attestation states no root")
	case report.Verdict == bundle.Invalid:
		return nil, fmt.Errorf("the bundle is invalid: %s; joulebox verify tells more", names(report.Failures()))
	case report.Verdict != bundle.Valid:
		return nil, &host.MissingError{What: "trust is incomplete, so nothing was rerun: " + names(report.Missing()), Hint: "name whom you trust with --key, or joulebox key trust"}
	case d.Root.IsZero():
		return nil, &host.MissingError{What: "the run kept no journal", Hint: "joulebox run --journal keeps one"}
	}
	return b, nil
}

func (c *console) rerun(ctx context.Context, f replayFlags, b *bundle.Bundle, secrets map[string]string, doc *replayed) error {
	records, err := openStore()
	if err == nil {
		defer records.Close()
	} else if !errors.Is(err, errNoStore) {
		return fail(exitFailed, err, "")
	}
	j, err := findJournal(ctx, records, b)
	if err != nil {
		return err
	}
	doc.Entries = j.Len()
	module, err := findModule(ctx, records, f.module, j.Begin.Module)
	if err != nil {
		return err
	}
	cache, err := cacheDir()
	if err != nil {
		return fail(exitFailed, err, "")
	}
	engine, err := host.NewReplayEngine(host.EngineConfig{CacheDir: cache})
	if err != nil {
		return fail(exitFailed, err, "")
	}
	defer engine.Close()
	out, err := c.replayOutput(f.output)
	if err != nil {
		return fail(exitUsage, err, "")
	}
	defer out.discard()
	got, err := supervisor.Replay(ctx, engine, b, host.Replay{Journal: j, Module: module, Secrets: secrets, Stdout: out.w})
	if err != nil {
		return err
	}
	doc.States, doc.Instructions, doc.Verdict = got.States, got.Exit.Counts.Instructions, bundle.Valid
	if err := out.commit(); err != nil {
		return fail(exitFailed, err, "")
	}
	return nil
}

func findJournal(ctx context.Context, records *store.Dir, b *bundle.Bundle) (*journal.Journal, error) {
	container := b.Journal()
	if container == nil && records != nil {
		var err error
		if container, err = supervisor.Journal(ctx, records, b); err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, fail(exitFailed, err, "")
		}
	}
	if container == nil {
		return nil, &host.MissingError{What: "the journal is neither in the bundle nor in this host's store", Hint: "joulebox run --journal --bundle FILE puts it into the bundle"}
	}
	return supervisor.ReadJournal(b, container)
}

// findModule reads the module from the file that was named, or from the store.
func findModule(ctx context.Context, records *store.Dir, file string, id joulebox.ID) ([]byte, error) {
	if file != "" {
		module, err := os.ReadFile(file)
		if err == nil && joulebox.Sum(module) != id {
			err = fmt.Errorf("--module: got %s, want the module that ran, %s", joulebox.Sum(module), id)
		}
		if err != nil {
			return nil, fail(exitUsage, err, "")
		}
		return module, nil
	}
	if records != nil {
		module, err := records.Get(ctx, id)
		if err == nil {
			return module, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, fail(exitFailed, err, "")
		}
	}
	return nil, &host.MissingError{What: fmt.Sprintf("this host doesn't have the module %s", id), Hint: "name its file with --module"}
}
