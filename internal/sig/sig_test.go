package sig

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
)

func newKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestSignAndVerify(t *testing.T) {
	key, msg := newKey(t), []byte("message")
	s, err := Sign(key, msg)
	if err != nil {
		t.Fatal(err)
	}
	pub, err := Public(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(pub, msg, s); err != nil {
		t.Error(err)
	}
	other, _ := Public(newKey(t))
	if err := Verify(other, msg, s); !errors.Is(err, ErrSignature) {
		t.Errorf("another key: got %v, want ErrSignature", err)
	}
	for i := range s {
		s[i] ^= 1
		if err := Verify(pub, msg, s); !errors.Is(err, ErrSignature) {
			t.Errorf("byte %d changed: got %v, want ErrSignature", i, err)
		}
		s[i] ^= 1
	}
}

func TestLengths(t *testing.T) {
	key := newKey(t)
	pub := key.Public().(ed25519.PublicKey)
	for n := range 70 {
		if n != ed25519.SignatureSize {
			if err := Verify(pub, nil, make([]byte, n)); err == nil || errors.Is(err, ErrSignature) || !strings.Contains(err.Error(), "want 64") {
				t.Errorf("signature of %d bytes: got %v", n, err)
			}
		}
		if n != ed25519.PublicKeySize {
			if err := Verify(make([]byte, n), nil, make([]byte, 64)); err == nil || !strings.Contains(err.Error(), "want 32") {
				t.Errorf("key of %d bytes: got %v", n, err)
			}
		}
	}
}

// The encodings whose y is 2^255-19 or more are second spellings of other keys.
func TestNonCanonicalKeys(t *testing.T) {
	y := [32]byte{}
	for i := range y {
		y[i] = 0xff
	}
	for low := 0xe0; low <= 0xff; low++ {
		for _, high := range []byte{0x7f, 0xff} {
			y[0], y[31] = byte(low), high
			err := CheckPublic(y[:])
			if beyond := low >= 0xed; beyond != (err != nil && strings.Contains(err.Error(), "canonical")) {
				t.Errorf("%x: got %v", y, err)
			}
		}
	}
	y[1] = 0xfe
	if err := CheckPublic(y[:]); err != nil {
		t.Errorf("%x is below p: %v", y, err)
	}
}

// stranger signs with whatever its fields say.
type stranger struct {
	pub crypto.PublicKey
	sig []byte
	err error
}

func (s stranger) Public() crypto.PublicKey { return s.pub }
func (s stranger) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return s.sig, s.err
}

func TestSignRefuses(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pub := newKey(t).Public()
	for name, c := range map[string]struct {
		signer crypto.Signer
		words  string
	}{
		"none":            {nil, "no signer"},
		"ECDSA":           {ec, "*ecdsa.PublicKey"},
		"small order":     {stranger{pub: make(ed25519.PublicKey, 32)}, "small order"},
		"short key":       {stranger{pub: make(ed25519.PublicKey, 31)}, "31 bytes"},
		"short signature": {stranger{pub: pub, sig: make([]byte, 63)}, "63 bytes"},
		"failure":         {stranger{pub: pub, err: errors.New("the token was pulled")}, "the token was pulled"},
	} {
		if s, err := Sign(c.signer, nil); err == nil || s != nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: got %x, %v, want %q", name, s, err, c.words)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	key, msg := newKey(b), make([]byte, 300)
	for b.Loop() {
		if _, err := Sign(key, msg); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	key, msg := newKey(b), make([]byte, 300)
	s, err := Sign(key, msg)
	if err != nil {
		b.Fatal(err)
	}
	pub := key.Public().(ed25519.PublicKey)
	for b.Loop() {
		if err := Verify(pub, msg, s); err != nil {
			b.Fatal(err)
		}
	}
}
