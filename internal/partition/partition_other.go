//go:build !linux

package partition

import "errors"

// Unavailable says why no partition can be built on this host.
func Unavailable() error { return errors.New("partitions need Linux") }

// RunInitIfAsked is for Linux.
func RunInitIfAsked() {}
