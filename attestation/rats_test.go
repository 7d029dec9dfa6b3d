package attestation_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	cose "github.com/veraison/go-cose"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
)

// appraiser is a generic RATS verifier: it knows COSE, CWT and the registered
// claims, by a library of others, and of this project only the profile's name.
type appraiser struct {
	key    crypto.PublicKey
	now    time.Time
	maxAge time.Duration
	nonce  []byte // expected
}

// appraised are the claims that it reads.
type appraised struct {
	IssuedAt     int64             `cbor:"6,keyasint"`
	Nonce        []byte            `cbor:"10,keyasint"`
	UEID         []byte            `cbor:"256,keyasint"`
	Profile      string            `cbor:"265,keyasint"`
	Measurements [][]any           `cbor:"273,keyasint"`
	Private      map[string]string `cbor:"-70001,keyasint"`
}

func (a appraiser) appraise(token []byte) (c appraised, err error) {
	message, ok := bytes.CutPrefix(token, []byte{0xd8, 0x3d}) // CWT's tag, 61
	if !ok {
		return c, errors.New("no CWT")
	}
	var m cose.Sign1Message
	if err := m.UnmarshalCBOR(message); err != nil {
		return c, err
	}
	if alg, err := m.Headers.Protected.Algorithm(); err != nil || alg != cose.AlgorithmEdDSA {
		return c, fmt.Errorf("algorithm %v, %v", alg, err)
	}
	verifier, err := cose.NewVerifier(cose.AlgorithmEdDSA, a.key)
	if err != nil {
		return c, err
	}
	if err := m.Verify(nil, verifier); err != nil {
		return c, err
	}
	if err := cbor.Unmarshal(m.Payload, &c); err != nil {
		return c, err
	}
	age := a.now.Sub(time.Unix(c.IssuedAt, 0))
	switch {
	case c.Profile != "https://transaction.science/sandbox/eat/v1":
		return c, errors.New("another profile")
	case len(c.UEID) < 7 || len(c.UEID) > 33 || c.UEID[0] != 1:
		return c, errors.New("no UEID")
	case !bytes.Equal(c.Nonce, a.nonce):
		return c, errors.New("another nonce")
	case age < 0 || age > a.maxAge:
		return c, errors.New("too old, or of the future")
	}
	return c, nil
}

// A verifier that knows nothing of this project's own form appraises its tokens,
// and refuses what isn't the run's, of the key, of the profile or of its time.
func TestAnyRATSVerifierAppraises(t *testing.T) {
	s := statement(t, fields(joulebox.S2))
	good, err := s.SealEAT(testKey(1))
	if err != nil {
		t.Fatal(err)
	}
	claims, err := s.EAT().Claims()
	if err != nil {
		t.Fatal(err)
	}
	f := s.Fields()
	nonce := attestation.RunNonce(f.UnitID, f.ReceiptID)
	a := appraiser{key: testKey(1).Public(), now: time.UnixMicro(int64(f.FinishedAtUS)).Add(time.Minute), maxAge: time.Hour, nonce: nonce[:]}
	c, err := a.appraise(good)
	if err != nil {
		t.Fatal(err)
	}
	var measured struct {
		ImageID  string `cbor:"image_id"`
		GrantsID string `cbor:"grants_id"`
	}
	inner, ok := c.Measurements[0][1].([]byte)
	if !ok || cbor.Unmarshal(inner, &measured) != nil || measured.ImageID != f.ImageID.String() || measured.GrantsID != f.GrantsID.String() {
		t.Errorf("measurements: got %v", c.Measurements)
	}
	if c.Private["attestation_id"] != s.ID().String() || c.Private["receipt_id"] != f.ReceiptID.String() || c.Private["tier"] != "S2" {
		t.Errorf("private claim: got %v", c.Private)
	}

	swapped := fields(joulebox.S2)
	swapped.ReceiptID = id("another run's receipt")
	of := func(f attestation.Fields) []byte {
		token, err := statement(t, f).SealEAT(testKey(1))
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	same := func(*appraiser) {}
	for name, x := range map[string]struct {
		token  []byte
		change func(*appraiser)
		words  string
	}{
		"swapped attestation": {of(swapped), same, "nonce"},
		"wrong algorithm":     {es256(t, good), same, "algorithm ES256"},
		"wrong profile":       {token(t, bytes.Replace(claims, []byte("/eat/v1"), []byte("/eat/v2"), 1)), same, "profile"},
		"expired":             {good, func(a *appraiser) { a.now = a.now.Add(2 * time.Hour) }, "too old"},
		"of the future":       {good, func(a *appraiser) { a.now = a.now.Add(-2 * time.Hour) }, "future"},
		"another key":         {good, func(a *appraiser) { a.key = testKey(2).Public() }, "verification"},
	} {
		changed := a
		x.change(&changed)
		if _, err := changed.appraise(x.token); err == nil || !strings.Contains(err.Error(), x.words) {
			t.Errorf("%s: got %v, want an error with %q", name, err, x.words)
		}
	}
}

// es256 is a token's claims signed under ES256.
func es256(t *testing.T, token []byte) []byte {
	t.Helper()
	var m cose.Sign1Message
	if err := m.UnmarshalCBOR(token[2:]); err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := cose.NewSigner(cose.AlgorithmES256, key)
	if err != nil {
		t.Fatal(err)
	}
	n := cose.NewSign1Message()
	n.Payload = m.Payload
	n.Headers.Protected.SetAlgorithm(cose.AlgorithmES256)
	if err := n.Sign(rand.Reader, nil, signer); err != nil {
		t.Fatal(err)
	}
	b, err := n.MarshalCBOR()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{0xd8, 0x3d}, b...)
}
