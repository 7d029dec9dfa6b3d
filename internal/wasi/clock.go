package wasi

func clockResGet(k *call, a []uint64) Errno {
	res, err := k.c.sys.Resolution(ClockID(a[0]))
	if err != nil {
		return errnoOf(err)
	}
	return k.putU64(uint32(a[1]), res)
}

func clockTimeGet(k *call, a []uint64) Errno {
	t, err := k.now(ClockID(a[0]))
	if err != nil {
		return errnoOf(err)
	}
	return k.putU64(uint32(a[2]), t)
}

// now reads a clock. The monotonic one never shows the same time twice: programs
// divide by differences, and two calls can fall into one step of the host's clock.
func (k *call) now(id ClockID) (uint64, error) {
	t, err := k.c.sys.Now(id, k.g.Instructions())
	if err != nil || id != ClockMonotonic {
		return t, err
	}
	if t <= k.c.lastMonotonic {
		t = k.c.lastMonotonic + 1
	}
	k.c.lastMonotonic = t
	return t, nil
}
