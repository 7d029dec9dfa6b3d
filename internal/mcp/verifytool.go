package mcp

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
)

func eatInput() jsontext.Value {
	return schema(object{
		{"eat", textOf("the token, in hex or base64url")},
		{"public_key", textOf("the host's Ed25519 public key, 64 hex digits; unset: the keys that this host trusts")},
	}, "eat")
}

func eatOutput() jsontext.Value {
	return schema(slices.Concat(object{
		{"status", statusOf("verified")},
		{"public_key", textOf("the key that it verifies under")},
		{"claims", object{{"type", "object"}, {"properties", object{
			{"iat", numberOf("the second in which the run finished", 0, 0)},
			{"nonce", textOf("BLAKE3 of unit id and receipt id")},
			{"ueid", plainText}, {"host_id", plainText}, {"eat_profile", plainText}, {"image_id", plainText}, {"grants_id", plainText},
			{"tier", plainText}, {"receipt_id", plainText}, {"attestation_id", plainText},
		}}}},
		{"notes", object{{"type", "array"}, {"items", plainText}}},
	}, refusedProperties), "status")
}

// eatClaims are the token's, under the names that the profile gives them.
type eatClaims struct {
	IssuedAt      uint64      `json:"iat"`
	Nonce         string      `json:"nonce"`
	UEID          string      `json:"ueid"`
	HostID        joulebox.ID `json:"host_id"`
	Profile       string      `json:"eat_profile"`
	ImageID       joulebox.ID `json:"image_id"`
	GrantsID      joulebox.ID `json:"grants_id"`
	Tier          string      `json:"tier"`
	ReceiptID     joulebox.ID `json:"receipt_id"`
	AttestationID joulebox.ID `json:"attestation_id"`
}

// ueidRandom is the type byte of a random UEID, which the host id is.
const ueidRandom = "01"

// eatNotes are what a token alone doesn't show.
func eatNotes(t joulebox.Tier) []string {
	notes := []string{"freshness isn't shown: the token proves none alone; a challenge in the unit does, which verify_bundle compares"}
	if t < joulebox.S6 {
		notes = append(notes, "the tier is asserted by the host: below S6 there is no independent proof of it")
	}
	return notes
}

func (s *Server) verifyEAT(_ context.Context, c *call) (*sdk.CallToolResult, error) {
	token := c.args.token("eat")
	keys := s.keys(c.args, "public_key")
	if err := c.args.err(); err != nil {
		return nil, err
	}
	var failed error
	for _, k := range keys {
		e, err := attestation.VerifyEAT(token, k.Public)
		if err != nil {
			failed = err
			continue
		}
		r := struct {
			Status string    `json:"status"`
			Key    string    `json:"public_key"`
			Claims eatClaims `json:"claims"`
			Notes  []string  `json:"notes"`
		}{"verified", hex.EncodeToString(k.Public), eatClaims{
			IssuedAt: e.IssuedAt, Nonce: hex.EncodeToString(e.Nonce[:]), UEID: ueidRandom + hex.EncodeToString(e.HostID[:]), HostID: e.HostID,
			Profile: attestation.EATProfile, ImageID: e.ImageID, GrantsID: e.GrantsID, Tier: e.Tier.String(), ReceiptID: e.ReceiptID, AttestationID: e.AttestationID,
		}, eatNotes(e.Tier)}
		return answer(r, block("verified under %s: tier %s, attestation %s, receipt %s, image %s, grants %s\n%s",
			r.Key, r.Claims.Tier, e.AttestationID, e.ReceiptID, e.ImageID, e.GrantsID, strings.Join(r.Notes, "\n")))
	}
	return nil, refuse("have the token again from whoever made it, and the host's key from someone you trust", "the token doesn't verify, so none of its claims are shown: %v", failed)
}

// token reads hex or base64url, whichever it is.
func (a *arguments) token(name string) []byte {
	text := strings.TrimSpace(a.text(name))
	if text == "" && a.err() == nil {
		a.fail(name, "not set")
		return nil
	}
	if b, err := hex.DecodeString(text); err == nil {
		return b
	}
	b, err := unbase64(text)
	if err != nil && a.err() == nil {
		a.fail(name, "want hex or base64url")
	}
	return b
}

