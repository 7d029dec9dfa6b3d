package seal

import (
	"bytes"
	"crypto/ed25519"
	"strings"
	"testing"
)

func TestSeal(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	pub := key.Public().(ed25519.PublicKey)
	core := []byte(`{"schema":"x"}`)
	s, err := Sign(key, core)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(core, pub); err != nil {
		t.Error(err)
	}
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32))
	resealed, err := Sign(other, core)
	if err != nil {
		t.Fatal(err)
	}
	hash := s
	hash.ContentSHA256Hex = strings.Repeat("0", 64)
	for _, c := range []struct {
		want string
		err  error
	}{
		{"content_sha256_hex", s.Verify(append([]byte(nil), core[1:]...), pub)},
		{"content_sha256_hex", hash.Verify(core, pub)},
		{"another key signed this", resealed.Verify(core, pub)},
		{"does not verify", Seal{s.ContentSHA256Hex, resealed.SignatureHex, s.PublicKeyHex}.Verify(core, pub)},
		{"content_sha256_hex: got 63", Seal{s.ContentSHA256Hex[1:], s.SignatureHex, s.PublicKeyHex}.Check()},
		{"signature_hex: got 'A' at 0", Seal{s.ContentSHA256Hex, "A" + s.SignatureHex[1:], s.PublicKeyHex}.Check()},
		{"public_key_hex: got 0", Seal{s.ContentSHA256Hex, s.SignatureHex, ""}.Check()},
		{"public_key_hex", Seal{}.Verify(core, pub)},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got error %v, want it to say %q", c.err, c.want)
		}
	}
}

// A key of small order, under which one signature fits every message, is refused
// even by one who would pin it.
func TestSmallOrderKeyIsRefused(t *testing.T) {
	core := []byte("x")
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	s, err := Sign(key, core)
	if err != nil {
		t.Fatal(err)
	}
	identity := append([]byte{1}, make([]byte, 31)...)
	s.PublicKeyHex = "01" + strings.Repeat("00", 31)
	if err := s.Verify(core, identity); err == nil || !strings.Contains(err.Error(), "small order") {
		t.Errorf("got error %v, want the key refused", err)
	}
}
