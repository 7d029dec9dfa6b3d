package wasi

import "encoding/binary"

const (
	// maxIovecs is IOV_MAX.
	maxIovecs = 1024
	// maxTransfer bounds what one read or write moves; a longer one is short.
	maxTransfer = 1 << 20
)

// iovecs reads a list of buffers, cut to maxTransfer in sum. All of it is checked
// before any byte moves. The slice is good until the next call.
func (k *call) iovecs(ptr, count uint32) ([][]byte, int, Errno) {
	if count > maxIovecs {
		return nil, 0, EInval
	}
	list, ok := k.array(ptr, count, 8)
	if !ok {
		return nil, 0, EFault
	}
	bufs, ptrs, total := k.c.iov[:0], k.c.iovAt[:0], 0
	for ; len(list) > 0; list = list[8:] {
		at, n := binary.LittleEndian.Uint32(list), binary.LittleEndian.Uint32(list[4:])
		b, ok := k.slice(at, n)
		if n == 0 {
			continue
		}
		if !ok {
			return nil, 0, EFault
		}
		b = b[:min(len(b), maxTransfer-total)]
		if len(b) > 0 {
			bufs, ptrs = append(bufs, b), append(ptrs, at)
		}
		total += len(b)
	}
	k.c.iov, k.c.iovAt = bufs, ptrs
	return bufs, total, Success
}

// wroteInto notes the first n bytes of the buffers of the last list.
func (k *call) wroteInto(n int) {
	if k.c.recorder == nil {
		return
	}
	for i, b := range k.c.iov {
		part := min(n, len(b))
		k.wrote(k.c.iovAt[i], uint32(part))
		n -= part
	}
}
