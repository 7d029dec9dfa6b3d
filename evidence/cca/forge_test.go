package cca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json/v2"
	"fmt"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/internal/dcbor"
)

// maker is a made-up platform with a realm on it.
type maker struct {
	platformKey, realmKey *ecdsa.PrivateKey
	p                     platform
	r                     realm
	wrapped               bool // as a collection of messages, tag 907
}

func fill(n int, b byte) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = b
	}
	return s
}

func newKey(t testing.TB, c elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(c, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newMaker(t testing.TB) *maker {
	t.Helper()
	m := &maker{platformKey: newKey(t, elliptic.P384()), realmKey: newKey(t, elliptic.P384())}
	m.p = platform{
		InstanceID: append([]byte{1}, fill(32, 2)...), Profile: profile1, Lifecycle: 0x3000, Implementation: fill(32, 3), Config: []byte{0xcf},
		Software: []component{{Type: "BL2", Measurement: fill(32, 4), Version: "1.0", Signer: fill(32, 5), Algorithm: "sha-256"}, {Measurement: fill(48, 6), Signer: fill(48, 7)}}, HashAlgorithm: "sha-256", Service: "https://example.org",
	}
	m.r = realm{
		Challenge: fill(64, 8), Profile: realmProfile1, Personalization: fill(64, 9), HashAlgorithm: "sha-512", Initial: fill(64, 10),
		Extensible: [][]byte{fill(64, 11), fill(64, 12), fill(64, 13), fill(64, 14)}, KeyHashAlgorithm: "sha-256",
	}
	m.setRealmKey(t, m.realmKey)
	return m
}

// setRealmKey writes a key as the profile has it, and its digest.
func (m *maker) setRealmKey(t testing.TB, k *ecdsa.PrivateKey) {
	t.Helper()
	point, err := k.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	m.r.PublicKey = point
	if size := (len(point) - 1) / 2; m.r.Profile != "" {
		m.r.PublicKey = marshal(t, map[int]any{1: 2, -1: 2, -2: point[1 : 1+size], -3: point[1+size:]})
	}
	m.bind(t)
}

func (m *maker) bind(t testing.TB) {
	t.Helper()
	digest, err := m.r.keyDigest()
	if err != nil {
		t.Fatal(err)
	}
	m.p.Challenge = digest
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	b, err := dcbor.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sign(t testing.TB, k *ecdsa.PrivateKey, payload []byte) []byte {
	t.Helper()
	alg := es384
	if k.Curve == elliptic.P256() {
		alg = es256
	}
	h := alg.hash.New()
	h.Write([]byte("\x84\x6aSignature1" + alg.protected + "\x40"))
	h.Write(appendBytes(nil, payload))
	r, s, err := ecdsa.Sign(rand.Reader, k, h.Sum(nil))
	if err != nil {
		t.Fatal(err)
	}
	size := (k.Curve.Params().BitSize + 7) / 8
	raw := make([]byte, 2*size)
	r.FillBytes(raw[:size])
	s.FillBytes(raw[size:])
	return appendBytes(appendBytes([]byte("\xd2\x84"+alg.protected+"\xa0"), payload), raw)
}

func (m *maker) token(t testing.TB) []byte {
	t.Helper()
	return m.collect(sign(t, m.platformKey, marshal(t, &m.p)), sign(t, m.realmKey, marshal(t, &m.r)))
}

func (m *maker) collect(platform, realm []byte) []byte {
	c := collections[0]
	if m.wrapped {
		c = collections[1]
	}
	return appendBytes(append(appendBytes([]byte(c.start), platform), c.between...), realm)
}

// jwks is a key set with the platform's key under an id.
func (m *maker) jwks(t testing.TB, kid string) []byte {
	t.Helper()
	b, err := m.platformKey.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	size, enc := (len(b)-1)/2, base64.RawURLEncoding.EncodeToString
	set, err := json.Marshal(map[string]any{"keys": []any{map[string]string{"kty": "EC", "crv": m.platformKey.Curve.Params().Name, "kid": kid, "x": enc(b[1 : 1+size]), "y": enc(b[1+size:])}}}, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (m *maker) collateral(t testing.TB) evidence.Collateral {
	return evidence.Collateral{JWKS: m.jwks(t, fmt.Sprintf("%x", m.p.InstanceID))}
}

// careful states all of a maker's token.
func (m *maker) careful() evidence.Policy {
	one := func(b []byte) []evidence.Hex { return []evidence.Hex{b} }
	p := evidence.Policy{
		Now: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), Measurements: one(m.r.Initial), ReportData: m.r.Challenge,
		ArmCca: evidence.ArmCcaPolicy{PersonalizationValue: m.r.Personalization, ImplementationIDs: one(m.p.Implementation), InstanceIDs: one(m.p.InstanceID), PlatformConfigs: one(m.p.Config)},
	}
	for _, c := range m.p.Software {
		p.ArmCca.SoftwareMeasurements = append(p.ArmCca.SoftwareMeasurements, c.Measurement)
	}
	for _, e := range m.r.Extensible {
		p.ArmCca.ExtensibleMeasurements = append(p.ArmCca.ExtensibleMeasurements, one(e))
	}
	return p
}

// reordered writes claims in another order than sorted, as firmware does.
func reordered(t testing.TB, sorted []byte) []byte {
	t.Helper()
	var pairs map[int64]cbor.RawMessage
	if err := cbor.Unmarshal(sorted, &pairs); err != nil {
		t.Fatal(err)
	}
	out := []byte{sorted[0]}
	for _, label := range []int64{44240, 44239, 44238, 44237, 44236, 44235, 2402, 2401, 2400, 2399, 2396, 2395, 265, 256, 10} {
		if v, ok := pairs[label]; ok {
			out = append(append(out, marshal(t, label)...), v...)
		}
	}
	return out
}
