package bundle

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"

	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/internal/jcs"
)

type wireManifest struct {
	Core jsontext.Value   `json:"core"`
	Seal attestation.Seal `json:"seal"`
}

func parseManifest(src []byte) (*Manifest, error) {
	var w wireManifest
	if err := jcs.Unmarshal(src, &w); err != nil {
		return nil, err
	}
	if w.Core.Kind() != '{' {
		return nil, errors.New("core: want an object")
	}
	if err := w.Seal.Check(); err != nil {
		return nil, err
	}
	core, err := jcs.Strict(w.Core)
	return &Manifest{Core: core, Seal: w.Seal}, err
}

func (m *Manifest) canonical() ([]byte, error) {
	return jcs.Marshal(wireManifest{m.Core, m.Seal})
}

type wireEvidence struct {
	Chain  []string            `json:"chain"`
	Kind   attestation.TEEKind `json:"kind"`
	Report string              `json:"report"`
}

func parseEvidence(src []byte) (*Evidence, error) {
	var w wireEvidence
	if err := jcs.Unmarshal(src, &w); err != nil {
		return nil, err
	}
	if !w.Kind.Known() {
		return nil, fmt.Errorf("kind: got %q, want SevSnp, Tdx or ArmCca (§7.6)", w.Kind)
	}
	e := &Evidence{Kind: w.Kind, Chain: make([][]byte, len(w.Chain))}
	var err error
	if e.Report, err = decode64(w.Report); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	for i, c := range w.Chain {
		if e.Chain[i], err = decode64(c); err != nil {
			return nil, fmt.Errorf("chain[%d]: %w", i, err)
		}
	}
	return e, nil
}

func (e *Evidence) canonical() ([]byte, error) {
	w := wireEvidence{Kind: e.Kind, Report: base64url.EncodeToString(e.Report), Chain: make([]string, len(e.Chain))}
	for i, c := range e.Chain {
		w.Chain[i] = base64url.EncodeToString(c)
	}
	return jcs.Marshal(w)
}

// decode64 takes base64url without padding, at least one byte of it. The
// standard decoder skips line breaks, which would be a second spelling.
func decode64(s string) ([]byte, error) {
	if s == "" {
		return nil, errors.New("is empty, want base64url of at least one byte")
	}
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		return nil, fmt.Errorf("got a line break at %d, want base64url without any", i)
	}
	b, err := base64url.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("want base64url without padding or unused bits: %w", err)
	}
	return b, nil
}
