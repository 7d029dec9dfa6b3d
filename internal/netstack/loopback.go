package netstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"github.com/joulebox/joulebox/grant"
)

// A unit's loopback is its own. Where the host's is granted, by its address, the
// host listens there inside, at exactly the granted port.

// setup is what the inner half is told.
type setup struct {
	// Loopback are the granted endpoints on loopback, in the grant's order.
	Loopback []netip.AddrPort
}

// SetupConfig is what Setup is to be given for the list of the grant (§5.3).
func SetupConfig(outbound []string) ([]byte, error) {
	var s setup
	for i, text := range outbound {
		ep, err := grant.ParseEndpoint(text)
		if err != nil {
			return nil, fmt.Errorf("outbound[%d]: %w", i, err)
		}
		if ep.Addr.IsLoopback() {
			s.Loopback = append(s.Loopback, netip.AddrPortFrom(ep.Addr, ep.Port))
		}
	}
	return json.Marshal(s)
}

func readSetup(config []byte) (s setup, err error) {
	if err := json.Unmarshal(config, &s); err != nil {
		return s, fmt.Errorf("network setup: %w", err)
	}
	for _, a := range s.Loopback {
		if !a.Addr().IsLoopback() {
			return s, errors.New("network setup: got an endpoint that isn't on loopback, want only such")
		}
	}
	return s, nil
}
