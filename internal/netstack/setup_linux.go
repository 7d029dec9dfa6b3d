package netstack

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// device is the interface's name inside.
	device = "eth0"
	// tunCsum is TUN_F_CSUM of linux/if_tun.h.
	tunCsum = 1
)

// Setup makes the network of the namespace that the calling thread is in: loopback,
// and a device with addresses and default routes. It gives what the host serves: the
// device's other end, then a listener for each endpoint on the host's loopback that
// is granted. The network is gone when the last copy of the first is closed. That is
// a TUN device, or, where /dev/net/tun can't be opened, an Ethernet pair. config is
// SetupConfig's. Setup needs CAP_NET_ADMIN over the namespace, and for the pair
// CAP_NET_RAW and CAP_SYS_ADMIN too.
func Setup(config []byte) ([]*os.File, error) {
	s, err := readSetup(config)
	if err != nil {
		return nil, err
	}
	fd, err := openTUN()
	if err != nil {
		var pair error
		if fd, pair = openVeth(); pair != nil {
			return nil, errors.Join(err, pair)
		}
	}
	files := []*os.File{os.NewFile(uintptr(fd), device)}
	if err = configure(); err == nil {
		freePorts()
		files, err = listen(files, s.Loopback)
	}
	if err != nil {
		return nil, errors.Join(err, closeFiles(files))
	}
	return files, nil
}

func closeFiles(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// freePorts lets the unit, which has no privileges, serve at any port of a network
// that is its own. A kernel or view that can't only has it use others.
func freePorts() {
	_ = os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0)
}

func listen(files []*os.File, at []netip.AddrPort) ([]*os.File, error) {
	for _, a := range at {
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(a))
		if err != nil {
			return files, fmt.Errorf("loopback inside: %w", err)
		}
		f, err := l.File()
		if err != nil {
			return files, errors.Join(err, l.Close())
		}
		if err := l.Close(); err != nil {
			return files, errors.Join(err, f.Close())
		}
		files = append(files, f)
	}
	return files, nil
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
	// It goes with its namespace, which the kernel takes down when nobody waits for
	// it, rather than with its descriptor, where closing would wait.
	if err := unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1); err != nil {
		return fmt.Errorf("TUNSETPERSIST: %w", err)
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
