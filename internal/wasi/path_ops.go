package wasi

func pathCreateDirectory(k *call, a []uint64) Errno {
	d, path, errno := k.dirPath(a, 0, RightPathCreateDirectory)
	if errno != Success {
		return errno
	}
	return errnoOf(d.Mkdir(k.ctx, path))
}

func pathRemoveDirectory(k *call, a []uint64) Errno {
	d, path, errno := k.dirPath(a, 0, RightPathRemoveDirectory)
	if errno != Success {
		return errno
	}
	return errnoOf(d.Rmdir(k.ctx, path))
}

func pathUnlinkFile(k *call, a []uint64) Errno {
	d, path, errno := k.dirPath(a, 0, RightPathUnlinkFile)
	if errno != Success {
		return errno
	}
	return errnoOf(d.Unlink(k.ctx, path))
}

// dirPath reads a descriptor, a pointer and a length from a[i] on, which is how
// every path call names its file, and charges for a storage operation.
func (k *call) dirPath(a []uint64, i int, r Rights) (Dir, string, Errno) {
	e, errno := k.c.fds.needDir(uint32(a[i]), r)
	if errno != Success {
		return nil, "", errno
	}
	path, errno := k.path(uint32(a[i+1]), uint32(a[i+2]))
	if errno != Success {
		return nil, "", errno
	}
	k.chargeStorage()
	return e.dir, path, Success
}

func pathRename(k *call, a []uint64) Errno {
	from, path, errno := k.dirPath(a, 0, RightPathRenameSource)
	if errno != Success {
		return errno
	}
	to, newPath, errno := k.dirPath(a, 3, RightPathRenameTarget)
	if errno != Success {
		return errno
	}
	return errnoOf(from.Rename(k.ctx, path, to, newPath))
}

// pathLink makes a hard link. Following a link first isn't offered: the name that
// was decided on is then not the file that is linked.
func pathLink(k *call, a []uint64) Errno {
	follow, errno := lookup(a[1])
	if errno != Success {
		return errno
	}
	if follow {
		return EInval
	}
	from, path, errno := k.dirPath([]uint64{a[0], a[2], a[3]}, 0, RightPathLinkSource)
	if errno != Success {
		return errno
	}
	to, newPath, errno := k.dirPath(a, 4, RightPathLinkTarget)
	if errno != Success {
		return errno
	}
	return errnoOf(from.Link(k.ctx, path, to, newPath))
}

func pathSymlink(k *call, a []uint64) Errno {
	target, errno := k.path(uint32(a[0]), uint32(a[1]))
	if errno != Success {
		return errno
	}
	d, path, errno := k.dirPath(a, 2, RightPathSymlink)
	if errno != Success {
		return errno
	}
	return errnoOf(d.Symlink(k.ctx, target, path))
}

func pathReadlink(k *call, a []uint64) Errno {
	buf, ok := k.slice(uint32(a[3]), uint32(a[4]))
	if !ok || !k.fits(uint32(a[5]), 4) {
		return EFault
	}
	d, path, errno := k.dirPath(a, 0, RightPathReadlink)
	if errno != Success {
		return errno
	}
	target, err := d.Readlink(k.ctx, path)
	if err != nil {
		return errnoOf(err)
	}
	k.chargeBytes(uint64(len(target)))
	n := uint32(copy(buf, target))
	k.wrote(uint32(a[3]), n)
	return k.putU32(uint32(a[5]), n)
}
