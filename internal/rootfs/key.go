package rootfs

import (
	"encoding/hex"
	"fmt"

	"github.com/joulebox/joulebox"
)

// key names what was unpacked: its kind, and what tells it from all others.
type key [32]byte

func newKey(kind string, parts ...string) key {
	h := joulebox.NewHasher()
	for _, p := range append([]string{recordMagic, kind}, parts...) {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return key(h.ID())
}

func (k key) String() string { return hex.EncodeToString(k[:]) }
