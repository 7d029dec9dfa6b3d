package netstack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// netlink is a route socket, for the four requests that a new namespace needs.
type netlink struct{ fd int }

// loopback has the first index in every namespace.
const loopback = 1

func openNetlink() (netlink, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return netlink{-1}, fmt.Errorf("netlink: %w", err)
	}
	return netlink{fd}, nil
}

func (c netlink) close() { _ = unix.Close(c.fd) }

var native = binary.NativeEndian

// attribute appends one, padded to four bytes.
func attribute(b []byte, kind uint16, value []byte) []byte {
	b = native.AppendUint16(b, uint16(4+len(value)))
	b = native.AppendUint16(b, kind)
	b = append(b, value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func number(v uint32) []byte { return native.AppendUint32(nil, v) }

// request sends one and waits for its acknowledgement.
func (c netlink) request(kind, flags uint16, body []byte) error {
	b := number(uint32(unix.SizeofNlMsghdr + len(body)))
	b = native.AppendUint16(b, kind)
	b = native.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|flags)
	b = append(b, make([]byte, 8)...) // sequence and sender, of which there is one
	if err := unix.Sendto(c.fd, append(b, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(c.fd, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 || native.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return errors.New("netlink: an answer that is no acknowledgement")
	}
	if errno := int32(native.Uint32(answer[unix.SizeofNlMsghdr:])); errno != 0 {
		return unix.Errno(-errno)
	}
	return nil
}

// index finds an interface by name.
func (c netlink) index(name string) (uint32, error) {
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, ifr); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return ifr.Uint32(), nil
}

// up raises an interface, with more flags, and an MTU unless that is zero.
func (c netlink) up(link, mtu, flags uint32) error {
	body := make([]byte, unix.SizeofIfInfomsg)
	native.PutUint32(body[4:], link)
	native.PutUint32(body[8:], unix.IFF_UP|flags)
	native.PutUint32(body[12:], unix.IFF_UP|flags)
	if mtu != 0 {
		body = attribute(body, unix.IFLA_MTU, number(mtu))
	}
	return c.request(unix.RTM_NEWLINK, 0, body)
}

// quiet keeps a device from giving itself an address and asking for routers, and
// from being handed packets that are several. Both only spare work and differences
// between hosts, so a kernel that can't is no failure: without IPv6 there is nothing
// to keep quiet, and such packets are dropped.
func (c netlink) quiet(link uint32) {
	const genMode, genNone = 8, 1 // IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE
	body := make([]byte, unix.SizeofIfInfomsg)
	native.PutUint32(body[4:], link)
	none := attribute(nil, unix.AF_INET6, attribute(nil, genMode, []byte{genNone}))
	_ = c.request(unix.RTM_NEWLINK, 0, attribute(slices.Clone(body), unix.IFLA_AF_SPEC, none))
	_ = c.request(unix.RTM_NEWLINK, 0, attribute(slices.Clone(body), unix.IFLA_GSO_MAX_SEGS, number(1)))
}

func family(a netip.Addr) byte {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// address adds one that has the link to itself.
func (c netlink) address(link uint32, a netip.Addr) error {
	body := []byte{family(a), byte(a.BitLen()), unix.IFA_F_NODAD, unix.RT_SCOPE_UNIVERSE}
	body = append(body, number(link)...)
	body = attribute(body, unix.IFA_LOCAL, a.AsSlice())
	body = attribute(body, unix.IFA_ADDRESS, a.AsSlice())
	return c.request(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, body)
}

// route makes the device the way to all of an address's family.
func (c netlink) route(link uint32, from netip.Addr) error {
	scope := byte(unix.RT_SCOPE_UNIVERSE)
	if from.Is4() {
		scope = unix.RT_SCOPE_LINK
	}
	body := []byte{family(from), 0, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, scope, unix.RTN_UNICAST}
	body = slices.Grow(append(body, make([]byte, 4)...), 16)
	body = attribute(body, unix.RTA_OIF, number(link))
	return c.request(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, body)
}
