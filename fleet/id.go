package fleet

import (
	"encoding/base64"

	"github.com/joulebox/joulebox"
)

// appendID is joulebox.ID's text without an allocation.
func appendID(b []byte, id joulebox.ID) []byte {
	return base64.RawURLEncoding.AppendEncode(append(b, "b3:"...), id[:])
}
