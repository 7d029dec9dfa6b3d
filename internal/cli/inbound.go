package cli

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/joulebox/joulebox/host"
)

// inboundPort is what one --inbound says.
type inboundPort struct {
	at   netip.AddrPort // of this host
	port uint16         // of the unit
}

// parseInbound reads [ADDRESS:]PORT[:PORT]. An address of IPv6 stands in brackets.
func parseInbound(text string) (in inboundPort, err error) {
	bad := fmt.Errorf("--inbound: got %q, want PORT, PORT:UNITPORT or ADDRESS:PORT:UNITPORT, like 8080 or 127.0.0.1:8080:80", text)
	address, ports := netip.AddrFrom4([4]byte{127, 0, 0, 1}), text
	switch {
	case strings.HasPrefix(text, "["):
		name, rest, found := strings.Cut(text[1:], "]:")
		if address, err = netip.ParseAddr(name); err != nil || !found || !address.Is6() {
			return in, bad
		}
		ports = rest
	case strings.Contains(text, "."):
		name, rest, _ := strings.Cut(text, ":")
		if address, err = netip.ParseAddr(name); err != nil {
			return in, bad
		}
		ports = rest
	}
	host, unit, two := strings.Cut(ports, ":")
	from, err := strconv.ParseUint(host, 10, 16)
	if err != nil || host != strconv.FormatUint(from, 10) {
		return in, bad
	}
	to := from
	if two {
		if to, err = strconv.ParseUint(unit, 10, 16); err != nil || unit != strconv.FormatUint(to, 10) {
			return in, bad
		}
	}
	if to == 0 {
		return in, fmt.Errorf("--inbound: got %q, want the unit's port, from 1 on; 0 for the host's has it choose one", text)
	}
	return inboundPort{netip.AddrPortFrom(address, uint16(from)), uint16(to)}, nil
}

// openInbound opens the listeners that lead to the unit.
func openInbound(texts []string) (list []host.Inbound, err error) {
	for _, t := range texts {
		in, err := parseInbound(t)
		if err == nil {
			var l net.Listener
			if l, err = net.Listen("tcp", in.at.String()); err == nil {
				list = append(list, host.Inbound{Listener: l, Port: in.port})
				continue
			}
			err = fmt.Errorf("--inbound %s: %w", t, err)
		}
		for _, in := range list {
			_ = in.Listener.Close()
		}
		return nil, err
	}
	return list, nil
}
