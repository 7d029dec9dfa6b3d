package cli

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/joulebox/joulebox/unit"
)

// parseChallenge reads a relying party's freshness value as the descriptor
// writes it, unpadded base64url, or as hex after "hex:".
func parseChallenge(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	if digits, ok := strings.CutPrefix(text, "hex:"); ok {
		b, err := hex.DecodeString(digits)
		if err != nil {
			return nil, fmt.Errorf("challenge: got %q, want hex: and then pairs of hex digits", text)
		}
		text = base64.RawURLEncoding.EncodeToString(b)
	}
	return unit.ParseChallenge(text)
}
