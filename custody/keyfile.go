package custody

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

const pemType = "PRIVATE KEY"

// maxKeyFile is far above what an Ed25519 key takes (119 bytes).
const maxKeyFile = 4096

// encodeKey writes a key as PKCS#8 in PEM.
func encodeKey(private ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	defer clear(der)
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), nil
}

var errKeyForm = errors.New("want one PKCS#8 Ed25519 key in PEM and nothing else, as `openssl genpkey -algorithm ed25519` writes it")

// pkcs8 is what stands before the 32 bytes of the seed in the DER of a PKCS#8
// Ed25519 key (RFC 8410 §7): all such keys are of one length and one spelling.
const pkcs8 = "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20"

// parseSeed reads what encodeKey writes and nothing else: PEM readers forgive
// much, and a key file that isn't plain was touched. What it returns is a secret.
func parseSeed(file []byte) (seed []byte, err error) {
	block, rest := pem.Decode(file)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errKeyForm
	}
	if block.Type != pemType {
		clear(block.Bytes)
		return nil, fmt.Errorf("got a %q block: %w", block.Type, errKeyForm)
	}
	again := pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: block.Bytes})
	defer clear(again)
	seed, ok := bytes.CutPrefix(block.Bytes, []byte(pkcs8))
	if !ok || len(seed) != ed25519.SeedSize || !bytes.Equal(again, file) {
		clear(block.Bytes)
		return nil, errKeyForm
	}
	return seed, nil
}

// parseKey is parseSeed with the key that the seed makes, which takes a
// millisecond the first time in a process.
func parseKey(file []byte) (ed25519.PrivateKey, error) {
	seed, err := parseSeed(file)
	if err != nil {
		return nil, err
	}
	defer clear(seed)
	return ed25519.NewKeyFromSeed(seed), nil
}
