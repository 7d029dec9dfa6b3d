package wasm

import (
	"math/bits"
	"sync"

	"golang.org/x/sys/unix"
)

// backing is a range of address space for one linear memory. It is reserved
// whole and made accessible as the memory grows, so growing never copies and
// never moves. Ranges are reused: taking one from the kernel costs more than
// instantiating a small module.
type backing struct {
	space []byte
	open  int // bytes that are readable and writable
}

const (
	minBackingBits = 20 // 1 MiB
	maxBackingBits = 32 // 4 GiB: what 32-bit memories can have

	// clearBytes is up to where clearing by hand is cheaper than handing pages back
	// and faulting them in again. It is also what an idle range may keep resident.
	clearBytes = 128 << 10

	// idleBackings is how many unused ranges of one size are kept.
	idleBackings = 16
)

var idle struct {
	sync.Mutex
	bySize [maxBackingBits + 1][]*backing
}

func newBacking(size uint64) (*backing, error) {
	class := max(bits.Len64(size-1), minBackingBits)
	if size == 0 {
		class = minBackingBits
	}
	if b := takeIdle(class); b != nil {
		return b, nil
	}
	// PROT_NONE: a reservation alone is charged to nobody.
	space, err := unix.Mmap(-1, 0, 1<<class, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	return &backing{space: space}, nil
}

func takeIdle(class int) *backing {
	idle.Lock()
	defer idle.Unlock()
	list := idle.bySize[class]
	if len(list) == 0 {
		return nil
	}
	b := list[len(list)-1]
	list[len(list)-1] = nil
	idle.bySize[class] = list[:len(list)-1]
	return b
}

// resize gives the first size bytes, or nil when the kernel has no more.
func (b *backing) resize(size uint64) []byte {
	n := int(size)
	if n > len(b.space) {
		return nil
	}
	if n > b.open {
		want := min(max(n, 2*b.open), len(b.space))
		if unix.Mprotect(b.space[b.open:want], unix.PROT_READ|unix.PROT_WRITE) != nil {
			return nil
		}
		b.open = want
	}
	return b.space[:n:n]
}

// release zeroes the used bytes and keeps the range for another run, or gives it
// back to the kernel.
func (b *backing) release(used int) {
	if b.zero(used) && b.keep() {
		return
	}
	_ = unix.Munmap(b.space) // fails for a range that isn't mapped, which can't be
}

func (b *backing) zero(used int) bool {
	if used <= clearBytes {
		clear(b.space[:used])
		return true
	}
	// Private anonymous pages read as zero after this.
	return unix.Madvise(b.space[:used], unix.MADV_DONTNEED) == nil
}

func (b *backing) keep() bool {
	class := bits.Len(uint(len(b.space) - 1))
	idle.Lock()
	defer idle.Unlock()
	if len(idle.bySize[class]) >= idleBackings {
		return false
	}
	idle.bySize[class] = append(idle.bySize[class], b)
	return true
}
