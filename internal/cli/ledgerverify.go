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
	"github.com/joulebox/joulebox/store"
)

type ledgerVerifyFlags struct {
	keys   []string
	head   string
	asJSON bool
}

func newLedgerVerify(c *console) *cobra.Command {
	var f ledgerVerifyFlags
	cmd := &cobra.Command{
		Use:   "verify [FILE [BUNDLE...]]",
		Short: "check this host's ledger, a ledger's export or one receipt, offline",
		Long: `Without FILE it checks this host's whole ledger: every seal, the chain, the signed
head, and that each step is what the record of its run says. FILE is a sealed receipt,
or NAME.jsonl as joulebox ledger export --chain wrote it; the bundles of its steps may
be laid beside it.

A ledger that is shorter than a signed head was cut short. --head takes one that you
have kept.

Exits with 0 when all is genuine, 1 when a check failed, 2 on a usage error, 3 when
nothing fails and something that trust needs is missing.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := pinnedKeys(f.keys)
			if err != nil {
				return fail(exitUsage, err, "")
			}
			o, err := f.verify(cmd.Context(), args, keys)
			if err != nil {
				return fail(exitUsage, err, "")
			}
			return c.showChecked(o, f.asJSON)
		},
	}
	keyFlag(cmd, &f.keys)
	cmd.Flags().StringVar(&f.head, "head", "", "check that the ledger goes on from the signed head in `FILE`")
	jsonFlag(cmd, &f.asJSON)
	return cmd
}

func (f *ledgerVerifyFlags) verify(ctx context.Context, args []string, keys []bundle.Key) (*checkedObject, error) {
	if len(args) == 0 {
		return f.ownLedger(ctx, keys)
	}
	src, err := os.ReadFile(args[0])
	if err != nil {
		return nil, err
	}
	runs, err := bundlesByAttestation(args[1:])
	if err != nil {
		return nil, err
	}
	v := newLedgerVerifier(args[0], keys, runs.find)
	if lines := bytes.Split(bytes.TrimSpace(src), []byte("\n")); len(lines) > 1 {
		return v.object, f.exported(v, lines)
	}
	v.alone = true
	s, err := ledger.ParseSigned(src)
	if v.object.check("form", err, "a sealed build receipt, closed members") {
		v.receipt(s)
		v.done()
	}
	return v.object, nil
}

// ownLedger checks the ledger on this host against the store beside it.
func (f *ledgerVerifyFlags) ownLedger(ctx context.Context, keys []bundle.Key) (*checkedObject, error) {
	l, err := openLedger(false)
	if err != nil {
		return nil, err
	}
	defer l.close()
	s, err := openStore()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	v := newLedgerVerifier("ledger", keys, func(id joulebox.ID) (*bundle.Bundle, error) { return keptRun(ctx, s, id) })
	chain, err := l.each(ctx, func(s ledger.Signed) error {
		v.receipt(s)
		return nil
	})
	if !v.object.check("chain", err, fmt.Sprintf("%d receipts lead to head %s", chain.Len(), chain.Head())) {
		return v.object, nil
	}
	head, ok, err := l.head()
	switch {
	case err != nil:
		v.object.check("head", err, "")
	case !ok:
		v.object.add("head", bundle.Unknown, "none was signed")
	default:
		v.head("head", head)
	}
	v.done()
	return v.object, f.keptHead(v)
}

// exported checks a chain that was written to a file: receipts, then the head.
func (f *ledgerVerifyFlags) exported(v *ledgerVerifier, lines [][]byte) error {
	for i, line := range lines[:len(lines)-1] {
		s, err := ledger.ParseSigned(line)
		if err != nil {
			v.object.check("chain", fmt.Errorf("line %d: %w", i+1, err), "")
			return nil
		}
		v.receipt(s)
	}
	if v.broken == nil {
		v.object.check("chain", nil, fmt.Sprintf("%d receipts lead to head %s", v.chain.Len(), v.chain.Head()))
	}
	head, err := ledger.ParseHead(lines[len(lines)-1])
	if v.object.check("form", err, "receipts, and a signed head") {
		v.head("head", head)
	}
	v.done()
	return f.keptHead(v)
}

// keptHead checks against a head that the relying party has kept.
func (f *ledgerVerifyFlags) keptHead(v *ledgerVerifier) error {
	if f.head == "" {
		return nil
	}
	src, err := os.ReadFile(f.head)
	if err != nil {
		return err
	}
	head, err := ledger.ParseHead(src)
	if v.object.check("kept_head_form", err, "a signed head") {
		v.head("kept_head", head)
	}
	return nil
}

// keptRun finds the record of a run; nil where it isn't kept.
func keptRun(ctx context.Context, s *store.Dir, attestation joulebox.ID) (*bundle.Bundle, error) {
	for record, err := range s.Find(ctx, attestation) {
		if err != nil {
			return nil, err
		}
		b, err := bundle.Parse(record.Data)
		if err != nil || b.Statement().ID() == attestation {
			return b, err
		}
	}
	return nil, nil
}

type runsByID map[joulebox.ID]*bundle.Bundle

func (r runsByID) find(id joulebox.ID) (*bundle.Bundle, error) { return r[id], nil }

func bundlesByAttestation(files []string) (runsByID, error) {
	runs := runsByID{}
	for _, file := range files {
		b, err := readBundle(file)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: ", file), err)
		}
		runs[b.Statement().ID()] = b
	}
	return runs, nil
}
