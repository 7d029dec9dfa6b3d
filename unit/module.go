package unit

import (
	"slices"
	"strings"
)

// moduleSuffix is what the name of a WASM module ends in.
const moduleSuffix = ".wasm"

// Module is the entry of a tree that an entrypoint runs as a WASM module: a file
// whose name ends in ".wasm". Any other program is native. The name decides, and
// not the file's bytes, since a verifier has only the name: what runs and what
// is verified must be read in one way.
func (im Image) Module(entrypoint string) (Entry, bool) {
	if im.Kind != Tree || !strings.HasSuffix(entrypoint, moduleSuffix) {
		return Entry{}, false
	}
	i, found := slices.BinarySearchFunc(im.Entries, entrypoint, func(e Entry, path string) int { return strings.Compare(e.Path, path) })
	if !found || im.Entries[i].Type != File {
		return Entry{}, false
	}
	return im.Entries[i], true
}
