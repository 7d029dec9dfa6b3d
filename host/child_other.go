//go:build !linux

package host

import (
	"context"

	"github.com/joulebox/joulebox/internal/hostspawn"
	"github.com/joulebox/joulebox/internal/jail"
)

// Processes are none: there is no jail for a process here.
type Processes struct{}

// NewProcesses makes none. What it would have is declined by name.
func NewProcesses(ProcessConfig) (*Processes, error) { return &Processes{}, nil }

// Adopt does nothing.
func (*Processes) Adopt(func() (hostspawn.Process, error)) {}

// Settle does nothing.
func (*Processes) Settle() {}

// Close does nothing.
func (*Processes) Close() error { return nil }

// Mechanisms says what is missing.
func (*Processes) Mechanisms() []jail.Mechanism { return jail.Survey() }

func (*Processes) unavailable() error   { return jail.Missing(jail.Survey(), false) }
func (*Processes) provides(string) bool { return false }

func (p *Processes) start(context.Context, wasmExecutor, Job) (Run, error) {
	return nil, p.unavailable()
}

func runHostedIfAsked() {}

// handedInput is the input of a host process, of which there is none here.
type handedInput struct{ steady bool }

func (*handedInput) Read([]byte) (int, error) { return 0, errSystem }
func (*handedInput) wake()                    {}

var errSystem = jail.Missing(jail.Survey(), false)
