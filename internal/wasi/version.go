package wasi

import (
	"encoding/binary"
	"io"
)

// version is what differs between the two versions of preview 1: layouts and the
// order of whence.
type version struct {
	module   string
	number   int
	whence   [3]int
	filestat filestatLayout
	sub      subscriptionLayout
}

// filestatLayout gives offsets into a filestat. nlink grew from 32 to 64 bits.
type filestatLayout struct {
	size, nlink, fileSize, times uint32
	wideNlink                    bool
}

// subscriptionLayout gives offsets into a subscription. The elder version had an
// identifier in front of the clock.
type subscriptionLayout struct{ size, clock, timeout, flags uint32 }

var preview1 = version{
	module: "wasi_snapshot_preview1", number: 1,
	whence:   [3]int{io.SeekStart, io.SeekCurrent, io.SeekEnd},
	filestat: filestatLayout{size: 64, nlink: 24, fileSize: 32, times: 40, wideNlink: true},
	sub:      subscriptionLayout{size: 48, clock: 16, timeout: 24, flags: 40},
}

var unstable = version{
	module: "wasi_unstable", number: 0,
	whence:   [3]int{io.SeekCurrent, io.SeekEnd, io.SeekStart},
	filestat: filestatLayout{size: 56, nlink: 20, fileSize: 24, times: 32},
	sub:      subscriptionLayout{size: 56, clock: 24, timeout: 32, flags: 48},
}

// putFilestat writes a filestat at ptr.
func (k *call) putFilestat(ptr uint32, s Filestat) Errno {
	l := &k.v.filestat
	b, ok := k.slice(ptr, l.size)
	if !ok {
		return EFault
	}
	clear(b)
	le := binary.LittleEndian
	le.PutUint64(b, s.Dev)
	le.PutUint64(b[8:], s.Ino)
	b[16] = byte(s.Type)
	if l.wideNlink {
		le.PutUint64(b[l.nlink:], s.Nlink)
	} else {
		le.PutUint32(b[l.nlink:], uint32(min(s.Nlink, 1<<32-1)))
	}
	le.PutUint64(b[l.fileSize:], s.Size)
	le.PutUint64(b[l.times:], s.Atim)
	le.PutUint64(b[l.times+8:], s.Mtim)
	le.PutUint64(b[l.times+16:], s.Ctim)
	k.wrote(ptr, l.size)
	return Success
}
