// Package attestation is the supervisor's signed statement of what a run was
// (§7): the statement itself, its seal, its view as an EAT, and the audit chain
// of sovereign runs. A Statement that exists is a valid one.
package attestation

import (
	"fmt"
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
)

// Fields are a statement's members (§7.1). New makes a Statement of them.
type Fields struct {
	// ResultID addresses the run's result: exit, streams, usage.
	ResultID joulebox.ID `json:"result_id"`
	// UnitID, ImageID and GrantsID address what ran and under what.
	UnitID   joulebox.ID `json:"unit_id"`
	ImageID  joulebox.ID `json:"image_id"`
	GrantsID joulebox.ID `json:"grants_id"`
	// Tier is the tier the unit ran at. Below S6 it is the host's word (§7.5).
	Tier joulebox.Tier `json:"tier"`
	// Devices name each class used, one a class, in the order of §2.3 (§7.2).
	Devices []Device `json:"devices"`
	// ReceiptID addresses the run's energy receipt.
	ReceiptID joulebox.ID `json:"receipt_id"`
	// Outcome is how the run ended.
	Outcome joulebox.Outcome `json:"outcome"`
	// HostID is KeyID of the signer's public key.
	HostID joulebox.ID `json:"host_id"`
	// StartedAtUS and FinishedAtUS are the run's window, in microseconds since
	// the Unix epoch, below 2^53.
	StartedAtUS  uint64 `json:"started_at_us"`
	FinishedAtUS uint64 `json:"finished_at_us"`
	// TEE sums up the verified hardware evidence: from S6 on, and only there.
	TEE *TEE `json:"tee,omitzero"`
	// Locality is what the run was bound to: at S7, and only there.
	Locality *Locality `json:"locality,omitzero"`
	// AuditPrev is the audit chain's head before this run: at S7, and only
	// there. The head of an empty chain is the zero id, hence a pointer, and
	// hence omitempty: omitzero would ask the id and leave that head out.
	AuditPrev *joulebox.ID `json:"audit_prev,omitempty"`
	// JournalRoot is the replay journal's root; zero without a journal (§8).
	JournalRoot joulebox.ID `json:"journal_root,omitzero"`
	// EnergyModel addresses the model behind ModelBased records; zero if none.
	EnergyModel joulebox.ID `json:"energy_model,omitzero"`
	// Probing lists what was seen of it, sorted; empty when nothing was (§7.5).
	Probing []Probe `json:"probing,omitempty"`
}

// Device is the identity of what served one class (§7.2).
type Device struct {
	Class  joulebox.DeviceClass `json:"class"`
	Model  string               `json:"model"`  // as in "NVIDIA H100"
	Driver string               `json:"driver"` // as in "560.35"
}

// Locality is the region and the jurisdiction of an S7 run (§7.7).
type Locality struct {
	Region       string `json:"region"`
	Jurisdiction string `json:"jurisdiction"`
}

// Statement is one run's attestation, before or after signing. It doesn't
// change once made.
type Statement struct {
	fields Fields
	core   []byte
	id     joulebox.ID
}

// New makes a statement. It sorts Devices and Probing, and refuses what §7
// doesn't allow: a member that the tier needs and isn't there, or that it
// doesn't have and is, an absent id, an empty identity, a window that ends before it begins.
func New(f Fields) (*Statement, error) {
	f = f.clone()
	slices.SortStableFunc(f.Devices, func(a, b Device) int { return int(a.Class) - int(b.Class) })
	slices.Sort(f.Probing)
	if err := f.Validate(); err != nil {
		return nil, fmt.Errorf("attestation: %w", err)
	}
	core, err := jcs.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("attestation: %w", err)
	}
	return &Statement{fields: f, core: core, id: joulebox.Sum(core)}, nil
}

// Parse reads a statement's JSON, canonical or not. Unknown, missing and
// doubled members are refused, and so is everything that New refuses; lists
// must be in order already.
func Parse(src []byte) (*Statement, error) {
	var f Fields
	if err := jcs.Unmarshal(src, &f); err != nil {
		return nil, fmt.Errorf("attestation: %w", err)
	}
	if err := f.Validate(); err != nil {
		return nil, fmt.Errorf("attestation: %w", err)
	}
	core, err := jcs.Strict(src)
	if err != nil {
		return nil, fmt.Errorf("attestation: %w", err)
	}
	return &Statement{fields: f, core: core, id: joulebox.Sum(core)}, nil
}

// Fields is a copy of the members.
func (s *Statement) Fields() Fields { return s.fields.clone() }

// Core is the canonical JSON that the id addresses and the seal signs.
func (s *Statement) Core() []byte { return slices.Clone(s.core) }

// ID is the attestation id: the content address of the core.
func (s *Statement) ID() joulebox.ID { return s.id }

// clone shares nothing that a caller could still write to.
func (f Fields) clone() Fields {
	f.Devices = slices.Clone(f.Devices)
	f.Probing = slices.Clone(f.Probing)
	f.TEE = f.TEE.clone()
	f.Locality = clonePtr(f.Locality)
	f.AuditPrev = clonePtr(f.AuditPrev)
	return f
}

func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
