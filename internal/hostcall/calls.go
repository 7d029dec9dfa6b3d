package hostcall

// kvGet(key_ptr, key_len, out_ptr, out_cap): the value's length. The value is
// written only if all of it fits, so that a capacity of zero asks for the length.
func kvGet(k *call, a []uint64) int64 {
	key, code := k.in(a[0], a[1], MaxKey)
	if code != 0 {
		return int64(code)
	}
	out, ok := k.bytes(a[2], a[3])
	if !ok {
		return int64(Invalid)
	}
	value, err := k.s.KVGet(k.ctx, key)
	if err != nil {
		return int64(codeOf(err))
	}
	if len(value) <= len(out) {
		k.chargeBytes(len(value))
		k.wrote(a[2], copy(out, value))
	}
	return int64(len(value))
}

// kvPut(key_ptr, key_len, val_ptr, val_len): zero.
func kvPut(k *call, a []uint64) int64 {
	key, code := k.in(a[0], a[1], MaxKey)
	if code != 0 {
		return int64(code)
	}
	value, code := k.in(a[2], a[3], MaxValue)
	if code != 0 {
		return int64(code)
	}
	return done(0, k.s.KVPut(k.ctx, key, value))
}

// storageRead(path_ptr, path_len, offset, out_ptr, out_cap): how many bytes were
// read, zero at the end of the file.
func storageRead(k *call, a []uint64) int64 {
	path, code := k.name(a[0], a[1])
	if code != 0 {
		return int64(code)
	}
	out, ok := k.bytes(a[3], a[4])
	if !ok || int64(a[2]) < 0 {
		return int64(Invalid)
	}
	k.charge(k.s.Tolls().Storage)
	n, err := k.s.StorageRead(k.ctx, path, out[:min(len(out), MaxTransfer)], int64(a[2]))
	k.wrote(a[3], n)
	k.chargeBytes(n)
	return done(n, err)
}

// storageWrite(path_ptr, path_len, where, data_ptr, data_len): how many bytes were
// written, which is all of them.
func storageWrite(k *call, a []uint64) int64 {
	path, code := k.name(a[0], a[1])
	if code != 0 {
		return int64(code)
	}
	where := Where(int64(a[2]))
	if where < Append {
		return int64(Invalid)
	}
	data, code := k.in(a[3], a[4], MaxTransfer)
	if code != 0 {
		return int64(code)
	}
	k.charge(k.s.Tolls().Storage)
	return done(k.s.StorageWrite(k.ctx, path, data, where))
}

// egress(ep_ptr, ep_len, req_ptr, req_len, out_ptr, out_cap): how many bytes of
// the answer were written.
func egress(k *call, a []uint64) int64 {
	endpoint, code := k.name(a[0], a[1])
	if code != 0 {
		return int64(code)
	}
	request, code := k.in(a[2], a[3], MaxTransfer)
	if code != 0 {
		return int64(code)
	}
	out, ok := k.bytes(a[4], a[5])
	if !ok {
		return int64(Invalid)
	}
	k.charge(k.s.Tolls().Connect)
	n, err := k.s.Egress(k.ctx, endpoint, request, out[:min(len(out), MaxTransfer)])
	k.wrote(a[4], n)
	k.chargeBytes(n)
	return done(n, err)
}

// clockNow(): nanoseconds since 1970.
func clockNow(k *call, _ []uint64) int64 {
	t, err := k.s.WallClock()
	if err != nil {
		return int64(codeOf(err))
	}
	return t
}

// randomU64(out_ptr): zero, and eight bytes at out_ptr.
func randomU64(k *call, a []uint64) int64 {
	out, ok := k.bytes(a[0], 8)
	if !ok {
		return int64(Invalid)
	}
	v, err := k.s.RandomU64(k.ctx)
	if err != nil {
		return int64(codeOf(err))
	}
	k.chargeBytes(len(out))
	putU64(out, v)
	k.wrote(a[0], len(out))
	return 0
}

// logLine(level, msg_ptr, msg_len): zero, also when the line is dropped for being
// one too many: how full the host's log is isn't for a unit to see.
func logLine(k *call, a []uint64) int64 {
	level := Level(uint32(a[0]))
	if !level.Known() {
		return int64(Invalid)
	}
	msg, code := k.in(a[1], a[2], MaxLog)
	if code != 0 {
		return int64(code)
	}
	return done(0, k.s.Log(k.ctx, level, msg))
}
