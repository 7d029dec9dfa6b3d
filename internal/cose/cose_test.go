package cose

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	oracle "github.com/veraison/go-cose"

	"github.com/joulebox/joulebox/internal/sig"
)

var testKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))

func pub() ed25519.PublicKey { return testKey.Public().(ed25519.PublicKey) }

func signed(t testing.TB, payload string) []byte {
	t.Helper()
	b, err := Sign(testKey, []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every width of the payload's head, tagged and untagged, as itself and as a token.
func TestSignAndVerify(t *testing.T) {
	for _, n := range []int{0, 1, 23, 24, 255, 256, 65535, 65536} {
		payload := strings.Repeat("x", n)
		envelope := signed(t, payload)
		token, err := SignCWT(testKey, []byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(token, append([]byte(tagCWT), envelope...)) {
			t.Errorf("%d: the token isn't the envelope under tag 61", n)
		}
		for name, read := range map[string]func() ([]byte, error){
			"tagged":       func() ([]byte, error) { return Verify(envelope, pub()) },
			"untagged":     func() ([]byte, error) { return Verify(envelope[1:], pub()) },
			"unverified":   func() ([]byte, error) { return Payload(envelope) },
			"token":        func() ([]byte, error) { return VerifyCWT(token, pub()) },
			"token of 18":  func() ([]byte, error) { return VerifyCWT(envelope, pub()) },
			"bare token":   func() ([]byte, error) { return VerifyCWT(envelope[1:], pub()) },
			"token's body": func() ([]byte, error) { return PayloadCWT(token) },
		} {
			if got, err := read(); err != nil || string(got) != payload {
				t.Errorf("%d, %s: got %d bytes, %v", n, name, len(got), err)
			}
		}
	}
}

// What we write is a message to go-cose, and what go-cose writes under the same
// headers is a message to us: the same bytes, since Ed25519 is deterministic.
func TestOracle(t *testing.T) {
	ours := signed(t, "payload")
	verifier, err := oracle.NewVerifier(oracle.AlgorithmEdDSA, pub())
	if err != nil {
		t.Fatal(err)
	}
	var m oracle.Sign1Message
	if err := m.UnmarshalCBOR(ours); err != nil {
		t.Fatal(err)
	}
	if err := m.Verify(nil, verifier); err != nil || string(m.Payload) != "payload" {
		t.Errorf("the oracle: %v, payload %q", err, m.Payload)
	}
	theirs := oracleSign(t, func(*oracle.Sign1Message) {})
	if !bytes.Equal(theirs, ours) {
		t.Errorf("got %x, the oracle writes %x", ours, theirs)
	}
}

func oracleSign(t testing.TB, change func(*oracle.Sign1Message)) []byte {
	t.Helper()
	signer, err := oracle.NewSigner(oracle.AlgorithmEdDSA, testKey)
	if err != nil {
		t.Fatal(err)
	}
	m := oracle.NewSign1Message()
	m.Payload = []byte("payload")
	m.Headers.Protected.SetAlgorithm(oracle.AlgorithmEdDSA)
	change(m)
	if err := m.Sign(nil, nil, signer); err != nil {
		t.Fatal(err)
	}
	b, err := m.MarshalCBOR()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Validly signed messages with anything more in a header are refused, crit among it.
func TestHeadersRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*oracle.Sign1Message)
		words  string
	}{
		"kid":             {func(m *oracle.Sign1Message) { m.Headers.Unprotected[oracle.HeaderLabelKeyID] = []byte("11") }, "unprotected header"},
		"protected kid":   {func(m *oracle.Sign1Message) { m.Headers.Protected[oracle.HeaderLabelKeyID] = []byte("11") }, "protected header"},
		"content type":    {func(m *oracle.Sign1Message) { m.Headers.Protected[oracle.HeaderLabelContentType] = int64(0) }, "protected header"},
		"unknown crit":    {crit, "protected header"},
		"alg twice":       {func(m *oracle.Sign1Message) { m.Headers.Unprotected["alg"] = int64(-8) }, "unprotected header"},
		"unprotected tag": {func(m *oracle.Sign1Message) { m.Headers.Unprotected["x"] = "y" }, "unprotected header"},
	} {
		wantRefused(t, name, oracleSign(t, c.change), c.words)
	}
}

func crit(m *oracle.Sign1Message) {
	m.Headers.Protected["surprise"] = "x"
	m.Headers.Protected[oracle.HeaderLabelCritical] = []any{"surprise"}
}

func wantRefused(t *testing.T, name string, envelope []byte, words string) {
	t.Helper()
	payload, err := Verify(envelope, pub())
	if _, ok := errors.AsType[*Error](err); !ok || payload != nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%s (%x): got %q, %v, want an *Error with %q", name, envelope, payload, err, words)
	}
	if payload, err := Payload(envelope); err == nil || payload != nil {
		t.Errorf("%s: Payload gives %q, %v", name, payload, err)
	}
}

