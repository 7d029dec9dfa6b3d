//go:build !linux

package host

import (
	"context"
	"errors"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jail"
)

// nativeExecutor isn't here: partitions are made of what Linux has.
type nativeExecutor struct{ tier joulebox.Tier }

var errNoPartition = errors.New("native units need Linux: namespaces, control groups, Landlock and seccomp")

func (x nativeExecutor) Tier() joulebox.Tier                     { return x.tier }
func (x nativeExecutor) Classes() []joulebox.DeviceClass         { return []joulebox.DeviceClass{joulebox.CPU} }
func (x nativeExecutor) Counting() Counting                      { return CountsCPUTime }
func (x nativeExecutor) Provides(string) bool                    { return true }
func (x nativeExecutor) Unavailable() error                      { return errNoPartition }
func (x nativeExecutor) Start(context.Context, Job) (Run, error) { return nil, errNoPartition }

// HostProgram is for Linux.
func HostProgram(string) (*Native, error) { return nil, errNoPartition }

// Close lets go of nothing.
func (n *Native) Close() error { return nil }

// PartitionMechanisms says that there are none.
func PartitionMechanisms() []jail.Mechanism {
	return []jail.Mechanism{{Name: "partitions", Missing: errNoPartition, Needed: jail.EveryProcess}}
}

func runCellIfAsked() {}
