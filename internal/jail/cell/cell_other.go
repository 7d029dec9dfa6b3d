//go:build !linux || !(amd64 || arm64)

package cell

import (
	"context"
	"errors"
	"os"
	"runtime"
	"syscall"

	"github.com/joulebox/joulebox/internal/jail"
)

var errSystem = errors.New("there are no cells on " + runtime.GOOS + "/" + runtime.GOARCH + "; run on Linux on amd64 or arm64")

// Cell is a unit that runs, with what holds it.
type Cell struct{}

// RunInitIfAsked does nothing where there are no cells.
func RunInitIfAsked(Inside) {}

// Start can't be done here.
func Start(context.Context, Spec) (*Cell, error) {
	return nil, &jail.MissingError{Mechanisms: Survey()}
}

// Ahead does nothing.
func Ahead(uint32, uint32) {}

// EndAhead does nothing.
func EndAhead() {}

// Survey says that there is nothing.
func Survey() []jail.Mechanism {
	return []jail.Mechanism{{Name: nameNamespaces, Missing: errSystem, Needed: jail.EveryProcess}}
}

// Unavailable says why there can be no cells here.
func Unavailable() error { return errSystem }

// Wait has nothing to wait for.
func (c *Cell) Wait() (End, error) { return End{}, errSystem }

// Kill has nothing to kill.
func (c *Cell) Kill(string) {}

// Signal has nothing to send to.
func (c *Cell) Signal(syscall.Signal) error { return errSystem }

// Terminal is none.
func (c *Cell) Terminal() *os.File { return nil }

// Resize has no terminal.
func (c *Cell) Resize(Size) error { return errSystem }

// Network is none.
func (c *Cell) Network() []*os.File { return nil }

// Usage is none.
func (c *Cell) Usage() (Usage, error) { return Usage{}, errSystem }

// PID is none.
func (c *Cell) PID() int { return 0 }

// HostShows says no.
func HostShows(string) bool { return false }
