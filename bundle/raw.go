package bundle

import (
	"encoding/base64"
	"encoding/json/jsontext"
)

// raw is a bundle's members as bytes: canonical JSON, or what base64url held.
// nil is absent.
type raw struct {
	attestation, evidence, image, manifest, result, seal, unit jsontext.Value
	eat, journal, receipt                                      []byte
}

// Strict refuses bits that no byte needs; with the check of canonical form it
// leaves one spelling.
var base64url = base64.RawURLEncoding.Strict()

// marshal joins the members in the order of their names. Each is canonical, so
// the whole is, and nothing is encoded twice.
func (r *raw) marshal() []byte {
	out := make([]byte, 0, r.size())
	for _, m := range []struct {
		name  string
		json  jsontext.Value
		bytes []byte
	}{
		{name: "attestation", json: r.attestation},
		{name: "eat", bytes: r.eat},
		{name: "evidence", json: r.evidence},
		{name: "image", json: r.image},
		{name: "journal", bytes: r.journal},
		{name: "manifest", json: r.manifest},
		{name: "receipt", bytes: r.receipt},
		{name: "result", json: r.result},
		{name: "schema", json: jsontext.Value(`"` + Schema + `"`)},
		{name: "seal", json: r.seal},
		{name: "unit", json: r.unit},
	} {
		if m.json == nil && m.bytes == nil {
			continue
		}
		out = append(append(append(out, `,"`...), m.name...), `":`...)
		out = append(out, m.json...)
		if m.bytes != nil {
			out = append(base64url.AppendEncode(append(out, '"'), m.bytes), '"')
		}
	}
	out[0] = '{' // in place of the first comma
	return append(out, '}')
}

func (r *raw) size() int {
	const names = 256
	return names + len(r.attestation) + len(r.evidence) + len(r.image) + len(r.manifest) + len(r.result) + len(r.seal) + len(r.unit) +
		base64url.EncodedLen(len(r.eat)) + base64url.EncodedLen(len(r.journal)) + base64url.EncodedLen(len(r.receipt))
}

// Marshal is the bundle's canonical JSON.
func (b *Bundle) Marshal() []byte { return b.raw.marshal() }
