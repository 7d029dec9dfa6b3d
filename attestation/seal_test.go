package attestation_test

import (
	"crypto"
	"io"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
)

func TestSealBindsEveryByte(t *testing.T) {
	s := statement(t, fields(joulebox.S7))
	key := testKey(1)
	sl, err := s.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	core := s.Core()
	if _, err := attestation.Verify(core, sl, public(key)); err != nil {
		t.Fatal(err)
	}
	for i := range core {
		bad := s.Core()
		bad[i] ^= 1
		if _, err := attestation.Verify(bad, sl, public(key)); err == nil {
			t.Errorf("verified with byte %d changed", i)
		}
	}
	for _, edit := range []func(s string) string{
		func(s string) string { return s[1:] + s[:1] },
		func(s string) string { return s[1:] },
		func(s string) string { return s + "0" },
		func(s string) string { return strings.ToUpper(s) },
		func(s string) string { return "g" + s[1:] },
		func(string) string { return "" },
	} {
		for k := range 3 {
			bad := sl
			field := []*string{&bad.ContentSHA256Hex, &bad.SignatureHex, &bad.PublicKeyHex}[k]
			*field = edit(*field)
			if bad != sl && s.Verify(bad, public(key)) == nil {
				t.Errorf("verified with member %d of the seal changed", k)
			}
		}
	}
}

func TestVerifyWantsThePinnedKey(t *testing.T) {
	s := statement(t, fields(joulebox.S2))
	sl, err := s.Sign(testKey(1))
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, "another key", s.Verify(sl, public(testKey(2))), "another key signed this")
	wantError(t, "no key", s.Verify(sl, nil), "public_key_hex")
}

// Nobody signs in another host's name, nor with another kind of key.
func TestSignerIsTheHost(t *testing.T) {
	s := statement(t, fields(joulebox.S2))
	_, err := s.Sign(testKey(2))
	wantError(t, "Sign", err, "host_id")
	_, err = s.SealEAT(testKey(2))
	wantError(t, "SealEAT", err, "host_id")
	_, err = s.Sign(strange{})
	wantError(t, "Sign", err, "want ed25519.PublicKey")
	_, err = s.Sign(nil)
	wantError(t, "Sign", err, "no signer")
}

type strange struct{}

func (strange) Public() crypto.PublicKey { return "a key" }

func (strange) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return make([]byte, 64), nil
}
