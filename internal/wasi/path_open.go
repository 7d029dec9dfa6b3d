package wasi

func pathOpen(k *call, a []uint64) Errno {
	follow, errno := lookup(a[1])
	if errno != Success {
		return errno
	}
	oflags, fdflags := uint32(a[4]), uint32(a[7])
	if oflags > uint32(allOflags) || fdflags > uint32(allFdflags) {
		return EInval
	}
	d, errno := k.c.fds.needDir(uint32(a[0]), openRights(uint16(oflags)))
	if errno != Success {
		return errno
	}
	path, errno := k.path(uint32(a[2]), uint32(a[3]))
	if errno != Success {
		return errno
	}
	switch {
	case !k.fits(uint32(a[8]), 4):
		return EFault
	case k.c.fds.full():
		return EMfile
	}
	e := &entry{base: Rights(a[5]) & d.inherit, inherit: Rights(a[6]) & d.inherit, flags: Fdflags(fdflags)}
	how := openHow(e.base, uint16(oflags), e.flags)
	how.Follow = follow
	k.chargeStorage()
	return k.open(d, path, how, e, uint32(a[8]))
}

// lookup reads lookupflags.
func lookup(flags uint64) (follow bool, errno Errno) {
	if uint32(flags) > lookupFollow {
		return false, EInval
	}
	return uint32(flags) == lookupFollow, Success
}

// openRights are what the directory must have for the kind of opening.
func openRights(oflags uint16) Rights {
	r := RightPathOpen
	if oflags&oCreat != 0 {
		r |= RightPathCreateFile
	}
	if oflags&oTrunc != 0 {
		r |= RightPathFilestatSetSize
	}
	return r
}

func openHow(base Rights, oflags uint16, flags Fdflags) OpenHow {
	return OpenHow{
		Create: oflags&oCreat != 0, Exclusive: oflags&oExcl != 0, Trunc: oflags&oTrunc != 0,
		Directory: oflags&oDirectory != 0,
		Read:      base&RightFdRead != 0, Write: base&RightFdWrite != 0,
		Flags: flags,
	}
}

// open opens the path into e and puts e into the table.
func (k *call) open(d *entry, path string, how OpenHow, e *entry, ptr uint32) Errno {
	file, dir, err := d.dir.Open(k.ctx, path, how)
	if err != nil {
		return errnoOf(err)
	}
	if dir != nil {
		e.dir, e.kind = dir, TypeDirectory
		e.base &= dirRights
		// Go opens directories without this right and truncates beneath them all the
		// same. It decides nothing: whether a file may be written does.
		if e.base&RightPathOpen != 0 {
			e.base |= RightPathFilestatSetSize & d.inherit
		}
		e.flags &= FlagNonblock
	} else {
		e.file, e.kind = file, TypeRegularFile
		e.base &= keptOnFiles
	}
	fd, errno := k.c.fds.add(e)
	if errno != Success {
		e.close()
		return errno
	}
	return k.putU32(ptr, fd)
}
