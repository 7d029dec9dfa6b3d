package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/internal/sig"
	"github.com/joulebox/joulebox/ledger"
	"github.com/joulebox/joulebox/store"
	"github.com/joulebox/joulebox/unit"
)

func newReceiptsExport(c *console) *cobra.Command {
	format := "in-toto"
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "print one record as an in-toto link",
		Long: `Prints a run as an in-toto statement with a link predicate in a signed DSSE envelope,
one line, for a file NAME.intoto.jsonl. Its subjects are the run's outputs and its
attestation, its materials the image and the standard input. Digests are BLAKE3, and
SHA-256 of what is kept here. ID is the beginning of one of the run's ids.

The record is verified first. The envelope is signed with this host's key; no service
is asked, and none is needed to check it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "in-toto" {
				return fail(exitUsage, fmt.Errorf("--format: got %q, want in-toto", format), "")
			}
			if err := c.exportRun(cmd.Context(), args[0]); err != nil {
				return fail(exitFailed, err, "joulebox receipts list shows what there is")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "the `FORMAT` to print: in-toto")
	return cmd
}

func (c *console) exportRun(ctx context.Context, id string) error {
	b, err := findRecord(ctx, id)
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
	keys, err := knownKeys()
	if err != nil {
		return err
	}
	// Nothing is vouched for anew that doesn't verify.
	r := b.Verify(bundle.Options{Pinned: append(keys, bundle.Key{Name: "this host", Public: public})})
	if r.Verdict != bundle.Valid {
		return fmt.Errorf("the record is %s: %s", r.Verdict, names(append(r.Failures(), r.Missing()...)))
	}
	statement, err := linkStatement(ctx, s, b)
	if err != nil {
		return err
	}
	envelope, err := ledger.SealEnvelope(key, statement)
	if err == nil {
		_, err = fmt.Fprintf(c.out, "%s\n", envelope)
	}
	return err
}

// The types of a link (in-toto attestation framework 1, link 0.3).
const (
	intotoStatement = "https://in-toto.io/Statement/v1"
	intotoLink      = "https://in-toto.io/attestation/link/v0.3"
)

type linkDocument struct {
	Type          string         `json:"_type"`
	Subject       []linkResource `json:"subject"`
	PredicateType string         `json:"predicateType"`
	Predicate     linkPredicate  `json:"predicate"`
}

type linkResource struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type linkPredicate struct {
	Name        string            `json:"name"`
	Command     []string          `json:"command"`
	Materials   []linkResource    `json:"materials"`
	Byproducts  map[string]any    `json:"byproducts"`
	Environment map[string]string `json:"environment"`
}

// linkStatement is a run as a link: what it made, of what, and under what.
func linkStatement(ctx context.Context, s *store.Dir, b *bundle.Bundle) ([]byte, error) {
	f, result := b.Statement().Fields(), b.Result()
	var failed error
	kept := func(name string, id joulebox.ID) linkResource {
		r := linkResource{name, map[string]string{"blake3": hex.EncodeToString(id[:])}}
		switch content, err := s.Get(ctx, id); {
		case err == nil:
			r.Digest["sha256"] = sha256Hex(content)
		case !errors.Is(err, store.ErrNotFound) && failed == nil:
			failed = err
		}
		return r
	}
	core := b.Statement().Core()
	id := b.Statement().ID()
	attested := linkResource{"attestation", map[string]string{"blake3": hex.EncodeToString(id[:]), "sha256": sha256Hex(core)}}
	d := linkDocument{
		Type: intotoStatement, PredicateType: intotoLink,
		Subject: []linkResource{attested, kept("stdout", result.Stdout), kept("stderr", result.Stderr)},
		Predicate: linkPredicate{
			Name: "joulebox run", Command: b.Unit().Entrypoint,
			Materials:  []linkResource{kept("image", f.ImageID), kept("stdin", result.Stdin)},
			Byproducts: byproducts(b),
			Environment: map[string]string{
				"tier": f.Tier.String(), "unit_id": f.UnitID.String(), "grants_id": f.GrantsID.String(), "host_id": f.HostID.String(),
			},
		},
	}
	if image := b.Image(); image != nil {
		for _, e := range image.Entries {
			if e.Type == unit.File {
				d.Predicate.Materials = append(d.Predicate.Materials, kept(e.Path, e.B3))
			}
		}
	}
	if failed != nil {
		return nil, failed
	}
	return json.Marshal(d, json.Deterministic(true))
}

// byproducts are how the run ended, and what it cost.
func byproducts(b *bundle.Bundle) map[string]any {
	total := b.Receipt().Total()
	m := map[string]any{"outcome": b.Statement().Fields().Outcome.String(), "receipt_id": b.Receipt().ID().String(), "estimated_uj": fmt.Sprint(uint64(total.EstimatedUJ))}
	if total.HasMeasured {
		m["measured_uj"] = fmt.Sprint(uint64(total.MeasuredUJ))
	}
	if code := b.Result().ExitCode; code != nil {
		m["return-value"] = *code // in-toto's own name for it
	}
	return m
}

func sha256Hex(content []byte) string {
	d := sha256.Sum256(content)
	return hex.EncodeToString(d[:])
}
