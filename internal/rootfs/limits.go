package rootfs

import (
	"cmp"
	"fmt"
	"sync/atomic"
)

// Limits bound what an image may ask for. The zero value of a member stands for
// its default.
type Limits struct {
	// Bytes of all files in all layers, or of the directory: 16 GiB.
	Bytes int64
	// FileBytes of one file: 8 GiB.
	FileBytes int64
	// Entries of all layers together, replaced ones and whiteouts included: 1,048,576.
	Entries int64
	// Depth of a path in names: 128.
	Depth int
	// Layers of an image: 256.
	Layers int
	// Ratio of what a layer unpacks to over what it is packed in, once it has unpacked to
	// 64 MiB: 400.
	Ratio int64
}

const (
	defaultBytes     = 16 << 30
	defaultFileBytes = 8 << 30
	defaultEntries   = 1 << 20
	defaultDepth     = 128
	defaultLayers    = 256
	defaultRatio     = 400

	// ratioFrom is where a ratio begins to say something: an empty disk image or a
	// database's first file is as compressible as a bomb, and small.
	ratioFrom = 64 << 20

	// maxNames bounds the names and targets that are kept in memory.
	maxNames = 256 << 20
	// packing is what a layer's stream may have beside its files: headers, padding, and
	// what is left out.
	packing = 64 << 20
)

func (l Limits) withDefaults() Limits {
	l.Bytes = cmp.Or(l.Bytes, defaultBytes)
	l.FileBytes = cmp.Or(l.FileBytes, defaultFileBytes)
	l.Entries = cmp.Or(l.Entries, defaultEntries)
	l.Depth = cmp.Or(l.Depth, defaultDepth)
	l.Layers = cmp.Or(l.Layers, defaultLayers)
	l.Ratio = cmp.Or(l.Ratio, defaultRatio)
	return l
}

// LimitError says which limit an image goes over.
type LimitError struct {
	Limit string // the member of Limits
	Got   int64  // or more
	Want  int64  // at most
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: got %d or more, want at most %d; raise the limit if you trust the image", e.Limit, e.Got, e.Want)
}

// budget is what is left of the limits, for layers that are read at once.
type budget struct {
	Limits
	bytes, stream, entries, names atomic.Int64
}

func newBudget(l Limits) *budget { return &budget{Limits: l.withDefaults()} }

// entry takes one more entry, with so many bytes of names.
func (b *budget) entry(names int) error {
	if n := b.entries.Add(1); n > b.Entries {
		return &LimitError{"entries", n, b.Entries}
	}
	if n := b.names.Add(int64(names)); n > maxNames {
		return &LimitError{"bytes of names", n, maxNames}
	}
	return nil
}

// unpacked takes bytes of a layer's stream, whatever they are for.
func (b *budget) unpacked(n int) error {
	most := b.Bytes + b.Bytes/4 + packing
	if n := b.stream.Add(int64(n)); n > most {
		return &LimitError{"bytes of layers", n, most}
	}
	return nil
}

// file takes a file of a size that is claimed: what is read is never more.
func (b *budget) file(size int64) error {
	if size > b.FileBytes {
		return &LimitError{"file bytes", size, b.FileBytes}
	}
	// A sum that would wrap is past the limit before it does.
	if n := b.bytes.Add(size); n > b.Bytes || n < 0 {
		b.bytes.Add(-size)
		return &LimitError{"bytes", n, b.Bytes}
	}
	return nil
}