// Each case is a message that other readers might take.
func TestShapeRefused(t *testing.T) {
	good := hex.EncodeToString(signed(t, "pay"))
	const head, sigHead = "d28443a10127a043706179", "5840"
	signature := strings.TrimPrefix(good, head+sigHead)
	for name, c := range map[string]struct{ hex, words string }{
		"empty":                      {"", "end of the input"},
		"another tag":                {"d1" + good[2:], "envelope"},
		"long tag 18":                {"d812" + good[2:], "envelope"},
		"tag 18 twice":               {"d2" + good, "envelope"},
		"tag 61":                     {"d83d" + good, "envelope"},
		"tag 55799":                  {"d9d9f7" + good, "envelope"},
		"array of 3":                 {"d283" + good[4:], "envelope"},
		"array of 5":                 {"d285" + good[4:] + "00", "envelope"},
		"long array head":            {"d29804" + good[4:], "envelope"},
		"indefinite array":           {"d29f" + good[4:] + "ff", "envelope"},
		"alg in another form":        {"d28444a1013807" + good[12:], "protected header"},
		"long protected head":        {"d2845803a10127" + good[12:], "protected header"},
		"protected is a map":         {"d284a10127" + good[12:], "protected header"},
		"protected is empty":         {"d28440" + good[12:], "protected header"},
		"protected is an empty map":  {"d28441a0" + good[12:], "protected header"},
		"ES256":                      {"d28443a10126" + good[12:], "protected header"},
		"the new Ed25519 (-19)":      {"d28443a10132" + good[12:], "protected header"},
		"alg unprotected":            {"d28440a10127" + good[14:], "protected header"},
		"unprotected is null":        {head[:12] + "f6" + good[14:], "unprotected header"},
		"unprotected is indefinite":  {head[:12] + "bfff" + good[14:], "unprotected header"},
		"unprotected long head":      {head[:12] + "b800" + good[14:], "unprotected header"},
		"detached":                   {head[:14] + "f6" + sigHead + signature, "detached"},
		"undefined payload":          {head[:14] + "f7" + sigHead + signature, "detached"},
		"text payload":               {head[:14] + "63706179" + sigHead + signature, "payload"},
		"long payload head":          {head[:14] + "5803706179" + sigHead + signature, "shortest"},
		"longer payload head":        {head[:14] + "590003706179" + sigHead + signature, "shortest"},
		"payload in chunks":          {head[:14] + "5f43706179ff" + sigHead + signature, "definite"},
		"payload claims too much":    {head[:14] + "5bffffffffffffffff", "claims"},
		"payload head is cut":        {head[:14] + "59ff", "cut short"},
		"no payload":                 {head[:14], "payload: got the end"},
		"no signature":               {head, "signature: got the end"},
		"signature of 63":            {head + "583f" + signature[2:], "63 bytes, want 64"},
		"signature of 65":            {head + "5841" + signature + "00", "65 bytes, want 64"},
		"empty signature":            {head + "40", "0 bytes, want 64"},
		"signature with a long head": {head + "590040" + signature, "shortest"},
		"signature is text":          {head + "7840" + signature, "signature: got"},
		"signature is cut":           {good[:len(good)-2], "claims 64 bytes, and 63 are left"},
		"trailing byte":              {good + "00", "1 bytes after"},
		"two messages":               {good + good, "bytes after"},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(name, err)
		}
		wantRefused(t, name, b, c.words)
	}
}

