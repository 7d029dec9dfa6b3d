package netstack

import (
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

const (
	// mtu is the most that IP has: the fewer packets, the fewer turns through a
	// stack that is a program.
	mtu = 65535
	// vnetHeader is the size of struct virtio_net_hdr, before each packet.
	vnetHeader = 10
	// needsCsum is VIRTIO_NET_HDR_F_NEEDS_CSUM: whoever lets the packet out of the
	// machine makes its checksum, which here is nobody.
	needsCsum = 1
	// ethHeader follows it where the link is Ethernet's.
	ethHeader = 14
	// udpChecksumOffset is the field's place in UDP's header.
	udpChecksumOffset = 6
)

// The addresses of the Ethernet pair, the same on every host.
var (
	unitMAC  = [6]byte{2, 0, 0, 0, 0, 2}
	stackMAC = [6]byte{2, 0, 0, 0, 0, 1}
)

// vnet is the header before a packet to the unit, and Ethernet's where the link has
// that.
func vnet(p *stack.PacketBuffer, ethernet bool) []byte {
	h := make([]byte, vnetHeader, vnetHeader+ethHeader)
	start := len(p.NetworkHeader().Slice())
	if ethernet {
		start += ethHeader
	}
	switch p.TransportProtocolNumber {
	case header.TCPProtocolNumber:
		h[0], h[6], h[8] = needsCsum, byte(start), header.TCPChecksumOffset
	case header.UDPProtocolNumber:
		h[0], h[6], h[8] = needsCsum, byte(start), udpChecksumOffset
	}
	if !ethernet {
		return h
	}
	h = append(append(h, unitMAC[:]...), stackMAC[:]...)
	if p.NetworkProtocolNumber == header.IPv6ProtocolNumber {
		return append(h, 0x86, 0xdd)
	}
	return append(h, 0x08, 0x00)
}

// several reports whether a packet is more than one, from its header. A device may
// be handed such by its kernel; one that is TCP's may be taken as it is.
func several(vnet []byte) bool {
	const none, tcp4, tcp6, ecn = 0, 1, 4, 0x80
	kind := vnet[1] &^ ecn
	return kind != none && kind != tcp4 && kind != tcp6
}

// clean reports whether a packet is one that the unit's kernel makes for a program
// that speaks TCP or UDP. The rest ends here: no echo is answered, no fragment kept,
// no option or extension read, no group joined, and a source address other than the
// unit's own, which takes a raw socket, has no connection in the stack.
func clean(p []byte) bool {
	var protocol byte
	var from, to netip.Addr
	switch {
	case len(p) >= header.IPv4MinimumSize && p[0] == 0x45:
		if p[6]&^0x40 != 0 || p[7] != 0 { // a fragment
			return false
		}
		protocol = p[9]
		from, to = netip.AddrFrom4([4]byte(p[12:16])), netip.AddrFrom4([4]byte(p[16:20]))
	case len(p) >= header.IPv6MinimumSize && p[0]>>4 == 6:
		protocol = p[6]
		from, to = netip.AddrFrom16([16]byte(p[8:24])), netip.AddrFrom16([16]byte(p[24:40]))
	default:
		return false
	}
	known := protocol == byte(header.TCPProtocolNumber) || protocol == byte(header.UDPProtocolNumber)
	return known && (from == unitV4 || from == unitV6) && !to.IsMulticast() && !to.IsUnspecified() && !to.IsLoopback()
}
