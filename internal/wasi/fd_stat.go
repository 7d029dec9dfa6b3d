package wasi

import "encoding/binary"

const (
	fdstatSize  = 24
	prestatSize = 8
)

func fdFdstatGet(k *call, a []uint64) Errno {
	e := k.c.fds.get(uint32(a[0]))
	if e == nil {
		return EBadf
	}
	b, ok := k.slice(uint32(a[1]), fdstatSize)
	if !ok {
		return EFault
	}
	clear(b)
	b[0] = byte(e.kind)
	binary.LittleEndian.PutUint16(b[2:], uint16(e.flags))
	binary.LittleEndian.PutUint64(b[8:], uint64(e.base))
	binary.LittleEndian.PutUint64(b[16:], uint64(e.inherit))
	k.wrote(uint32(a[1]), fdstatSize)
	return Success
}

func fdFdstatSetFlags(k *call, a []uint64) Errno {
	e, errno := k.c.fds.need(uint32(a[0]), RightFdFdstatSetFlags)
	if errno != Success {
		return errno
	}
	flags := Fdflags(a[1])
	if uint32(a[1]) > uint32(allFdflags) {
		return EInval
	}
	if e.file != nil {
		// A descriptor's way of syncing is settled when it is opened.
		if (flags^e.flags)&(FlagDsync|FlagRsync|FlagSync) != 0 {
			return ENotsup
		}
		if err := e.file.SetFlags(flags); err != nil {
			return errnoOf(err)
		}
	}
	e.flags = flags
	return Success
}

// fdFdstatSetRights gives rights away; none ever come back.
func fdFdstatSetRights(k *call, a []uint64) Errno {
	e := k.c.fds.get(uint32(a[0]))
	if e == nil {
		return EBadf
	}
	base, inherit := Rights(a[1]), Rights(a[2])
	if base&^e.base != 0 || inherit&^e.inherit != 0 {
		return ENotcapable
	}
	e.base, e.inherit = base, inherit
	return Success
}

func fdFilestatGet(k *call, a []uint64) Errno {
	e, errno := k.c.fds.need(uint32(a[0]), RightFdFilestatGet)
	if errno != Success {
		return errno
	}
	if e.stream != nil {
		return k.putFilestat(uint32(a[1]), Filestat{Type: e.kind, Ino: a[0], Nlink: 1})
	}
	if !k.fits(uint32(a[1]), k.v.filestat.size) {
		return EFault
	}
	k.chargeStorage()
	s, err := e.node().Stat(k.ctx)
	if err != nil {
		return errnoOf(err)
	}
	return k.putFilestat(uint32(a[1]), s)
}

func fdPrestatGet(k *call, a []uint64) Errno {
	e := k.c.fds.get(uint32(a[0]))
	if e == nil || e.preopen == "" {
		return EBadf
	}
	b, ok := k.slice(uint32(a[1]), prestatSize)
	if !ok {
		return EFault
	}
	clear(b) // tag 0: a directory
	binary.LittleEndian.PutUint32(b[4:], uint32(len(e.preopen)))
	k.wrote(uint32(a[1]), prestatSize)
	return Success
}

func fdPrestatDirName(k *call, a []uint64) Errno {
	e := k.c.fds.get(uint32(a[0]))
	if e == nil || e.preopen == "" {
		return EBadf
	}
	if uint64(uint32(a[2])) < uint64(len(e.preopen)) {
		return ENametoolong
	}
	b, ok := k.slice(uint32(a[1]), uint32(len(e.preopen)))
	if !ok {
		return EFault
	}
	copy(b, e.preopen)
	k.wrote(uint32(a[1]), uint32(len(b)))
	return Success
}