// Tag 61 wants tag 18 inside (RFC 8392 §6).
func TestTokenTags(t *testing.T) {
	envelope := signed(t, "claims")
	for name, b := range map[string][]byte{
		"61 without 18":    append([]byte(tagCWT), envelope[1:]...),
		"61 twice":         append([]byte(tagCWT+tagCWT), envelope...),
		"18 over 61":       append([]byte(tagSign1+tagCWT), envelope...),
		"61 with long tag": append([]byte("\xd9\x00\x3d"), envelope...),
	} {
		if _, err := VerifyCWT(b, pub()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// No byte of an envelope can change, and no byte can be added or taken away.
func TestEveryByteCounts(t *testing.T) {
	for _, envelope := range [][]byte{signed(t, "some payload"), signed(t, "some payload")[1:]} {
		for i := range envelope {
			for bit := range 8 {
				changed := bytes.Clone(envelope)
				changed[i] ^= 1 << bit
				if p, err := Verify(changed, pub()); err == nil || p != nil {
					t.Errorf("byte %d, bit %d: accepted with payload %q", i, bit, p)
				}
			}
			if _, err := Verify(envelope[:i], pub()); err == nil {
				t.Errorf("accepted when cut to %d bytes", i)
			}
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	envelope := signed(t, "x")
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, 32)).Public().(ed25519.PublicKey)
	if p, err := Verify(envelope, other); !errors.Is(err, sig.ErrSignature) || p != nil {
		t.Errorf("another key: got %q, %v", p, err)
	}
	for _, bad := range []ed25519.PublicKey{nil, other[:31], make(ed25519.PublicKey, 32)} {
		if p, err := Verify(envelope, bad); err == nil || p != nil {
			t.Errorf("key %x: got %q, %v", bad, p, err)
		}
	}
	if _, err := Sign(nil, nil); err == nil {
		t.Error("signed without a signer")
	}
}

// The payload can't be grown into the signature behind it.
func TestPayloadIsClipped(t *testing.T) {
	envelope := signed(t, "x")
	p, err := Payload(envelope)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(p, 0)
	if _, err := Verify(envelope, pub()); err != nil {
		t.Error("appending to the payload changed the envelope:", err)
	}
}

// FuzzCOSE: a message that parses is exactly the message that we would write around
// its payload and signature; go-cose reads it the same way.
func FuzzCOSE(f *testing.F) {
	f.Add(signed(f, "payload"))
	f.Add(signed(f, "")[1:])
	f.Add(oracleSign(f, crit))
	f.Add([]byte("\xd8\x3d" + string(signed(f, "claims"))))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseCWT(b)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Offset < 0 || e.Offset > len(b) {
				t.Fatalf("%x: refused without a place: %v", b, err)
			}
			return
		}
		body := bytes.TrimPrefix(bytes.TrimPrefix(b, []byte(tagCWT)), []byte(tagSign1))
		again := append(appendBytes([]byte(array4+protected+emptyMap), m.payload), sigHead...)
		if again = append(again, m.signature...); !bytes.Equal(again, body) {
			t.Fatalf("%x re-encodes to %x", body, again)
		}
		var theirs oracle.UntaggedSign1Message
		if err := theirs.UnmarshalCBOR(body); err != nil || !bytes.Equal(theirs.Payload, m.payload) || !bytes.Equal(theirs.Signature, m.signature) {
			t.Fatalf("%x: the oracle reads %v, %v", body, theirs, err)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	payload := make([]byte, 300)
	for b.Loop() {
		if _, err := Sign(testKey, payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	envelope, key := signed(b, strings.Repeat("x", 300)), pub()
	for b.Loop() {
		if _, err := Verify(envelope, key); err != nil {
			b.Fatal(err)
		}
	}
}
