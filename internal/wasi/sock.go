package wasi

// No descriptor of a unit is a socket: what it may reach on the network it
// reaches through the "sandbox" interface, by name (§5.3).

func notSocket(k *call, fd uint64) Errno {
	if k.c.fds.get(uint32(fd)) == nil {
		return EBadf
	}
	return ENotsock
}

func sockAccept(k *call, a []uint64) Errno   { return notSocket(k, a[0]) }
func sockRecv(k *call, a []uint64) Errno     { return notSocket(k, a[0]) }
func sockSend(k *call, a []uint64) Errno     { return notSocket(k, a[0]) }
func sockShutdown(k *call, a []uint64) Errno { return notSocket(k, a[0]) }
