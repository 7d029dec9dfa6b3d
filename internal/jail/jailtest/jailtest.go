// Package jailtest is what a process that has gone out of its engine would try:
// one attack after the other, each of which a jailed process must fail at.
package jailtest

import "errors"

// Target is what the attacks are after.
type Target struct {
	Secret  string // a file with something in it, outside of all that was handed over
	Outside string // the directory that it is in, which may be written to otherwise
	Inside  int    // a descriptor of a handed directory, or -1
	Unix    string // a socket that someone listens on
	TCP4    int    // a port of 127.0.0.1 that someone listens on, or 0
	TCP6    int    // a port of ::1, or 0
	Victim  int    // a process to get at: the supervisor
}

// Attack is one try.
type Attack struct {
	Name string
	// Do returns what stood in the way. A nil error is a way out of the jail.
	Do func(Target) error
	// Deadly says that the kernel is to end the process at the try.
	Deadly bool
	// Storage says that it makes use of a handed directory.
	Storage bool
}

// ErrNotHere says that the attack can't be tried on this machine.
var ErrNotHere = errors.New("can't be tried here")