// keys are those that a call names, else those that are trusted here.
func (s *Server) keys(a *arguments, name string) (keys []bundle.Key) {
	texts := []string{}
	if v := a.values[name]; v.Kind() == '[' {
		texts = a.texts(name)
	} else if text := a.text(name); text != "" {
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return s.config.Trusted
	}
	for _, t := range texts {
		public, err := hex.DecodeString(t)
		if err != nil || len(public) != ed25519.PublicKeySize {
			a.fail(name, "got %q, want %d hex digits", clip(t), 2*ed25519.PublicKeySize)
			continue
		}
		keys = append(keys, bundle.Key{Name: "named in the call", Public: public})
	}
	return keys
}

func bundleInput() jsontext.Value {
	return schema(object{
		{"bundle", object{{"description", "the record: the JSON object itself, or its text"}}},
		{"public_keys", textsOf("hosts' Ed25519 public keys to trust, 64 hex digits each; unset: the keys that this host trusts")},
		{"challenge", textOf("the freshness value that you handed out before the run, in unpadded base64url")},
		{"multi_tenant", flagOf("require the tier that a host of several tenants must use")},
	}, "bundle")
}

var checkList = object{{"type", "array"}, {"items", object{{"type", "object"}, {"properties", object{
	{"name", plainText}, {"status", plainText}, {"detail", plainText},
}}}}}

func bundleOutput() jsontext.Value {
	return schema(slices.Concat(object{
		{"status", statusOf("checked")},
		{"verdict", object{{"type", "string"}, {"enum", []string{"valid", "incomplete", "invalid"}}}},
		{"failed", checkList}, {"missing", checkList},
		{"passed", object{{"type", "array"}, {"items", plainText}}},
		{"notes", object{{"type", "array"}, {"items", plainText}}},
		{"record", object{{"type", "object"}, {"description", "what the record says; only when it is valid"}, {"properties", recordProperties}}},
	}, refusedProperties), "status")
}

type checked struct {
	Status  string         `json:"status"`
	Verdict bundle.Verdict `json:"verdict"`
	Failed  []bundle.Check `json:"failed"`
	Missing []bundle.Check `json:"missing"`
	Passed  []string       `json:"passed"`
	Notes   []string       `json:"notes"`
	Record  *record        `json:"record,omitzero"`
}

func (s *Server) verifyBundle(_ context.Context, c *call) (*sdk.CallToolResult, error) {
	src := c.args.document("bundle")
	o := bundle.Options{Pinned: s.keys(c.args, "public_keys"), Challenge: c.args.challenge(), MultiTenant: c.args.flag("multi_tenant")}
	if err := c.args.err(); err != nil {
		return nil, err
	}
	b, err := bundle.Parse(src)
	if err != nil {
		form := bundle.Check{Name: "form", Status: bundle.Fail, Detail: err.Error()}
		return checked{Verdict: bundle.Invalid, Failed: []bundle.Check{form}}.answer()
	}
	report := b.Verify(o)
	r := checked{Verdict: report.Verdict, Failed: report.Failures(), Missing: report.Missing(), Notes: report.Notes}
	for _, k := range report.Checks {
		if k.Status == bundle.Pass {
			r.Passed = append(r.Passed, k.Name)
		}
	}
	if report.Verdict == bundle.Valid { // nothing is said of what wasn't verified
		rec := newRecord(b, report)
		r.Record = &rec
	}
	return r.answer()
}

func (r checked) answer() (*sdk.CallToolResult, error) {
	r.Status = "checked"
	text := "verdict: " + string(r.Verdict)
	for _, k := range slices.Concat(r.Failed, r.Missing) {
		text += fmt.Sprintf("\n%s %s: %s", k.Status, k.Name, k.Detail)
	}
	text += fmt.Sprintf("\n%d checks passed", len(r.Passed))
	if r.Record != nil {
		text += "\n" + r.Record.text("")
	}
	for _, n := range r.Notes {
		text += "\nnote: " + n
	}
	for _, list := range []*[]bundle.Check{&r.Failed, &r.Missing} {
		*list = append([]bundle.Check{}, *list...)
	}
	r.Passed, r.Notes = append([]string{}, r.Passed...), append([]string{}, r.Notes...)
	return answer(r, block("%s", text))
}

// document reads an object, or the text of one; some clients can send only text.
func (a *arguments) document(name string) []byte {
	v, ok := a.values[name]
	switch {
	case !ok:
		a.fail(name, "not set; want the JSON object, or its text")
	case v.Kind() == '{':
		return v
	case v.Kind() == '"':
		var text string
		if json.Unmarshal(v, &text) == nil {
			return []byte(text)
		}
	default:
		a.mismatch(name, "an object, or its text")
	}
	return nil
}
