package jose

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json/v2"
	"slices"

	"github.com/joulebox/joulebox/evidence"
)

// maxKeys is far more than a service's key set is.
const maxKeys = 4 << 20

// Key is one public key of a set.
type Key struct {
	ID     string
	Public *ecdsa.PublicKey
	Certs  [][]byte // x5c: the key's certificate first, DER
}

// wireKey has the members that are looked at. A set's other members are its
// maker's to add; private ones are refused.
type wireKey struct {
	Kty string   `json:"kty"`
	Crv string   `json:"crv"`
	Kid string   `json:"kid"`
	Use string   `json:"use"`
	Alg string   `json:"alg"`
	Ops []string `json:"key_ops"`
	X   string   `json:"x"`
	Y   string   `json:"y"`
	X5c []string `json:"x5c"`
	D   string   `json:"d"`
	K   string   `json:"k"`
}

// ParseKeys reads a key set, or a single key, and keeps those that may verify
// under alg. Two keys under one id are refused: which one is meant?
func ParseKeys(src []byte, alg Algorithm) (keys []Key, err error) {
	bad := func(err error) ([]Key, error) {
		return nil, evidence.Refuse(evidence.BadCollateral, "keys: %v", err)
	}
	if len(src) > maxKeys {
		return nil, evidence.Refuse(evidence.BadCollateral, "keys: got %d bytes, want at most %d", len(src), maxKeys)
	}
	var set struct {
		Keys []wireKey `json:"keys"`
		wireKey
	}
	if err := json.Unmarshal(src, &set); err != nil {
		return bad(err)
	}
	if set.Keys == nil {
		set.Keys = []wireKey{set.wireKey}
	}
	for _, w := range set.Keys {
		if w.D != "" || w.K != "" {
			return nil, evidence.Refuse(evidence.BadCollateral, "keys: %q is a private or a shared key, want public ones", w.Kid)
		}
		if !w.verifies(alg) {
			continue
		}
		k, err := w.read(alg)
		if err != nil {
			return bad(err)
		}
		if slices.ContainsFunc(keys, func(has Key) bool { return has.ID == k.ID }) {
			return nil, evidence.Refuse(evidence.BadCollateral, "keys: two have the id %q", k.ID)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// verifies reports whether a key is one to verify with under alg.
func (w *wireKey) verifies(alg Algorithm) bool {
	return w.Kty == "EC" && w.Crv == alg.curve && (w.Use == "" || w.Use == "sig") && (w.Alg == "" || w.Alg == alg.Name) && (w.Ops == nil || slices.Contains(w.Ops, "verify"))
}

func (w *wireKey) read(alg Algorithm) (k Key, err error) {
	curve := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384()}[alg.curve]
	size := (curve.Params().BitSize + 7) / 8
	point := []byte{4}
	for _, s := range []string{w.X, w.Y} {
		b, err := decode(s)
		if err != nil {
			return k, err
		}
		if len(b) != size {
			return k, evidence.Refuse(evidence.Malformed, "%q: a coordinate of %d bytes, want %d", w.Kid, len(b), size)
		}
		point = append(point, b...)
	}
	if k.Public, err = ecdsa.ParseUncompressedPublicKey(curve, point); err != nil {
		return k, evidence.Refuse(evidence.Malformed, "%q: %v", w.Kid, err)
	}
	k.ID = w.Kid
	for _, s := range w.X5c {
		der, err := base64.StdEncoding.Strict().DecodeString(s)
		if err != nil {
			return k, evidence.Refuse(evidence.Malformed, "%q: x5c: %v", w.Kid, err)
		}
		k.Certs = append(k.Certs, der)
	}
	return k, nil
}

// Pick is the key that a token names, which it must.
func Pick(keys []Key, id string) (Key, error) {
	for _, k := range keys {
		if k.ID == id && id != "" {
			return k, nil
		}
	}
	return Key{}, evidence.Refuse(evidence.KeyMismatch, "the token is signed by the key %q, which isn't among the %d that were handed in", id, len(keys))
}
