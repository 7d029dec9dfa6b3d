package netstack

import (
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

const (
	// vnetHeader is the size of struct virtio_net_hdr, before each packet.
	vnetHeader = 10
	// needsCsum is VIRTIO_NET_HDR_F_NEEDS_CSUM: whoever lets the packet out of the
	// machine makes its checksum, which here is nobody.
	needsCsum = 1
)

// vnet is the header before a packet to the unit.
func vnet(p *stack.PacketBuffer) (h [vnetHeader]byte) {
	start := len(p.NetworkHeader().Slice())
	var offset byte
	switch p.TransportProtocolNumber {
	case header.TCPProtocolNumber:
		offset = header.TCPChecksumOffset
	case header.UDPProtocolNumber:
		offset = 6
	default:
		return h
	}
	h[0], h[6], h[8] = needsCsum, byte(start), offset
	return h
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
