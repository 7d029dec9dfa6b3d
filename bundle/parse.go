package bundle

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/jcs"
	"github.com/joulebox/joulebox/receipt"
	"github.com/joulebox/joulebox/unit"
)

// file is the wire form, its members still unread.
type file struct {
	Attestation jsontext.Value `json:"attestation"`
	EAT         *string        `json:"eat"`
	Evidence    jsontext.Value `json:"evidence"`
	Image       jsontext.Value `json:"image"`
	Journal     *string        `json:"journal"`
	Manifest    jsontext.Value `json:"manifest"`
	Receipt     *string        `json:"receipt"`
	Result      jsontext.Value `json:"result"`
	Schema      *string        `json:"schema"`
	Seal        jsontext.Value `json:"seal"`
	Unit        jsontext.Value `json:"unit"`
}

// Parse reads a bundle in any JSON layout. It refuses unknown, doubled and
// missing members at every depth, values with a second spelling, and members
// that aren't valid each for itself. It checks no signature: see Verify.
func Parse(src []byte) (*Bundle, error) {
	b, err := parse(src)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	return b, nil
}

func parse(src []byte) (*Bundle, error) {
	canonical, err := jcs.Strict(src)
	if err != nil {
		return nil, err
	}
	var f file
	if err := json.Unmarshal(canonical, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if err := f.complete(); err != nil {
		return nil, err
	}
	b := new(Bundle)
	if b.raw, err = f.raw(); err != nil {
		return nil, err
	}
	if err := b.read(); err != nil {
		return nil, err
	}
	// The members are read from slices of the canonical text, and written again
	// from what was read: a value that was skipped over would show here.
	if !bytes.Equal(b.Marshal(), canonical) {
		return nil, errors.New("BUG(joulebox): what was read isn't what was written")
	}
	return b, nil
}

func (f *file) complete() error {
	for _, m := range []struct {
		name string
		has  bool
	}{
		{"schema", f.Schema != nil}, {"unit", f.Unit != nil}, {"receipt", f.Receipt != nil}, {"attestation", f.Attestation != nil},
		{"seal", f.Seal != nil}, {"eat", f.EAT != nil}, {"result", f.Result != nil},
	} {
		if !m.has {
			return fmt.Errorf("%s: the member is missing", m.name)
		}
	}
	if *f.Schema != Schema {
		return fmt.Errorf("schema: got %q, want %q", *f.Schema, Schema)
	}
	return nil
}

func (f *file) raw() (r raw, err error) {
	r = raw{attestation: f.Attestation, evidence: f.Evidence, image: f.Image, manifest: f.Manifest, result: f.Result, seal: f.Seal, unit: f.Unit}
	for _, m := range []struct {
		name string
		text *string
		into *[]byte
	}{{"receipt", f.Receipt, &r.receipt}, {"eat", f.EAT, &r.eat}, {"journal", f.Journal, &r.journal}} {
		if m.text == nil {
			continue
		}
		if *m.into, err = decode64(*m.text); err != nil {
			return raw{}, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return r, nil
}

// read parses each member from its own bytes.
func (b *Bundle) read() (err error) {
	if b.unit, err = unit.Parse(b.raw.unit); err != nil {
		return fmt.Errorf("unit: %w", err)
	}
	if b.grants, err = grant.Parse(b.unit.Grants); err != nil {
		return fmt.Errorf("unit.grants: %w", err)
	}
	if b.receipt, err = receipt.Parse(b.raw.receipt); err != nil {
		return err
	}
	if b.statement, err = attestation.Parse(b.raw.attestation); err != nil {
		return err
	}
	if err = jcs.Unmarshal(b.raw.seal, &b.seal); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	if err = b.seal.Check(); err != nil {
		return err
	}
	if b.eat, err = attestation.ParseEAT(b.raw.eat); err != nil {
		return err
	}
	if err = jcs.Unmarshal(b.raw.result, &b.result); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	if err = b.result.Validate(); err != nil {
		return err
	}
	return b.readOptional()
}

func (b *Bundle) readOptional() error {
	if b.raw.image != nil {
		image, err := unit.ParseImage(b.raw.image)
		if err != nil {
			return fmt.Errorf("image: %w", err)
		}
		b.image = &image
	}
	if b.raw.manifest != nil {
		m, err := parseManifest(b.raw.manifest)
		if err != nil {
			return fmt.Errorf("manifest: %w", err)
		}
		b.manifest = m
	}
	if b.raw.evidence != nil {
		e, err := parseEvidence(b.raw.evidence)
		if err != nil {
			return fmt.Errorf("evidence: %w", err)
		}
		b.evidence = e
	}
	return nil
}
