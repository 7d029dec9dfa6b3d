// Package unit says what runs (§2.1, §3): the unit descriptor, its placement and
// the image objects. It is pure: bytes in, bytes out. The grants within a
// descriptor are kept as canonical bytes; package grant reads them.
package unit

import (
	"encoding/base64"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
)

// Schema marks a unit descriptor.
const Schema = "sandbox.unit/1"

// A challenge is a relying party's freshness value, in bytes.
const (
	MinChallenge = 8
	MaxChallenge = 64
)

// Unit is the descriptor that the unit id is taken over (§3).
type Unit struct {
	// ImageID is the content address of what is executed.
	ImageID joulebox.ID
	// Entrypoint is the export or program path, then its arguments. UTF-8.
	Entrypoint []string
	// Grants is the grant set's canonical JSON.
	Grants []byte
	// Placement is what grants alone can't ask for; the default is left out.
	Placement Placement
	// Manifest is the environment's address (§14), or zero.
	Manifest joulebox.ID
	// Challenge is 8 to 64 bytes, or empty.
	Challenge []byte
}

// wire is the JSON of a descriptor.
type wire struct {
	Schema     string         `json:"schema"`
	ImageID    joulebox.ID    `json:"image_id"`
	Entrypoint []string       `json:"entrypoint"`
	Grants     jsontext.Value `json:"grants"`
	Placement  *Placement     `json:"placement,omitzero"`
	Manifest   joulebox.ID    `json:"manifest,omitzero"`
	Challenge  string         `json:"challenge,omitzero"`
}

// Strict refuses stray trailing bits, so that a challenge has one spelling.
var challengeEncoding = base64.RawURLEncoding.Strict()

// Canonical is the JCS form (§4) that the unit id is taken over.
func (u Unit) Canonical() ([]byte, error) {
	if err := u.Validate(); err != nil {
		return nil, err
	}
	w := wire{Schema: Schema, ImageID: u.ImageID, Entrypoint: u.Entrypoint, Grants: u.Grants, Manifest: u.Manifest}
	if !u.Placement.IsDefault() {
		w.Placement = &u.Placement
	}
	w.Challenge = challengeEncoding.EncodeToString(u.Challenge)
	b, err := jcs.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("unit: %w", err)
	}
	return b, nil
}

// ID is the unit id (§3).
func (u Unit) ID() (joulebox.ID, error) {
	b, err := u.Canonical()
	if err != nil {
		return joulebox.ID{}, err
	}
	return joulebox.Sum(b), nil
}

// GrantsID is the content address of the grants as they stand in the descriptor.
func (u Unit) GrantsID() (joulebox.ID, error) {
	b, err := jcs.Strict(u.Grants)
	if err != nil {
		return joulebox.ID{}, fmt.Errorf("unit: grants: %w", err)
	}
	return joulebox.Sum(b), nil
}

// Parse reads a descriptor; its members are closed, and what it accepts
// re-encodes to the same canonical bytes. Whether the grants are valid is for
// package grant to say.
func Parse(src []byte) (Unit, error) {
	var w wire
	if err := jcs.Unmarshal(src, &w); err != nil {
		return Unit{}, fmt.Errorf("unit: %w", err)
	}
	if w.Schema != Schema {
		return Unit{}, fmt.Errorf("unit: schema: got %q, want %q", w.Schema, Schema)
	}
	challenge, err := ParseChallenge(w.Challenge)
	if w.Challenge != "" && err != nil {
		return Unit{}, fmt.Errorf("unit: %w", err)
	}
	u := Unit{ImageID: w.ImageID, Entrypoint: w.Entrypoint, Grants: w.Grants, Manifest: w.Manifest, Challenge: challenge}
	if w.Placement != nil {
		if w.Placement.IsDefault() {
			return Unit{}, fmt.Errorf("unit: placement: all members have their default; leave it out")
		}
		u.Placement = *w.Placement
	}
	return u, u.Validate()
}

// ParseChallenge reads a challenge's text, unpadded base64url of 8 to 64 bytes.
func ParseChallenge(s string) ([]byte, error) {
	b, err := challengeEncoding.DecodeString(s)
	// The decoder skips line breaks, which the one spelling never holds.
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return nil, fmt.Errorf("challenge: got %q, want unpadded base64url", s)
	}
	return b, checkChallenge(b)
}

func checkChallenge(b []byte) error {
	if len(b) < MinChallenge || len(b) > MaxChallenge {
		return fmt.Errorf("challenge: got %d bytes, want %d to %d", len(b), MinChallenge, MaxChallenge)
	}
	return nil
}

// Validate reports the first thing that is wrong, by its member.
func (u Unit) Validate() error {
	switch {
	case u.ImageID.IsZero():
		return fmt.Errorf("unit: image_id: missing; want the content address of what runs")
	case len(u.Entrypoint) == 0 || u.Entrypoint[0] == "":
		return fmt.Errorf("unit: entrypoint: empty; want the export or program, then its arguments")
	case slices.ContainsFunc(u.Entrypoint, badArgument):
		return fmt.Errorf("unit: entrypoint: got %q, want UTF-8 without NUL bytes", u.Entrypoint)
	case len(u.Grants) == 0 || u.Grants[0] != '{':
		return fmt.Errorf("unit: grants: want the canonical JSON object of a grant set")
	case len(u.Challenge) > 0:
		if err := checkChallenge(u.Challenge); err != nil {
			return fmt.Errorf("unit: %w", err)
		}
	}
	if err := u.Placement.Validate(); err != nil {
		return fmt.Errorf("unit: placement.%w", err)
	}
	return nil
}

// badArgument finds what no program could be handed.
func badArgument(s string) bool { return !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 }
