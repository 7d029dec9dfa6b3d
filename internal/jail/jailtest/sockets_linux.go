//go:build amd64 || arm64

package jailtest

import "golang.org/x/sys/unix"

func dial(family, kind int, to func(Target) unix.Sockaddr) func(Target) error {
	return func(t Target) error {
		addr := to(t)
		fd, err := unix.Socket(family, kind, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Connect(fd, addr)
	}
}

func open(family, kind, protocol int) func(Target) error {
	return func(Target) error {
		fd, err := unix.Socket(family, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

var socketAttacks = []Attack{
	{Name: "connect over IPv4", Do: dial(unix.AF_INET, unix.SOCK_STREAM, func(t Target) unix.Sockaddr {
		return &unix.SockaddrInet4{Port: t.TCP4, Addr: [4]byte{127, 0, 0, 1}}
	})},
	{Name: "connect over IPv6", Do: dial(unix.AF_INET6, unix.SOCK_STREAM, func(t Target) unix.Sockaddr {
		return &unix.SockaddrInet6{Port: t.TCP6, Addr: [16]byte{15: 1}}
	})},
	{Name: "connect over UDP", Do: dial(unix.AF_INET, unix.SOCK_DGRAM, func(t Target) unix.Sockaddr {
		return &unix.SockaddrInet4{Port: 53, Addr: [4]byte{127, 0, 0, 1}}
	})},
	{Name: "connect to a unix socket", Do: dial(unix.AF_UNIX, unix.SOCK_STREAM, func(t Target) unix.Sockaddr {
		return &unix.SockaddrUnix{Name: t.Unix}
	})},
	{Name: "connect to an abstract socket", Do: dial(unix.AF_UNIX, unix.SOCK_STREAM, func(t Target) unix.Sockaddr {
		return &unix.SockaddrUnix{Name: "@" + t.Unix}
	})},
	{Name: "open a netlink socket", Do: open(unix.AF_NETLINK, unix.SOCK_RAW, 0)},
	{Name: "open a packet socket", Do: open(unix.AF_PACKET, unix.SOCK_RAW, 0)},
	{Name: "open a vsock", Do: open(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
	{Name: "open a kernel crypto socket", Do: open(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
	{Name: "open a socket pair", Do: func(Target) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return err
	}},
	{Name: "hand a descriptor on", Do: func(Target) error {
		return unix.Sendmsg(0, []byte("x"), unix.UnixRights(0), nil, 0)
	}},
}
