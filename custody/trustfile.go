package custody

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/joulebox/joulebox/internal/disk"
	"github.com/joulebox/joulebox/internal/sig"
)

func (t *Trust) load() error {
	text, err := t.read()
	if errors.Is(err, fs.ErrNotExist) {
		t.keys = nil
		return nil
	}
	if err == nil {
		t.keys, err = parseTrust(text)
	}
	if err != nil {
		return fmt.Errorf("custody: trusted keys %s: %w", t.path, err)
	}
	return nil
}

// read refuses a list that others could have added to.
func (t *Trust) read() ([]byte, error) {
	f, err := t.fs.Open(t.path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if s.Owner != os.Geteuid() && s.Owner != 0 {
		return nil, fmt.Errorf("got owner %d, want ourselves or root", s.Owner)
	}
	if s.Mode.Perm()&0o022 != 0 {
		return nil, fmt.Errorf("got mode %04o, and others may write it: look through it, then `chmod 600 %s`", s.Mode.Perm(), t.path)
	}
	return disk.ReadFile(f, t.path, maxTrustFile)
}

// parseTrust reads what encodeTrust writes and nothing else.
func parseTrust(text []byte) ([]TrustedKey, error) {
	body, ok := bytes.CutPrefix(text, []byte(trustHeader))
	if !ok {
		return nil, fmt.Errorf("line 1: want %q", strings.TrimSpace(trustHeader))
	}
	var keys []TrustedKey
	line := 1
	for text := range strings.Lines(string(body)) {
		line++
		key, name, ok := strings.Cut(text, " ")
		name, ended := strings.CutSuffix(name, "\n")
		if !ok || !ended {
			return nil, fmt.Errorf("line %d: want a public key in hex, a space, a name and a newline", line)
		}
		public, err := ParsePublic(key)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if keys, err = withKey(keys, TrustedKey{name, public}); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	return keys, nil
}

func encodeTrust(keys []TrustedKey) []byte {
	text := []byte(trustHeader)
	for _, k := range keys {
		text = fmt.Appendf(text, "%x %s\n", []byte(k.Public), k.Name)
	}
	return text
}

func withKey(keys []TrustedKey, add TrustedKey) ([]TrustedKey, error) {
	if !plainName(add.Name, lower+strings.ToUpper(lower), "._@-") {
		return nil, fmt.Errorf("name: got %q, want letters, digits and . _ @ - beginning with a letter or digit, at most 64", add.Name)
	}
	for _, k := range keys {
		if k.Name == add.Name {
			return nil, fmt.Errorf("name: %q is there already: remove it first", add.Name)
		}
		if k.Public.Equal(add.Public) {
			return nil, fmt.Errorf("key: %x is there already, as %q", []byte(add.Public), k.Name)
		}
	}
	return append(keys, add), nil
}

// ParsePublic reads a public key as 64 lower-case hex digits.
func ParsePublic(text string) (ed25519.PublicKey, error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != ed25519.PublicKeySize || strings.ToLower(text) != text {
		return nil, fmt.Errorf("public key: got %.80q, want 64 lower-case hex digits", text)
	}
	return raw, sig.CheckPublic(raw)
}
