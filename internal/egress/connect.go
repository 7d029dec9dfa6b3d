package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

type attempt struct {
	conn net.Conn
	err  error
}

// Connect dials the addresses in the resolver's order, each with a short head
// start, and gives the first connection. Nothing is resolved a second time.
func Connect(ctx context.Context, addrs []netip.AddrPort, dial Dial) (net.Conn, error) {
	addrs = addrs[:min(len(addrs), maxDials)]
	if len(addrs) == 1 {
		a := dialOne(ctx, addrs[0], dial)
		return a.conn, a.err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan attempt, len(addrs))
	next, running := 0, 0
	start := func() {
		go func(to netip.AddrPort) { done <- dialOne(ctx, to, dial) }(addrs[next])
		next++
		running++
	}
	ahead := time.NewTimer(head)
	defer ahead.Stop()
	var errs []error
	for next < len(addrs) || running > 0 {
		if running == 0 {
			if ctx.Err() != nil {
				break
			}
			start()
			ahead.Reset(head)
		}
		select {
		case a := <-done:
			running--
			if a.err == nil {
				go closeLate(done, running)
				return a.conn, nil
			}
			errs = append(errs, a.err)
		case <-ahead.C:
			if next < len(addrs) {
				start()
				ahead.Reset(head)
			}
		}
	}
	if len(addrs) == 0 {
		return nil, errors.New("no address to dial")
	}
	return nil, errors.Join(append(errs, ctx.Err())...)
}

// closeLate closes what comes after the first connection.
func closeLate(done <-chan attempt, running int) {
	for range running {
		if a := <-done; a.err == nil {
			_ = a.conn.Close()
		}
	}
}

func dialOne(ctx context.Context, to netip.AddrPort, dial Dial) attempt {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	conn, err := dial(ctx, to)
	return attempt{conn, err}
}
