package kvm

import (
	"fmt"
	"math/bits"
)

// Spec is a machine.
type Spec struct {
	Areas []Area
	// Door is the guest address of the doorbell page.
	Door uint64
	// Entry is where the processor begins, and Stack its stack pointer then.
	Entry, Stack uint64
}

// Area is a range of guest addresses with memory behind it.
type Area struct {
	At   uint64 // its first guest address: a multiple of PageBytes, of HugeBytes if it has Reach
	Size uint64 // bytes of memory behind it, a multiple of PageBytes
	Open uint64 // bytes of it that the guest can use at first, likewise; see [Machine.Open]
	// Reach is how many bytes of addresses are the area's, a multiple of HugeBytes, at
	// least Size. What isn't open ends the run with [Beyond] and the area's place in the
	// list. Zero gives it no addresses but those that are open.
	Reach       uint64
	Write, Exec bool
	Data        []byte // what it begins with; the rest is zero
}

// Sizes of pages.
const (
	PageBytes = 4 << 10
	HugeBytes = 2 << 20
)

// What a machine can have.
const (
	mostAreas = 24
	mostBytes = 1 << 40 // of addresses, from zero
)

// Kind is why a machine stopped.
type Kind uint8

// The kinds. The zero Kind is none.
const (
	_           Kind = iota
	Door             // the guest wrote Value to the doorbell; Run goes on behind it
	Beyond           // the guest used an address of Area that isn't open
	Unknown          // the guest used such an address, or what the processor refuses, by an instruction that KVM doesn't know
	Shutdown         // the guest did what ends its machine
	Interrupted      // by Interrupt
	Failed           // the kernel couldn't go on with it
)

var kindNames = [...]string{"", "doorbell", "out of an area", "unknown instruction", "shutdown", "interrupted", "failed"}

func (k Kind) String() string {
	if k > 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Exit is a stop of a machine.
type Exit struct {
	Kind  Kind
	Value uint32 // Door: what was written
	Area  int    // Beyond: the place in Spec.Areas
	// RIP is where the guest stood, as far as the processor tells: some forget it at a
	// shutdown.
	RIP    uint64
	Reason string // of Shutdown and Failed, for people
}

// check refuses what can't be built. Areas must not touch each other.
func (s *Spec) check() error {
	if len(s.Areas) == 0 || len(s.Areas) > mostAreas {
		return fmt.Errorf("kvm: %d areas, want 1 to %d", len(s.Areas), mostAreas)
	}
	for i, a := range s.Areas {
		if err := a.check(); err != nil {
			return fmt.Errorf("kvm: area %d: %w", i, err)
		}
		for j, b := range s.Areas[:i] {
			if a.At < b.end() && b.At < a.end() {
				return fmt.Errorf("kvm: areas %d and %d lie on each other", j, i)
			}
		}
		if s.Door >= a.At && s.Door < a.end() {
			return fmt.Errorf("kvm: the doorbell lies in area %d", i)
		}
	}
	if s.Door%PageBytes != 0 || s.Door >= mostBytes {
		return fmt.Errorf("kvm: doorbell at %#x, want a multiple of %d below %#x", s.Door, PageBytes, uint64(mostBytes))
	}
	return nil
}

func (a *Area) end() uint64 { return a.At + max(a.Size, a.Reach) }

func (a *Area) check() error {
	unit := uint64(PageBytes)
	if a.Reach != 0 {
		unit = HugeBytes
	}
	sum, carry := bits.Add64(a.At, max(a.Size, a.Reach), 0)
	switch {
	case a.At%unit != 0 || a.Reach%HugeBytes != 0 || a.Size%PageBytes != 0 || a.Open%PageBytes != 0:
		return fmt.Errorf("at %#x with %d bytes, %d open, reach %d: want whole pages", a.At, a.Size, a.Open, a.Reach)
	case carry != 0 || sum > mostBytes:
		return fmt.Errorf("ends past %#x", uint64(mostBytes))
	case a.Open > a.Size || a.Reach != 0 && a.Size > a.Reach:
		return fmt.Errorf("%d bytes open of %d that reach %d: want no more", a.Open, a.Size, a.Reach)
	case uint64(len(a.Data)) > a.Size:
		return fmt.Errorf("begins with %d bytes, has %d", len(a.Data), a.Size)
	case a.Write && a.Exec:
		return fmt.Errorf("can be written and executed: want one at most")
	}
	return nil
}
