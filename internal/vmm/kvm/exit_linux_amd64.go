package kvm

import (
	"encoding/binary"
	"fmt"
)

// Exits of KVM that a guest can come to.
const (
	exitMMIO     = 6
	exitShutdown = 8
	exitEntry    = 9
	exitInternal = 17

	suberrorEmulation = 1
)

// Offsets in kvm_run.
const (
	runReason  = 8
	runPayload = 32
)

// exit reads why the processor stopped.
func (m *Machine) exit() Exit {
	e := Exit{Area: -1, RIP: m.rip()}
	switch reason := binary.LittleEndian.Uint32(m.run[runReason:]); reason {
	case exitMMIO:
		m.atHole(&e)
	case exitInternal:
		m.internal(&e)
	case exitEntry:
		e.Kind, e.Reason = Failed, fmt.Sprintf("the processor refused to enter the guest: %#x", binary.LittleEndian.Uint64(m.run[runPayload:]))
	case exitShutdown:
		e.Kind, e.Reason = Shutdown, "a fault, a system call or a privileged instruction"
	default:
		e.Kind, e.Reason = Shutdown, fmt.Sprintf("exit %d of the processor", reason)
	}
	return e
}

// atHole says which address without memory was used: the doorbell's or an area's.
func (m *Machine) atHole(e *Exit) {
	p := m.run[runPayload:]
	frame, n, write := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint32(p[16:]), p[20] != 0
	hole := int(frame/HugeBytes) - holesFrame/HugeBytes
	switch {
	case frame == holesFrame && n == 4 && write:
		e.Kind, e.Value = Door, binary.LittleEndian.Uint32(p[8:])
	case hole >= 1 && hole <= len(m.areas):
		e.Kind, e.Area = Beyond, hole-1
	default:
		e.Kind, e.Reason = Shutdown, fmt.Sprintf("the doorbell was used by %d bytes, written %t, at %#x", n, write, frame&(HugeBytes-1))
	}
}

// internal tells an instruction that KVM can't emulate, which only comes to it where
// an address has no memory or the processor refuses, from a fault of its own.
func (m *Machine) internal(e *Exit) {
	sub := binary.LittleEndian.Uint32(m.run[runPayload:])
	if sub == suberrorEmulation {
		e.Kind, e.Reason = Unknown, "an instruction that KVM can't follow, at an address without memory"
		return
	}
	e.Kind, e.Reason = Failed, fmt.Sprintf("internal error %d of KVM", sub)
}
