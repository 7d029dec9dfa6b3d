package netstack

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Where /dev/net/tun is kept from ordinary users, an Ethernet pair serves: one end
// is the unit's device, the other lies in a second namespace that nobody is in, and
// a packet socket there is what is handed out.

const (
	linkKind  = "veth"
	outerName = "stack"
	infoPeer  = 1 // VETH_INFO_PEER
	// packetQueue is how much may wait for the host to read it. A packet that finds
	// no room is lost, so what the stack lets the unit send ahead fits in.
	packetQueue = 4 << 20
	allPackets  = unix.ETH_P_ALL>>8 | unix.ETH_P_ALL<<8&0xff00
)

// openVeth makes the pair and gives the socket. The thread passes through the second
// namespace, which lives as long as the socket does.
func openVeth() (fd int, err error) {
	runtime.LockOSThread()
	inner, err := currentNetwork()
	if err != nil {
		return -1, err
	}
	defer unix.Close(inner)
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return -1, fmt.Errorf("second network namespace: %w", err)
	}
	fd, err = makePair(inner)
	if back := unix.Setns(inner, unix.CLONE_NEWNET); back != nil {
		// The thread is of no use to anyone now; it stays locked, so it ends with its
		// goroutine.
		return -1, errors.Join(err, fmt.Errorf("back to the unit's network namespace: %w", back), closeIfOpen(fd))
	}
	runtime.UnlockOSThread()
	return fd, err
}

func closeIfOpen(fd int) error {
	if fd < 0 {
		return nil
	}
	return unix.Close(fd)
}

// currentNetwork gives a descriptor of the namespace that the thread is in, without
// a /proc.
func currentNetwork() (int, error) {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(s)
	ns, err := unix.IoctlRetInt(s, unix.SIOCGSKNS)
	return ns, os.NewSyscallError("SIOCGSKNS", err)
}

func makePair(inner int) (int, error) {
	c, err := openNetlink()
	if err != nil {
		return -1, err
	}
	defer c.close()
	if err := c.pair(inner); err != nil {
		return -1, fmt.Errorf("network pair: %w", err)
	}
	index, err := c.index(outerName)
	if err != nil {
		return -1, err
	}
	c.quiet(index)
	if err := c.up(index, mtu, 0); err != nil {
		return -1, fmt.Errorf("%s: %w", outerName, err)
	}
	return packetSocket(index)
}

// pair makes the two ends.
func (c netlink) pair(inner int) error {
	peer := make([]byte, unix.SizeofIfInfomsg)
	peer = attribute(peer, unix.IFLA_IFNAME, []byte(device+"\x00"))
	peer = attribute(peer, unix.IFLA_ADDRESS, unitMAC[:])
	peer = attribute(peer, unix.IFLA_NET_NS_FD, number(uint32(inner)))
	info := attribute(nil, unix.IFLA_INFO_KIND, []byte(linkKind))
	info = attribute(info, unix.IFLA_INFO_DATA, attribute(nil, infoPeer, peer))
	body := make([]byte, unix.SizeofIfInfomsg)
	body = attribute(body, unix.IFLA_IFNAME, []byte(outerName+"\x00"))
	body = attribute(body, unix.IFLA_ADDRESS, stackMAC[:])
	body = attribute(body, unix.IFLA_LINKINFO, info)
	return c.request(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, body)
}

// packetSocket reads and writes what passes the outer end, with the header that a
// TUN device has, and Ethernet's after it.
func packetSocket(index uint32) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("packet socket: %w", err)
	}
	for _, o := range []struct{ option, value int }{{unix.PACKET_VNET_HDR, 1}, {unix.PACKET_IGNORE_OUTGOING, 1}} {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, o.option, o.value); err != nil {
			return -1, errors.Join(fmt.Errorf("packet socket: option %d: %w", o.option, err), unix.Close(fd))
		}
	}
	// More than the host lets its users have takes its root.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, packetQueue) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, packetQueue)
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: allPackets, Ifindex: int(index)}); err != nil {
		return -1, errors.Join(fmt.Errorf("packet socket: %w", err), unix.Close(fd))
	}
	return fd, nil
}
