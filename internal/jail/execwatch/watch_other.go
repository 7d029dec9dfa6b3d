//go:build !linux

package execwatch

import (
	"errors"
	"runtime"
)

var errSystem = errors.New("programs can't be told by content on " + runtime.GOOS + "; run on Linux")

// Start can't be done here.
func Start(int, Options) (*Watch, error) { return nil, errSystem }

// StartWith can't be done here.
func StartWith(Mechanism, int, Options) (*Watch, error) { return nil, errSystem }

// Best is none.
func Best() (Mechanism, error) { return "", errSystem }

// Survey says that there is nothing.
func Survey() []Offer { return []Offer{{Fanotify, errSystem}, {Ptrace, errSystem}} }
