package netstack

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// Nowhere is the network of a unit that is granted none: nothing is carried, and what
// the unit tries is counted and told. It costs a socket.
type Nowhere struct {
	ledger *ledger
	rules  Rules
	names  *net.UDPConn  // nil where there is none
	served chan struct{} // closed when they are answered no more
}

// SetupNowhere makes the socket at which names are asked for where nothing says
// otherwise, in the network namespace that the calling thread is in.
func SetupNowhere() ([]*os.File, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: dnsPort}); err != nil {
		return nil, errors.Join(fmt.Errorf("bind: %w", err), unix.Close(fd))
	}
	return []*os.File{os.NewFile(uintptr(fd), "names")}, nil
}

// NewNowhere has a network's rules and record; nothing else of the config is of use.
func NewNowhere(c Config) *Nowhere {
	return &Nowhere{ledger: newLedger(c.Record), rules: c.Rules}
}

// Serve serves what SetupNowhere made, and takes the files over.
func (n *Nowhere) Serve(files []*os.File) (err error) {
	defer func() { err = errors.Join(err, closeFiles(files)) }()
	if len(files) == 0 {
		return nil
	}
	none, err := newNames(nil)
	if err != nil {
		return err
	}
	conn, err := net.FilePacketConn(files[0])
	if err != nil {
		return fmt.Errorf("netstack: %w", err)
	}
	n.names, n.served = conn.(*net.UDPConn), make(chan struct{})
	go n.serve(&resolver{none, n.rules, n.ledger.deny})
	return nil
}

// serve answers that no name is there.
func (n *Nowhere) serve(r *resolver) {
	defer close(n.served)
	b := make([]byte, maxQuery)
	for {
		size, from, err := n.names.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		if reply, err := r.answer(b[:size]); err == nil {
			_, _ = n.names.WriteToUDPAddrPort(reply, from)
		}
	}
}

// Deny counts a connection that there is no way for.
func (n *Nowhere) Deny(to netip.AddrPort) {
	n.ledger.deny(Flow{Protocol: "connect", Endpoint: to.String(), Decision: n.rules.MayEgress(to.String())})
}

// Counts are the sums so far.
func (n *Nowhere) Counts() Counts { return n.ledger.sums() }

// Close ends it, and records the denials that were only counted.
func (n *Nowhere) Close() (err error) {
	if n.names != nil {
		err = n.names.Close()
		<-n.served
	}
	n.ledger.close()
	return err
}
