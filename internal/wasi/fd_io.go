package wasi

import (
	"math"
)

func fdRead(k *call, a []uint64) Errno {
	e, errno := k.c.fds.readable(uint32(a[0]), RightFdRead)
	if errno != Success {
		return errno
	}
	bufs, total, errno := k.iovecs(uint32(a[1]), uint32(a[2]))
	if errno == Success && !k.fits(uint32(a[3]), 4) {
		errno = EFault
	}
	if errno != Success {
		return errno
	}
	n := 0
	var err error
	switch {
	case e.stream != nil && total > 0:
		n, err = e.stream.Read(k.ctx, bufs)
	case e.file != nil:
		k.chargeStorage()
		n, err = e.file.Read(k.ctx, bufs)
	}
	return k.moved(n, err, uint32(a[3]))
}

// moved charges for what a read brought into the iovecs and answers.
func (k *call) moved(n int, err error, ptr uint32) Errno {
	k.wroteInto(max(0, n)) // also what came before an error
	if err != nil {
		return errnoOf(err)
	}
	k.chargeBytes(uint64(n))
	return k.putU32(ptr, uint32(n))
}

func fdWrite(k *call, a []uint64) Errno {
	e, errno := k.c.fds.readable(uint32(a[0]), RightFdWrite)
	if errno != Success {
		return errno
	}
	bufs, total, errno := k.iovecs(uint32(a[1]), uint32(a[2]))
	if errno == Success && !k.fits(uint32(a[3]), 4) {
		errno = EFault
	}
	if errno != Success {
		return errno
	}
	// Paid for before it happens: output beyond the budget is never seen.
	k.chargeBytes(uint64(total))
	n := 0
	var err error
	switch {
	case e.stream != nil && total > 0:
		n, err = e.stream.Write(k.ctx, bufs)
	case e.file != nil:
		k.chargeStorage()
		n, err = e.file.Write(k.ctx, bufs)
	}
	if err != nil {
		return errnoOf(err)
	}
	return k.putU32(uint32(a[3]), uint32(n))
}

// readable finds what can be read or written at all: a stream or a file.
func (t *table) readable(fd uint32, r Rights) (*entry, Errno) {
	if e := t.get(fd); e != nil && e.dir != nil {
		return nil, EIsdir
	}
	return t.need(fd, r)
}

func fdPread(k *call, a []uint64) Errno {
	e, bufs, _, errno := k.positioned(a, RightFdRead|RightFdSeek)
	if errno != Success {
		return errno
	}
	k.chargeStorage()
	n, err := e.file.Pread(k.ctx, bufs, int64(a[3]))
	return k.moved(n, err, uint32(a[4]))
}

func fdPwrite(k *call, a []uint64) Errno {
	e, bufs, total, errno := k.positioned(a, RightFdWrite|RightFdSeek)
	if errno != Success {
		return errno
	}
	k.chargeBytes(uint64(total))
	k.chargeStorage()
	n, err := e.file.Pwrite(k.ctx, bufs, int64(a[3]))
	if err != nil {
		return errnoOf(err)
	}
	return k.putU32(uint32(a[4]), uint32(n))
}

// positioned checks the arguments that fd_pread and fd_pwrite share.
func (k *call) positioned(a []uint64, r Rights) (*entry, [][]byte, int, Errno) {
	e, errno := k.c.fds.needFile(uint32(a[0]), r)
	if errno != Success {
		return nil, nil, 0, errno
	}
	bufs, total, errno := k.iovecs(uint32(a[1]), uint32(a[2]))
	switch {
	case errno != Success:
		return nil, nil, 0, errno
	case !k.fits(uint32(a[4]), 4):
		return nil, nil, 0, EFault
	case a[3] > math.MaxInt64:
		return nil, nil, 0, EInval
	}
	return e, bufs, total, Success
}

func fdSeek(k *call, a []uint64) Errno {
	off, whence := int64(a[1]), uint32(a[2])
	if whence > 2 {
		return EInval
	}
	how := k.v.whence[whence]
	need := RightFdSeek
	if off == 0 && how == 1 {
		need = RightFdTell
	}
	return k.seek(uint32(a[0]), need, off, how, uint32(a[3]))
}

func fdTell(k *call, a []uint64) Errno {
	return k.seek(uint32(a[0]), RightFdTell, 0, 1, uint32(a[1]))
}

func (k *call) seek(fd uint32, need Rights, off int64, how int, ptr uint32) Errno {
	e, errno := k.c.fds.needFile(fd, need)
	if errno != Success {
		return errno
	}
	if !k.fits(ptr, 8) {
		return EFault
	}
	at, err := e.file.Seek(off, how)
	if err != nil {
		return errnoOf(err)
	}
	return k.putU64(ptr, uint64(at))
}
