package netstack

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/joulebox/joulebox/internal/egress"
)

// relay carries a connection until both ways are over or one fails. sent is called
// once the unit has nothing more to send.
func (s *Stack) relay(f Flow, unit side, conn net.Conn, sent func()) {
	size := s.budget.take()
	defer s.budget.give(size)
	unit.size(size)
	end := sync.OnceFunc(func() {
		unit.reset()
		resetHost(conn)
	})
	stop := context.AfterFunc(s.ctx, end)
	defer stop()

	up := make(chan error, 1)
	go func() {
		err := s.send(&f, unit, conn, size)
		if broken(err) {
			end()
		}
		sent()
		up <- err
	}()
	down := s.receive(&f, conn, unit, size)
	if down != nil {
		end()
	}
	f.Err = errors.Join(<-up, down)
	unit.settle(s.ctx)
	_ = unit.Close()
	_ = conn.Close()
	var denied *egress.Denied
	if errors.As(f.Err, &denied) {
		f.Decision, f.Err = denied.Decision, nil
		s.ledger.deny(f)
		return
	}
	s.ledger.end(f)
}

// gone is the error of a server that takes nothing more. What it still has to say
// is worth hearing: it may be why.
type gone struct{ error }

// broken reports whether an error ends the other way too.
func broken(err error) bool {
	var g gone
	return err != nil && !errors.As(err, &g)
}

// resetHost ends a connection of the host as a failure.
func resetHost(conn net.Conn) {
	if c, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0)
	}
	_ = conn.Close()
}

// send carries what the unit sends, unless it names another host than the granted
// one.
func (s *Stack) send(f *Flow, unit side, conn net.Conn, size int) error {
	look := egress.NewInspector(f.Endpoint)
	if f.Protocol == "listen" {
		look = &egress.Inspector{} // a server names no host
	}
	b := chunk{large: size == largeBuffer}
	defer b.free()
	for {
		n, err := unit.Read(b.room())
		if n > 0 {
			p := b.filled(n)
			if err := look.Inspect(p); err != nil {
				return err
			}
			m, err := conn.Write(p)
			f.Sent += int64(m)
			s.ledger.sent.Add(int64(m))
			if err != nil {
				return gone{err}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return closeWrite(conn)
		case err != nil:
			return err
		}
	}
}

// receive carries what the host receives.
func (s *Stack) receive(f *Flow, conn net.Conn, unit side, size int) error {
	b := chunk{large: size == largeBuffer}
	defer b.free()
	for {
		n, err := conn.Read(b.room())
		if n > 0 {
			m, err := unit.Write(b.filled(n))
			f.Received += int64(m)
			s.ledger.received.Add(int64(m))
			if err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return closeWrite(unit)
		case err != nil:
			return err
		}
	}
}

func closeWrite(c net.Conn) error {
	half, ok := c.(interface{ CloseWrite() error })
	if !ok {
		return nil
	}
	if err := half.CloseWrite(); err != nil && !errors.Is(err, net.ErrClosed) {
		return gone{err}
	}
	return nil
}
