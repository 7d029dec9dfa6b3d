package netstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

// listeners are those of the unit's loopback, by the endpoint that they stand for.
type listeners map[string]net.Listener

func (l listeners) close() error {
	var errs []error
	for _, one := range l {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// loopback takes the listeners that follow the device. What they stand for is read
// from where they listen, not from what was asked for.
func (s *Stack) loopback(files []*os.File) (listeners, error) {
	if len(files) == 0 {
		return nil, errors.New("got no device, want the files that Setup gave")
	}
	all := listeners{}
	for _, f := range files[1:] {
		l, err := net.FileListener(f)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("loopback inside: %w", err), all.close())
		}
		all[l.Addr().String()] = l
	}
	return all, nil
}

// serveLoopback serves what connects to a port of the unit's loopback that stands for
// one of the host's.
func (s *Stack) serveLoopback(l net.Listener, endpoint string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if !s.enter() {
			_ = c.Close()
			return
		}
		unit := kernelSide{c.(*net.TCPConn)}
		go func() {
			defer s.flows.Done()
			defer c.Close()
			s.outgoing(endpoint, func() (side, error) { return unit, nil }, unit.reset)
		}()
	}
}

// kernelSide is a connection of a kernel's, whose buffers that accounts for.
type kernelSide struct{ *net.TCPConn }

func (c kernelSide) reset()                 { resetHost(c.TCPConn) }
func (c kernelSide) size(int)               {}
func (c kernelSide) settle(context.Context) {}
