package netstack

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

const (
	// device is the interface's name inside.
	device = "eth0"
	// mtu is the most that IP has: the fewer packets, the fewer turns through a
	// stack that is a program.
	mtu = 65535
	// tunCsum is TUN_F_CSUM of linux/if_tun.h.
	tunCsum = 1
)

// Setup makes the network of the namespace that the calling thread is in: loopback,
// and a device with addresses and default routes. It gives a descriptor of the
// device's other end (non-blocking, closed on exec), which the host serves; the
// device is gone when the last copy is closed. That is a TUN device, or, where
// /dev/net/tun can't be opened, an Ethernet pair. It needs CAP_NET_ADMIN and
// CAP_NET_RAW over the namespace, and for the pair CAP_SYS_ADMIN.
func Setup() (int, error) {
	fd, err := openTUN()
	if err != nil {
		var pair error
		if fd, pair = openVeth(); pair != nil {
			return -1, errors.Join(err, pair)
		}
	}
	if err := configure(); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

func openTUN() (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("/dev/net/tun: %w", err)
	}
	if err := attach(fd); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// attach makes the device behind a descriptor. Packets have a header that says
// which checksums are still to be made: none has to be, between two ends that
// share their memory.
func attach(fd int) error {
	ifr, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
		return fmt.Errorf("TUNSETIFF: %w", err)
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, tunCsum); err != nil {
		return fmt.Errorf("TUNSETOFFLOAD: %w", err)
	}
	return nil
}

func configure() error {
	c, err := openNetlink()
	if err != nil {
		return err
	}
	defer c.close()
	link, err := c.index(device)
	if err != nil {
		return err
	}
	if err := c.up(loopback, 0, 0); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	c.quiet(link)
	if err := c.up(link, mtu, unix.IFF_NOARP); err != nil {
		return fmt.Errorf("%s: %w", device, err)
	}
	if err := c.join(link, unitV4); err != nil {
		return fmt.Errorf("%s: %w", device, err)
	}
	// A kernel without IPv6 has one family less to reach anything by.
	if err := c.join(link, unitV6); err != nil && !errors.Is(err, unix.EAFNOSUPPORT) && !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("%s: %w", device, err)
	}
	return nil
}

// join gives the device an address and makes it the way to everywhere.
func (c netlink) join(link uint32, a netip.Addr) error {
	if err := c.address(link, a); err != nil {
		return fmt.Errorf("address %v: %w", a, err)
	}
	if err := c.route(link, a); err != nil {
		return fmt.Errorf("default route of %v: %w", a, err)
	}
	return nil
}
