package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"github.com/joulebox/joulebox"
)

// The types of the statement and its predicate (in-toto 1, SLSA provenance 1), and
// of the build, whose description is docs/ledger.md.
const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://slsa.dev/provenance/v1"
	buildType     = "https://github.com/joulebox/joulebox/blob/main/docs/ledger.md"
)

// Artifact is something that has content: what was built, or what it was built of.
type Artifact struct {
	Name    string
	Content []byte // of which both digests are taken
	// Annotations say more about it, for people.
	Annotations map[string]string
}

// StepDetail is what a step's bundle says beyond the receipt.
type StepDetail struct {
	Name       string
	Entrypoint []string
	GrantsID   joulebox.ID
	// StartedUS and FinishedUS are microseconds since the Unix epoch.
	StartedUS, FinishedUS uint64
	// Attestation is the statement's canonical form.
	Attestation []byte
}

// Provenance is what a SLSA provenance is made of.
type Provenance struct {
	Signed Signed
	// Intent is the text that the receipt addresses.
	Intent string
	// HostID is the signer's.
	HostID       joulebox.ID
	Version      string
	Steps        []StepDetail // one for each of the receipt's
	Outputs      []Artifact   // what was built; at least one
	Dependencies []Artifact   // what went into it
}

type resource struct {
	Name        string            `json:"name,omitzero"`
	Digest      map[string]string `json:"digest"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func digests(content []byte) map[string]string {
	s, b := sha256.Sum256(content), joulebox.Sum(content)
	return map[string]string{"sha256": hex.EncodeToString(s[:]), "blake3": hex.EncodeToString(b[:])}
}

func resources(artifacts []Artifact) []resource {
	list := make([]resource, len(artifacts))
	for i, a := range artifacts {
		list[i] = resource{a.Name, digests(a.Content), a.Annotations}
	}
	return list
}

type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

type predicate struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string             `json:"buildType"`
	ExternalParameters   externalParameters `json:"externalParameters"`
	ResolvedDependencies []resource         `json:"resolvedDependencies"`
}

type externalParameters struct {
	Intent string         `json:"intent"`
	Steps  []externalStep `json:"steps"`
}

type externalStep struct {
	Name       string      `json:"name,omitzero"`
	UnitID     joulebox.ID `json:"unit_id"`
	Entrypoint []string    `json:"entrypoint"`
	GrantsID   joulebox.ID `json:"grants_id"`
}

type runDetails struct {
	Builder    builder    `json:"builder"`
	Metadata   metadata   `json:"metadata"`
	Byproducts []resource `json:"byproducts"`
}

type builder struct {
	ID      string            `json:"id"`
	Version map[string]string `json:"version,omitempty"`
}

type metadata struct {
	InvocationID string `json:"invocationId"`
	StartedOn    string `json:"startedOn"`
	FinishedOn   string `json:"finishedOn"`
}

// Statement is the in-toto statement with the build's SLSA provenance. The sealed
// receipt and the steps' attestations are its byproducts, so that the export leads
// back to what it was made of.
func (p Provenance) Statement() ([]byte, error) {
	if len(p.Outputs) == 0 {
		return nil, errors.New("provenance: there is no output: a statement is about something")
	}
	if len(p.Steps) != len(p.Signed.Build.Steps) {
		return nil, fmt.Errorf("provenance: got details of %d steps, want %d", len(p.Steps), len(p.Signed.Build.Steps))
	}
	details, err := p.runDetails()
	if err != nil {
		return nil, err
	}
	return json.Marshal(statement{
		Type: statementType, Subject: resources(p.Outputs), PredicateType: predicateType,
		Predicate: predicate{
			buildDefinition{buildType, p.parameters(), resources(p.Dependencies)},
			details,
		},
	}, json.Deterministic(true))
}

func (p Provenance) parameters() externalParameters {
	e := externalParameters{Intent: p.Intent}
	for i, s := range p.Steps {
		e.Steps = append(e.Steps, externalStep{s.Name, p.Signed.Build.Steps[i].UnitID, s.Entrypoint, s.GrantsID})
	}
	return e
}

func (p Provenance) runDetails() (d runDetails, err error) {
	receipt, err := p.Signed.Canonical()
	if err != nil {
		return d, err
	}
	d.Builder = builder{ID: buildType + "#" + p.HostID.String()}
	if p.Version != "" {
		d.Builder.Version = map[string]string{"joulebox": p.Version}
	}
	first, last := p.Steps[0].StartedUS, uint64(0)
	d.Byproducts = append(d.Byproducts, resource{"build receipt", digests(receipt), map[string]string{"build_id": p.Signed.Build.ID().String()}})
	for i, s := range p.Steps {
		first, last = min(first, s.StartedUS), max(last, s.FinishedUS)
		d.Byproducts = append(d.Byproducts, resource{fmt.Sprintf("attestation %d", i), digests(s.Attestation), p.Signed.Build.Steps[i].annotations()})
	}
	d.Metadata = metadata{joulebox.Sum(receipt).String(), timestamp(first), timestamp(last)}
	return d, nil
}

// annotations are what the step was, with its energy.
func (s Step) annotations() map[string]string {
	a := map[string]string{
		"tier": s.Tier.String(), "outcome": s.Outcome.String(), "receipt_id": s.ReceiptID.String(),
		"attestation_id": s.AttestationID.String(), "estimated_uj": fmt.Sprint(uint64(s.Total.Estimated)),
	}
	if s.Total.Measured != nil {
		a["measured_uj"] = fmt.Sprint(uint64(*s.Total.Measured))
	}
	return a
}

func timestamp(us uint64) string { return time.UnixMicro(int64(us)).UTC().Format(time.RFC3339Nano) }
