package cca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/sha512"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/joulebox/joulebox/evidence"
)

// The profiles of platform tokens, and of the realm tokens that go with them.
const (
	profile1      = "tag:arm.com,2023:cca_platform#1.0.0"
	realmProfile1 = "tag:arm.com,2023:realm#1.0.0"
	profile0      = "http://arm.com/CCA-SSD/1.0.0" // its realm tokens name none
)

// platform are the platform token's claims.
type platform struct {
	Challenge      []byte      `cbor:"10,keyasint"`
	InstanceID     []byte      `cbor:"256,keyasint"`
	Profile        string      `cbor:"265,keyasint"`
	Lifecycle      uint64      `cbor:"2395,keyasint"`
	Implementation []byte      `cbor:"2396,keyasint"`
	Software       []component `cbor:"2399,keyasint"`
	Service        string      `cbor:"2400,keyasint,omitempty"`
	Config         []byte      `cbor:"2401,keyasint"`
	HashAlgorithm  string      `cbor:"2402,keyasint"`
}

// component is one piece of the platform's firmware.
type component struct {
	Type        string `cbor:"1,keyasint,omitempty"`
	Measurement []byte `cbor:"2,keyasint"`
	Version     string `cbor:"4,keyasint,omitempty"`
	Signer      []byte `cbor:"5,keyasint"`
	Algorithm   string `cbor:"6,keyasint,omitempty"`
}

// realm are the realm token's claims.
type realm struct {
	Challenge        []byte   `cbor:"10,keyasint"`
	Profile          string   `cbor:"265,keyasint,omitempty"`
	Personalization  []byte   `cbor:"44235,keyasint"`
	HashAlgorithm    string   `cbor:"44236,keyasint"`
	PublicKey        []byte   `cbor:"44237,keyasint"`
	Initial          []byte   `cbor:"44238,keyasint"`
	Extensible       [][]byte `cbor:"44239,keyasint"`
	KeyHashAlgorithm string   `cbor:"44240,keyasint"`

	key *ecdsa.PublicKey
}

// isHash reports whether b is as long as a digest that the specification knows.
func isHash(b []byte) bool { return slices.Contains([]int{32, 48, 64}, len(b)) }

func (p *platform) read(payload []byte) error {
	// The profile comes first: another's claims aren't these.
	var named struct {
		Profile string `cbor:"265,keyasint"`
	}
	if err := cbor.Unmarshal(payload, &named); err == nil && named.Profile != profile1 && named.Profile != profile0 {
		return evidence.Refuse(evidence.Unsupported, "platform profile: got %q, want %s or %s", named.Profile, profile1, profile0)
	}
	if err := unmarshal("platform", payload, p); err != nil {
		return err
	}
	switch {
	case !isHash(p.Challenge) || len(p.Implementation) != 32 || len(p.InstanceID) != 33 || p.InstanceID[0] != 1:
		return evidence.Refuse(evidence.Malformed, "platform claims: want a challenge, an implementation id of 32 bytes and an instance id of 33 that begins with 01")
	case p.Lifecycle > 0x60ff || p.Lifecycle&0x0f00 != 0:
		return evidence.Refuse(evidence.Malformed, "platform claims: lifecycle %#x is in no state", p.Lifecycle)
	case len(p.Software) == 0 || !slices.Contains([]string{"sha-256", "sha-384", "sha-512"}, p.HashAlgorithm):
		return evidence.Refuse(evidence.Malformed, "platform claims: want software components and a hash algorithm, got %d and %q", len(p.Software), p.HashAlgorithm)
	}
	for i, c := range p.Software {
		if !isHash(c.Measurement) || !isHash(c.Signer) {
			return evidence.Refuse(evidence.Malformed, "platform claims: software component %d lacks a measurement or a signer", i)
		}
	}
	return nil
}

func (r *realm) read(payload []byte, platformProfile string) error {
	if err := unmarshal("realm", payload, r); err != nil {
		return err
	}
	want := map[string]string{profile1: realmProfile1, profile0: ""}[platformProfile]
	switch {
	case r.Profile != want:
		return evidence.Refuse(evidence.Unsupported, "realm profile: got %q, want %q beside %s", r.Profile, want, platformProfile)
	case len(r.Challenge) != 64 || len(r.Personalization) != 64 || !isHash(r.Initial) || len(r.Extensible) != 4:
		return evidence.Refuse(evidence.Malformed, "realm claims: want a challenge and a personalization of 64 bytes, an initial and four extensible measurements")
	}
	for i, m := range r.Extensible {
		if len(m) != len(r.Initial) {
			return evidence.Refuse(evidence.Malformed, "realm claims: extensible measurement %d is of %d bytes, want %d", i, len(m), len(r.Initial))
		}
	}
	var err error
	r.key, err = r.readKey()
	return err
}

// readKey reads the realm's key, P-384 always: a COSE_Key, or the bare point in
// tokens without a realm profile.
func (r *realm) readKey() (*ecdsa.PublicKey, error) {
	point := r.PublicKey
	if r.Profile != "" {
		var k struct {
			Type  int64  `cbor:"1,keyasint"`
			Alg   int64  `cbor:"3,keyasint,omitempty"`
			Curve int64  `cbor:"-1,keyasint"`
			X     []byte `cbor:"-2,keyasint"`
			Y     []byte `cbor:"-3,keyasint"`
		}
		const ec2, p384, algES384 = 2, 2, -35
		if err := unmarshal("realm public key", r.PublicKey, &k); err != nil {
			return nil, err
		}
		if k.Type != ec2 || k.Curve != p384 || k.Alg != 0 && k.Alg != algES384 || len(k.X) != 48 || len(k.Y) != 48 {
			return nil, evidence.Refuse(evidence.Algorithm, "realm public key: want EC2 on P-384, for ES384 if for any")
		}
		point = slices.Concat([]byte{4}, k.X, k.Y)
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P384(), point)
	if err != nil {
		return nil, evidence.Refuse(evidence.Malformed, "realm public key: %v", err)
	}
	return key, nil
}

// keyDigest is the digest of the realm's key by which the platform vouches for it.
func (r *realm) keyDigest() ([]byte, error) {
	switch r.KeyHashAlgorithm {
	case "sha-256":
		d := sha256.Sum256(r.PublicKey)
		return d[:], nil
	case "sha-384":
		d := sha512.Sum384(r.PublicKey)
		return d[:], nil
	case "sha-512":
		d := sha512.Sum512(r.PublicKey)
		return d[:], nil
	}
	return nil, evidence.Refuse(evidence.Algorithm, "the realm key's hash algorithm: got %q, want sha-256, sha-384 or sha-512", r.KeyHashAlgorithm)
}
