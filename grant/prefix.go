package grant

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// Prefix is a key prefix, any bytes; its text is unpadded base64url.
type Prefix string

// Strict refuses stray trailing bits, so that a prefix has one spelling.
var prefixEncoding = base64.RawURLEncoding.Strict()

// MarshalText writes unpadded base64url.
func (p Prefix) MarshalText() ([]byte, error) {
	return prefixEncoding.AppendEncode(nil, []byte(p)), nil
}

// UnmarshalText reads unpadded base64url and nothing else.
func (p *Prefix) UnmarshalText(b []byte) error {
	v, err := parsePrefix(string(b))
	if err == nil {
		*p = v
	}
	return err
}

func parsePrefix(s string) (Prefix, error) {
	// The decoder skips line breaks, which the canonical spelling never holds.
	if strings.ContainsAny(s, "\r\n") {
		return "", fmt.Errorf("got %q, want unpadded base64url without line breaks", s)
	}
	b, err := prefixEncoding.DecodeString(s)
	if err != nil {
		return "", fmt.Errorf("got %q, want the prefix's bytes in unpadded base64url", s)
	}
	return Prefix(b), nil
}
