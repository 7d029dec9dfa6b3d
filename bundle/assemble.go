package bundle

import (
	"crypto"
	"fmt"
	"slices"

	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/jcs"
	"github.com/joulebox/joulebox/receipt"
	"github.com/joulebox/joulebox/unit"
)

// Parts are what a run leaves behind, before signing. The statement must name
// the others by id; Image is nil when the image is one module, and the last
// three are nil unless there are such.
type Parts struct {
	Unit      unit.Unit
	Receipt   *receipt.Receipt
	Statement *attestation.Statement
	Result    Result
	Image     *unit.Image
	Manifest  *Manifest
	Journal   []byte
	Evidence  *Evidence

	// Known is what the caller has made canonical already, so that it is made
	// once; empty members are made here. Verify holds all of it to the ids.
	Known Known
}

// Known are canonical forms of a run's parts that exist before it is assembled.
type Known struct {
	Unit   []byte     // of Parts.Unit
	Grants *grant.Set // of Parts.Unit.Grants
	Result []byte     // of Parts.Result
}

// Parts takes a bundle apart again.
func (b *Bundle) Parts() Parts {
	return Parts{Unit: b.unit, Receipt: b.receipt, Statement: b.statement, Result: b.result, Image: b.image,
		Manifest: b.manifest, Journal: b.raw.journal, Evidence: b.evidence}
}

// Assemble signs the receipt, the statement and its EAT with one key, and makes
// the bundle of them. It doesn't verify: a caller runs the bundle's own Verify
// over what came of it before letting it out, as over a stranger's file.
func Assemble(signer crypto.Signer, p Parts) (*Bundle, error) {
	b := &Bundle{unit: p.Unit, receipt: p.Receipt, statement: p.Statement, result: p.Result, image: p.Image, manifest: p.Manifest, evidence: p.Evidence}
	if err := b.encode(p); err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	if err := b.sign(signer); err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	return b, nil
}

func (b *Bundle) sign(signer crypto.Signer) (err error) {
	if b.raw.receipt, err = b.receipt.Seal(signer); err != nil {
		return err
	}
	if b.seal, err = b.statement.Sign(signer); err != nil {
		return err
	}
	if b.raw.seal, err = jcs.Marshal(b.seal); err != nil {
		return err
	}
	b.eat = b.statement.EAT()
	b.raw.eat, err = b.statement.SealEAT(signer)
	return err
}

func (b *Bundle) encodeRequest(p Parts) (err error) {
	if b.raw.unit = p.Known.Unit; b.raw.unit == nil {
		if b.raw.unit, err = p.Unit.Canonical(); err != nil {
			return err
		}
	}
	if p.Known.Grants != nil {
		b.grants = *p.Known.Grants
		return nil
	}
	b.grants, err = grant.Parse(p.Unit.Grants)
	return err
}

func (b *Bundle) encode(p Parts) (err error) {
	b.raw.attestation, b.raw.journal = p.Statement.Core(), slices.Clone(p.Journal)
	if err := b.encodeRequest(p); err != nil {
		return err
	}
	if b.raw.result = p.Known.Result; b.raw.result == nil {
		if b.raw.result, err = p.Result.Canonical(); err != nil {
			return err
		}
	}
	if p.Image != nil {
		if b.raw.image, err = p.Image.Canonical(); err != nil {
			return err
		}
	}
	if p.Manifest != nil {
		if b.raw.manifest, err = p.Manifest.canonical(); err != nil {
			return err
		}
	}
	if p.Evidence != nil {
		b.raw.evidence, err = p.Evidence.canonical()
	}
	return err
}
