// Package custody holds the signing key where neither a unit nor the code that
// runs it can read it (§7.4), and with the key its sequence numbers (§6.1). The
// seam is crypto.Signer: who signs is handed a signer, never a key.
//
// A reference says where a key lives. Today there is one kind:
//
//	file:            the key "host" in the state folder (StateDir)
//	file:NAME        another key of the state folder
//	file:/PATH       a key folder somewhere else
//
// # Files
//
// A key is a folder, so that key and counter appear in one rename:
//
//	host/            0700, owned by us, no symbolic link
//	host/key         0600, PKCS#8 in PEM, as other tools read and write it
//	host/sequence    0600, which numbers were handed out, and where (see below)
//	host.pub         the public key in hex. Its second use is to remember that
//	                 there was a key: a lost key is never replaced silently
//	host.lock        held while a key is made, rotated or adopted
//	host.retired.X/  keys that were rotated away; X begins their host id in hex
//
// The sequence file is text in two slots of 512 bytes, at 0 and at 4096, with
// newlines between. A reservation overwrites the older slot and syncs it before
// any of its numbers is used, so a torn write loses numbers and never repeats
// one. A slot that can't be read makes the counter jump.
//
// Numbers are reserved in blocks that double from 1 to 256 within a process: a
// process that signs once leaves no gap and pays one sync, one that signs for
// ever pays one sync in 256. What a process didn't use is a gap.
//
// # Copies
//
// Two copies of a key would give out the same numbers. So the sequence file
// knows its place: the machine's id, the folder's and its own inode with their
// birth times, the volume, and the device as long as the machine isn't started
// anew. A copy or a restored backup has another place and signs nothing until
// Rotate gives it a key of its own or Adopt vouches that the original is gone.
// What can't be seen from inside is a running machine that is cloned with its
// memory, or a file that is overwritten in place by an older one; two receipts
// with one number, which show it, are what verifiers look for.
// A file system that deals out inode numbers anew at each mount makes each mount
// look like a copy; keep the state folder on another one.
package custody

import (
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
)

// ErrNoKey says that there is no key under a reference and never was one.
var ErrNoKey = errors.New("custody: no key")

// ErrClosed is returned by a key that was closed.
var ErrClosed = errors.New("custody: the key is closed")

// LostError says that a key was here and is gone. A new one would be a new
// host: it is made only when asked for.
type LostError struct {
	Path   string
	HostID joulebox.ID // zero if it isn't known any more
	Reason string
}

func (e *LostError) Error() string {
	was := ""
	if !e.HostID.IsZero() {
		was = " (host " + e.HostID.String() + ")"
	}
	return fmt.Sprintf("custody: %s: %s%s: restore the key folder from where it went, or run `joulebox key rotate` to go on as a new host", e.Path, e.Reason, was)
}

// CopiedError says that the key's folder isn't where its counter was kept.
type CopiedError struct {
	Path    string
	Changed string // machine, folder, file, volume or device
}

func (e *CopiedError) Error() string {
	return fmt.Sprintf("custody: %s is a copy (its %s changed), and a copy signs nothing, lest two hosts give out the same numbers: "+
		"run `joulebox key rotate` for a new key; if the original is gone for good, `joulebox key adopt`; on a shared folder, point JOULEBOX_STATE at one of this machine", e.Path, e.Changed)
}

// RetiredError says that the key was rotated away.
type RetiredError struct{ Path string }

func (e *RetiredError) Error() string {
	return fmt.Sprintf("custody: %s was retired by `joulebox key rotate` and signs nothing any more: open the key anew; if a rotation was cut short, run it again", e.Path)
}

// ExhaustedError says that the counter is at its end.
type ExhaustedError struct{ Path string }

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("custody: %s has handed out all numbers up to 2^53-1: run `joulebox key rotate`", e.Path)
}

// DamagedError says that a key or its counter can't be read. Without a counter
// no number is known to be unused.
type DamagedError struct {
	Path   string
	Reason string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("custody: %s: %s: nothing is signed with it: run `joulebox key rotate` to go on with a new key", e.Path, e.Reason)
}
