package wasi

import "encoding/binary"

const direntSize = 24

// fdReaddir fills the guest's buffer with entries from a cookie on. A buffer that
// isn't full says that there are no more, so the last entry is cut, not left out.
func fdReaddir(k *call, a []uint64) Errno {
	e := k.c.fds.get(uint32(a[0]))
	if e != nil && e.dir == nil {
		return ENotdir
	}
	e, errno := k.c.fds.need(uint32(a[0]), RightFdReaddir)
	if errno != Success {
		return errno
	}
	buf, ok := k.slice(uint32(a[1]), uint32(a[2]))
	if !ok || !k.fits(uint32(a[4]), 4) {
		return EFault
	}
	k.chargeStorage()
	used := 0
	defer func() { k.wrote(uint32(a[1]), uint32(used)) }() // also what came before it broke off
	err := e.dir.List(k.ctx, a[3], func(d Dirent) bool {
		if used == len(buf) {
			return false
		}
		k.chargeBytes(uint64(direntSize + len(d.Name)))
		used += putDirent(buf[used:], d)
		return used < len(buf)
	})
	if err != nil {
		return errnoOf(err)
	}
	return k.putU32(uint32(a[4]), uint32(used))
}

func putDirent(buf []byte, d Dirent) int {
	var head [direntSize]byte
	binary.LittleEndian.PutUint64(head[:], d.Next)
	binary.LittleEndian.PutUint64(head[8:], d.Ino)
	binary.LittleEndian.PutUint32(head[16:], uint32(len(d.Name)))
	head[20] = byte(d.Type)
	n := copy(buf, head[:])
	return n + copy(buf[n:], d.Name)
}
