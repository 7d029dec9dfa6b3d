//go:build !linux

package wasm

// backing holds one linear memory on the Go heap: growing copies, as in wazero
// itself.
type backing struct {
	bytes []byte
	limit uint64
}

func newBacking(size uint64) (*backing, error) { return &backing{limit: size}, nil }

func (b *backing) resize(size uint64) []byte {
	if size > b.limit {
		return nil
	}
	if size > uint64(len(b.bytes)) {
		b.bytes = append(b.bytes, make([]byte, size-uint64(len(b.bytes)))...)
	}
	return b.bytes[:size:size]
}

func (b *backing) release(int) { b.bytes = nil }
