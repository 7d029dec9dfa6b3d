// Package ledger is the account of how artifacts were built (§12): the build
// receipt, the chain that receipts are in, and the export that other tools read.
//
//	build_id = BLAKE3(BLAKE3(intent) ‖ image_1 ‖ … ‖ image_n)      raw digests
//	head'    = BLAKE3("sandbox.ledger/1" ‖ head ‖ BLAKE3(sealed receipt))
//
// An identical build has an identical id, whenever and wherever it ran. Since the
// id says nothing of outcomes and joules, the ledger chains the sealed receipts as
// well: nothing about a build can be changed, moved or taken out unseen.
package ledger

import (
	"errors"
	"fmt"
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
)

// Schema marks a build receipt.
const Schema = "sandbox.build/1"

// MaxSteps bounds a build.
const MaxSteps = 10_000

// Total is what a step cost, in microjoules: measured only where every device
// class was.
type Total struct {
	Measured  *joulebox.Microjoules `json:"measured_uj,omitzero"`
	Estimated joulebox.Microjoules  `json:"estimated_uj"`
}

// Step is one unit that ran, as its attestation and receipt have it.
type Step struct {
	UnitID        joulebox.ID      `json:"unit_id"`
	ImageID       joulebox.ID      `json:"image_id"`
	Tier          joulebox.Tier    `json:"tier"`
	Outcome       joulebox.Outcome `json:"outcome"`
	Total         Total            `json:"total"`
	ReceiptID     joulebox.ID      `json:"receipt_id"`
	AttestationID joulebox.ID      `json:"attestation_id"`
	// EAT addresses the signed token.
	EAT joulebox.ID `json:"eat_b3"`
}

// Build is a build receipt before signing.
type Build struct {
	// Intent addresses what was to be built, as whoever asked for it said it.
	Intent joulebox.ID
	// Prev is the id of the build before it in its ledger; zero for the first. It
	// is no part of the build's id.
	Prev joulebox.ID
	// Steps in the order in which they ran, at least one.
	Steps []Step
}

type wire struct {
	Schema  string      `json:"schema"`
	BuildID joulebox.ID `json:"build_id"`
	Intent  joulebox.ID `json:"intent_b3"`
	Prev    joulebox.ID `json:"prev,omitzero"`
	Steps   []Step      `json:"steps"`
}

// BuildID is the identity of a build: its intent and the images of its steps.
func BuildID(intent joulebox.ID, images ...joulebox.ID) joulebox.ID {
	h := joulebox.NewHasher()
	_, _ = h.Write(intent[:])
	for _, image := range images {
		_, _ = h.Write(image[:])
	}
	return h.ID()
}

// ID is the build's id.
func (b Build) ID() joulebox.ID {
	images := make([]joulebox.ID, len(b.Steps))
	for i, s := range b.Steps {
		images[i] = s.ImageID
	}
	return BuildID(b.Intent, images...)
}

// Total is what all steps cost. Measured is the sum only if every step has one.
func (b Build) Total() (t Total, err error) {
	var measured joulebox.Microjoules
	all := len(b.Steps) > 0
	for _, s := range b.Steps {
		if t.Estimated, err = t.Estimated.Add(s.Total.Estimated); err != nil {
			return Total{}, err
		}
		if s.Total.Measured == nil {
			all = false
		} else if measured, err = measured.Add(*s.Total.Measured); err != nil {
			return Total{}, err
		}
	}
	if all {
		t.Measured = &measured
	}
	return t, nil
}

// Completed reports whether every step did.
func (b Build) Completed() bool {
	return !slices.ContainsFunc(b.Steps, func(s Step) bool { return s.Outcome != joulebox.Completed })
}

// Canonical is the receipt's RFC 8785 form, which is signed.
func (b Build) Canonical() ([]byte, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	return jcs.Marshal(wire{Schema, b.ID(), b.Intent, b.Prev, b.Steps})
}

// Parse reads a build receipt; its members are closed, and its id is recomputed.
func Parse(src []byte) (Build, error) {
	var w wire
	if err := jcs.Unmarshal(src, &w); err != nil {
		return Build{}, fmt.Errorf("build receipt: %w", err)
	}
	if w.Schema != Schema {
		return Build{}, fmt.Errorf("build receipt: schema: got %q, want %q", w.Schema, Schema)
	}
	b := Build{w.Intent, w.Prev, w.Steps}
	if err := b.check(); err != nil {
		return Build{}, err
	}
	if id := b.ID(); id != w.BuildID {
		return Build{}, fmt.Errorf("build receipt: build_id: got %s, want %s, which follows from the intent and the images", w.BuildID, id)
	}
	return b, nil
}

func (b Build) check() error {
	switch {
	case b.Intent.IsZero():
		return errors.New("build receipt: intent_b3: missing")
	case len(b.Steps) == 0:
		return errors.New("build receipt: steps: got none, want at least one")
	case len(b.Steps) > MaxSteps:
		return fmt.Errorf("build receipt: steps: got %d, want at most %d", len(b.Steps), MaxSteps)
	}
	for i, s := range b.Steps {
		if err := s.check(); err != nil {
			return fmt.Errorf("build receipt: steps[%d].%w", i, err)
		}
	}
	return nil
}

func (s Step) check() error {
	for _, id := range []struct {
		name string
		id   joulebox.ID
	}{{"unit_id", s.UnitID}, {"image_id", s.ImageID}, {"receipt_id", s.ReceiptID}, {"attestation_id", s.AttestationID}, {"eat_b3", s.EAT}} {
		if id.id.IsZero() {
			return fmt.Errorf("%s: missing", id.name)
		}
	}
	if !s.Outcome.Valid() {
		return errors.New("outcome: missing")
	}
	return nil
}
