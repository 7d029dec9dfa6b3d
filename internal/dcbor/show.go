package dcbor

import (
	"encoding/hex"
	"strconv"
)

// Show spells one encoded map key for people: text quoted, integers in decimal,
// anything else in hexadecimal.
func Show(item []byte) string {
	h, err := readHead(item, 0)
	switch {
	case err != nil:
	case h.major == textType && h.info != indefinite:
		return strconv.Quote(string(item[h.size:]))
	case h.major == uintType:
		return strconv.FormatUint(h.arg, 10)
	case h.major == negType && h.arg < 1<<63:
		return strconv.FormatInt(-1-int64(h.arg), 10)
	}
	return "h'" + hex.EncodeToString(item) + "'"
}
