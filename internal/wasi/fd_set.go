package wasi

import "math"

// advices is how many kinds of advice there are.
const advices = 6

func fdAdvise(k *call, a []uint64) Errno {
	e, errno := k.c.fds.needFile(uint32(a[0]), RightFdAdvise)
	switch {
	case errno != Success:
		return errno
	case uint32(a[3]) >= advices, a[1] > math.MaxInt64, a[2] > math.MaxInt64:
		return EInval
	}
	k.chargeStorage()
	return errnoOf(e.file.Advise(int64(a[1]), int64(a[2]), uint8(a[3])))
}

func fdAllocate(k *call, a []uint64) Errno {
	e, errno := k.c.fds.needFile(uint32(a[0]), RightFdAllocate)
	switch {
	case errno != Success:
		return errno
	case a[1] > math.MaxInt64, a[2] > math.MaxInt64, a[2] == 0:
		return EInval
	case a[1]+a[2] > math.MaxInt64:
		return EFbig
	}
	// By length: one call could take the whole disk.
	k.chargeBytes(a[2])
	k.chargeStorage()
	return errnoOf(e.file.Allocate(k.ctx, int64(a[1]), int64(a[2])))
}

func fdFilestatSetSize(k *call, a []uint64) Errno {
	e, errno := k.c.fds.needFile(uint32(a[0]), RightFdFilestatSetSize)
	if errno != Success {
		return errno
	}
	if a[1] > math.MaxInt64 {
		return EInval
	}
	k.chargeStorage()
	return errnoOf(e.file.SetSize(k.ctx, int64(a[1])))
}

func fdFilestatSetTimes(k *call, a []uint64) Errno {
	e, errno := k.c.fds.need(uint32(a[0]), RightFdFilestatSetTimes)
	if errno != Success {
		return errno
	}
	t, errno := parseTimes(a[1], a[2], uint32(a[3]))
	if errno != Success {
		return errno
	}
	k.chargeStorage()
	return errnoOf(e.node().SetTimes(k.ctx, t))
}

// The flags of a change of times.
const (
	setAtim = 1 << iota
	setAtimNow
	setMtim
	setMtimNow
)

func parseTimes(atim, mtim uint64, flags uint32) (Times, Errno) {
	t := Times{SetAtim: flags&setAtim != 0, AtimNow: flags&setAtimNow != 0,
		SetMtim: flags&setMtim != 0, MtimNow: flags&setMtimNow != 0, Atim: atim, Mtim: mtim}
	if flags > setAtim|setAtimNow|setMtim|setMtimNow || t.SetAtim && t.AtimNow || t.SetMtim && t.MtimNow {
		return Times{}, EInval
	}
	return t, Success
}

func fdSync(k *call, a []uint64) Errno     { return k.sync(uint32(a[0]), RightFdSync, false) }
func fdDatasync(k *call, a []uint64) Errno { return k.sync(uint32(a[0]), RightFdDatasync, true) }

func (k *call) sync(fd uint32, r Rights, dataOnly bool) Errno {
	e := k.c.fds.get(fd)
	if e != nil && e.stream != nil {
		return EInval // as fsync says of a pipe
	}
	e, errno := k.c.fds.need(fd, r)
	if errno != Success {
		return errno
	}
	k.chargeStorage()
	if e.dir != nil {
		return errnoOf(e.dir.Sync(k.ctx, dataOnly))
	}
	return errnoOf(e.file.Sync(k.ctx, dataOnly))
}

func fdClose(k *call, a []uint64) Errno {
	fd := uint32(a[0])
	e := k.c.fds.get(fd)
	if e == nil {
		return EBadf
	}
	k.c.fds.list[fd] = nil
	return errnoOf(e.close())
}

// fdRenumber moves a descriptor over another one that is open. It never makes a
// number: the table would grow by a guest's word.
func fdRenumber(k *call, a []uint64) Errno {
	from, to := uint32(a[0]), uint32(a[1])
	e, old := k.c.fds.get(from), k.c.fds.get(to)
	if e == nil || old == nil {
		return EBadf
	}
	if from == to {
		return Success
	}
	k.c.fds.list[to], k.c.fds.list[from] = e, nil
	old.close() // dup2's rule: nobody can be told
	return Success
}
