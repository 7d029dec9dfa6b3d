package evidence

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Hex is a byte string that is written in lower-case hexadecimal.
type Hex []byte

func (h Hex) String() string { return hex.EncodeToString(h) }

// MarshalText writes lower-case digits.
func (h Hex) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads lower-case digits, at least two.
func (h *Hex) UnmarshalText(text []byte) error {
	if s := string(text); s == "" || strings.Trim(s, "0123456789abcdef") != "" || len(s)%2 != 0 {
		return fmt.Errorf("got %q, want lower-case hex digits, two for each byte", text)
	}
	b, err := hex.DecodeString(string(text))
	*h = b
	return err
}
