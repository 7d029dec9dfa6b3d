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

// parseKey reads what encodeKey writes and nothing else: PEM readers forgive
// much, and a key file that isn't plain was touched.
func parseKey(file []byte) (ed25519.PrivateKey, error) {
	block, rest := pem.Decode(file)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errKeyForm
	}
	defer clear(block.Bytes)
	if block.Type != pemType {
		return nil, fmt.Errorf("got a %q block: %w", block.Type, errKeyForm)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errKeyForm // the parser's own words may quote the key
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("got a %T: %w", parsed, errKeyForm)
	}
	again, err := encodeKey(private)
	defer clear(again)
	if err != nil || !bytes.Equal(again, file) {
		clear(private)
		return nil, errKeyForm
	}
	return private, nil
}
