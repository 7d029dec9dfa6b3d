//go:build !linux || !amd64

package kvm

import "errors"

// Machine can't be made here.
type Machine struct{}

var errElsewhere = errors.New("machines are made by KVM on Linux, on processors of the kind amd64")

// New fails.
func New(Spec) (*Machine, error) { return nil, errElsewhere }

// Unavailable says why no machine can be made.
func Unavailable() error { return errElsewhere }

// Run does nothing: there is no Machine.
func (*Machine) Run() Exit { return Exit{Kind: Failed, Reason: errElsewhere.Error()} }

// Interrupt does nothing.
func (*Machine) Interrupt() {}

// Bytes finds none.
func (*Machine) Bytes(uint64, uint64) ([]byte, bool) { return nil, false }

// Open fails.
func (*Machine) Open(int, uint64) error { return errElsewhere }

// Close does nothing.
func (*Machine) Close() {}
