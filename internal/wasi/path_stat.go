package wasi

func pathFilestatGet(k *call, a []uint64) Errno {
	follow, errno := lookup(a[1])
	if errno != Success {
		return errno
	}
	if !k.fits(uint32(a[4]), k.v.filestat.size) {
		return EFault
	}
	d, path, errno := k.dirPath([]uint64{a[0], a[2], a[3]}, 0, RightPathFilestatGet)
	if errno != Success {
		return errno
	}
	s, err := d.StatAt(k.ctx, path, follow)
	if err != nil {
		return errnoOf(err)
	}
	return k.putFilestat(uint32(a[4]), s)
}

func pathFilestatSetTimes(k *call, a []uint64) Errno {
	follow, errno := lookup(a[1])
	if errno != Success {
		return errno
	}
	t, errno := parseTimes(a[4], a[5], uint32(a[6]))
	if errno != Success {
		return errno
	}
	d, path, errno := k.dirPath([]uint64{a[0], a[2], a[3]}, 0, RightPathFilestatSetTimes)
	if errno != Success {
		return errno
	}
	return errnoOf(d.SetTimesAt(k.ctx, path, follow, t))
}
