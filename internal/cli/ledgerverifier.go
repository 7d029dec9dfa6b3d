package cli

import (
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/ledger"
)

// ledgerVerifier goes over receipts and notes what it finds.
type ledgerVerifier struct {
	object *checkedObject
	keys   []bundle.Key
	run    func(attestation joulebox.ID) (*bundle.Bundle, error)

	alone            bool // one receipt, without those before it
	chain            ledger.Chain
	broken           error
	heads            map[uint64]joulebox.ID // by length
	count            uint64
	steps, unchecked int
	bad              int
	signers          map[string]bool
}

func newLedgerVerifier(what string, keys []bundle.Key, run func(joulebox.ID) (*bundle.Bundle, error)) *ledgerVerifier {
	return &ledgerVerifier{object: newCheckedObject(what), keys: keys, run: run, heads: map[uint64]joulebox.ID{0: {}}, signers: map[string]bool{}}
}

// receipt checks one receipt: its seal, its place, and its steps.
func (v *ledgerVerifier) receipt(s ledger.Signed) {
	v.signers[s.Seal.PublicKeyHex] = true
	if err := s.VerifyClaimed(); err != nil {
		v.fail("seal", err)
	}
	for i, step := range s.Build.Steps {
		if err := v.step(step); err != nil {
			v.fail("step", fmt.Errorf("step %d: %w", i, err))
		}
	}
	if v.broken == nil && !v.alone {
		if v.broken = v.chain.Append(s); v.broken != nil {
			v.fail("chain", v.broken)
		}
	}
	v.count++
	v.heads[v.count] = v.chain.Head()
}

func (v *ledgerVerifier) fail(name string, err error) {
	if v.bad++; v.bad <= maxTold {
		v.object.add(name, bundle.Fail, fmt.Sprintf("receipt %d: %v", v.count, err))
	}
}

// step holds a step's line to the record of its run, if that is here.
func (v *ledgerVerifier) step(s ledger.Step) error {
	v.steps++
	b, err := v.run(s.AttestationID)
	if err != nil {
		return err
	}
	if b == nil {
		v.unchecked++
		return nil
	}
	if report := b.Verify(bundle.Options{Pinned: v.keys, Challenge: b.Unit().Challenge}); report.Verdict == bundle.Invalid {
		return fmt.Errorf("its run %s doesn't verify: %s", s.AttestationID, names(report.Failures()))
	}
	if !sameStep(ledgerStep(b), s) {
		return fmt.Errorf("it isn't what the record of its run %s says", s.AttestationID)
	}
	return nil
}

func sameStep(a, b ledger.Step) bool {
	if (a.Total.Measured == nil) != (b.Total.Measured == nil) || a.Total.Measured != nil && *a.Total.Measured != *b.Total.Measured {
		return false
	}
	a.Total.Measured, b.Total.Measured = nil, nil
	return a == b
}

// head checks that the chain had a signed head, at its length.
func (v *ledgerVerifier) head(name string, h ledger.SignedHead) {
	v.signers[h.Seal().PublicKeyHex] = true
	err := h.VerifyClaimed()
	if err == nil {
		switch at, ok := v.heads[h.Length]; {
		case !ok:
			err = fmt.Errorf("the ledger has %d receipts, and had %d when this head was signed: it was cut short", v.count, h.Length)
		case at != h.Head:
			err = fmt.Errorf("at %d receipts the head is %s, and %s was signed: something was changed", h.Length, at, h.Head)
		}
	}
	if v.object.check(name, err, fmt.Sprintf("signed over the first %d of %d receipts", h.Length, v.count)) && h.Length < v.count {
		v.object.Notes = append(v.object.Notes, fmt.Sprintf("the last %d receipts are unsigned by %s: the process ended before it signed a new head", v.count-h.Length, name))
	}
}

// done says what was checked all over.
func (v *ledgerVerifier) done() {
	for key := range v.signers {
		v.object.signer(key, v.keys)
	}
	if v.bad == 0 {
		v.object.check("seals", nil, fmt.Sprintf("all %d receipts are whole", v.count))
		if v.unchecked < v.steps {
			v.object.check("steps", nil, fmt.Sprintf("%d of %d are what the records of their runs say, which verify", v.steps-v.unchecked, v.steps))
		}
	}
	if v.unchecked > 0 {
		v.object.Notes = append(v.object.Notes, fmt.Sprintf("the records of %d of %d runs aren't here: what the receipts say of them was not checked", v.unchecked, v.steps))
	}
	if v.count == 0 {
		v.object.check("receipts", errors.New("there are none"), "")
	}
}
