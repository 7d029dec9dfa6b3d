package attestation_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/internal/cose"
	"github.com/joulebox/joulebox/internal/dcbor"
	"github.com/joulebox/joulebox/internal/sig"
)

func token(t testing.TB, claims []byte) []byte {
	t.Helper()
	b, err := cose.SignCWT(testKey(1), claims)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEATIsReadWithAndWithoutTags(t *testing.T) {
	s := statement(t, fields(joulebox.S2))
	sealed, err := s.SealEAT(testKey(1))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(sealed, []byte("\xd8\x3d\xd2\x84")) {
		t.Errorf("got %x, want tag 61 over tag 18", sealed[:4])
	}
	for _, b := range [][]byte{sealed, sealed[2:], sealed[3:]} {
		got, err := attestation.VerifyEAT(b, public(testKey(1)))
		if err != nil {
			t.Fatal(err)
		}
		if got != s.EAT() || got.IssuedAt != 1_790_000_001 {
			t.Errorf("got %+v, want %+v", got, s.EAT())
		}
	}
	if _, err := attestation.VerifyEAT(append([]byte("\xd8\x3d"), sealed[3:]...), public(testKey(1))); err == nil {
		t.Error("accepted tag 61 over an untagged array")
	}
}

func TestEATBytesAreBound(t *testing.T) {
	sealed, err := statement(t, fields(joulebox.S2)).SealEAT(testKey(1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range sealed {
		for _, flip := range []byte{1, 0x20, 0x80, 0xff} {
			bad := bytes.Clone(sealed)
			bad[i] ^= flip
			if _, err := attestation.VerifyEAT(bad, public(testKey(1))); err == nil {
				t.Errorf("accepted with byte %d changed", i)
			}
		}
	}
}

// The refusals that a caller may branch on.
func TestEATErrorsAreTyped(t *testing.T) {
	s := statement(t, fields(joulebox.S2))
	claims, err := s.EAT().Claims()
	if err != nil {
		t.Fatal(err)
	}
	good := token(t, claims)
	alg := func(header string) []byte { // another protected header, signed or not
		return append(append([]byte("\xd8\x3d\xd2\x84"), header...), good[8:]...)
	}
	profile := bytes.Replace(claims, []byte("/eat/v1"), []byte("/eat/v2"), 1)
	for _, c := range []struct {
		name  string
		token []byte
		key   ed25519.PublicKey
		want  error
	}{
		{"ES256", alg("\x43\xa1\x01\x26"), public(testKey(1)), attestation.ErrAlgorithm},
		{"no algorithm", alg("\x40"), public(testKey(1)), attestation.ErrAlgorithm},
		{"a second header", alg("\x45\xa2\x01\x27\x02\x80"), public(testKey(1)), attestation.ErrAlgorithm},
		{"another key", good, public(testKey(2)), attestation.ErrSignature},
		{"another profile", token(t, profile), public(testKey(1)), attestation.ErrProfile},
	} {
		if _, err := attestation.VerifyEAT(c.token, c.key); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	// A token of one host, signed by another.
	f := fields(joulebox.S2)
	f.HostID = id("another host")
	other, _ := statement(t, f).EAT().Claims()
	if _, err := attestation.VerifyEAT(token(t, other), public(testKey(1))); !errors.Is(err, attestation.ErrHost) {
		t.Errorf("got %v, want %v", err, attestation.ErrHost)
	}
	if _, err := attestation.ParseEAT(alg("\x43\xa1\x01\x26")); !errors.Is(err, attestation.ErrAlgorithm) {
		t.Errorf("ParseEAT: got %v", err)
	}
}

// A token matches its own statement and, changed in any claim, none.
func TestEATMatches(t *testing.T) {
	s := statement(t, fields(joulebox.S2))
	if err := s.EAT().Matches(s); err != nil {
		t.Error(err)
	}
	for name, edit := range map[string]func(e *attestation.EAT){
		"iat":            func(e *attestation.EAT) { e.IssuedAt++ },
		"ueid":           func(e *attestation.EAT) { e.HostID[0]++ },
		"image_id":       func(e *attestation.EAT) { e.ImageID[0]++ },
		"grants_id":      func(e *attestation.EAT) { e.GrantsID[0]++ },
		"tier":           func(e *attestation.EAT) { e.Tier++ },
		"receipt_id":     func(e *attestation.EAT) { e.ReceiptID[0]++ },
		"attestation_id": func(e *attestation.EAT) { e.AttestationID[0]++ },
	} {
		e := s.EAT()
		edit(&e)
		err := e.Matches(s)
		if !errors.Is(err, attestation.ErrMismatch) {
			t.Errorf("%s: got %v, want %v", name, err, attestation.ErrMismatch)
		} else {
			wantError(t, "Matches", err, name)
		}
	}
	e := s.EAT()
	e.Nonce[0]++
	if err := e.Matches(s); !errors.Is(err, attestation.ErrNonce) {
		t.Errorf("nonce: got %v, want %v", err, attestation.ErrNonce)
	}
}

// The claims are a closed set of exact types.
func TestClaimsRefusals(t *testing.T) {
	type m = map[any]any
	inner, _ := dcbor.Marshal(map[string]string{"image_id": id("i").String(), "grants_id": id("g").String()})
	short, _ := dcbor.Marshal(map[string]string{"image_id": id("i").String()})
	private := map[string]string{"tier": "S2", "receipt_id": id("r").String(), "attestation_id": id("a").String()}
	whole := func() m {
		return m{6: 1, 10: make([]byte, 32), 256: append([]byte{1}, make([]byte, 32)...), 265: attestation.EATProfile, 273: []any{[]any{60, inner}}, -70001: private}
	}
	parse := func(c m) error {
		b, err := dcbor.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		_, err = attestation.ParseClaims(b)
		return err
	}
	if err := parse(whole()); err != nil {
		t.Fatal(err)
	}
	judged := 0
	refuse := func(what string, c m) {
		t.Helper()
		judged++
		if parse(c) == nil {
			t.Errorf("accepted %s", what)
		}
	}
	for label := range whole() {
		for _, other := range []any{"x", []byte{1}, []any{}, m{}, -1} {
			c := whole()
			c[label] = other
			refuse("another type", c)
		}
		c := whole()
		delete(c, label)
		refuse("a missing claim", c)
	}
	for label, values := range map[int][]any{
		8:      {1}, // an unknown claim
		10:     {make([]byte, 31), make([]byte, 64)},
		256:    {append([]byte{2}, make([]byte, 32)...), make([]byte, 32), make([]byte, 34)},
		273:    {[]any{[]any{61, inner}}, []any{[]any{60, short}}, []any{[]any{60, inner}, []any{60, inner}}, []any{[]any{60}}, []any{[]any{60, inner, 1}}, []any{[]any{60, append(inner, 0)}}},
		-70001: {map[string]string{"tier": "S8", "receipt_id": id("r").String(), "attestation_id": id("a").String()}, map[string]string{"tier": "S2", "receipt_id": "b3:", "attestation_id": id("a").String()}},
	} {
		for _, v := range values {
			c := whole()
			c[label] = v
			refuse("another value", c)
		}
	}
	if judged != 6*6+14 {
		t.Errorf("judged %d claim sets", judged)
	}
}

// FuzzEAT: a claims set that parses encodes to the same bytes, and the token
// around it is read by any of its tags.
func FuzzEAT(f *testing.F) {
	for _, tier := range []joulebox.Tier{joulebox.S0, joulebox.S7} {
		claims, err := statement(f, fields(tier)).EAT().Claims()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(claims)
		f.Add(token(f, claims))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if e, err := attestation.ParseClaims(in); err == nil {
			out, err := e.Claims()
			if err != nil || !bytes.Equal(out, in) {
				t.Errorf("encoded again: %x from %x (%v)", out, in, err)
			}
		}
		e, err := attestation.ParseEAT(in)
		if err != nil {
			return
		}
		_, verr := attestation.VerifyEAT(in, public(testKey(1)))
		if verr != nil && !errors.Is(verr, sig.ErrSignature) && !errors.Is(verr, attestation.ErrHost) {
			t.Errorf("parsed as %+v and malformed to the verifier: %v", e, verr)
		}
	})
}
