//go:build !linux

package netstack

import (
	"context"
	"errors"
	"net"
	"os"
)

// Stack is the network of a unit, which takes Linux.
type Stack struct{}

var errOther = errors.New("a unit's own network needs Linux's network namespaces and TUN devices")

// New refuses.
func New([]*os.File, Config) (*Stack, error) { return nil, errOther }

// Counts are none.
func (*Stack) Counts() Counts { return Counts{} }

// Drain has nothing to wait for.
func (*Stack) Drain(context.Context) error { return nil }

// Listen refuses.
func (*Stack) Listen(net.Listener, uint16) error { return errOther }

// Close has nothing to close.
func (*Stack) Close() error { return nil }
