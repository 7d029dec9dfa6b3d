package kvm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const device = "/dev/kvm"

// Capabilities of KVM, by its numbers.
const (
	capImmediateExit = 136
	capExitUnknown   = 204 // an instruction that KVM can't emulate ends the run instead of the guest
)

// offers checks that the device speaks the language of this package.
func offers(dev int) error {
	if v, err := ioctl(dev, apiVersion, 0); err != nil || v != 12 {
		return fmt.Errorf("kvm: %s has interface %d, want 12 (%v)", device, v, err)
	}
	if n, err := ioctl(dev, checkExtension, capImmediateExit); err != nil || n == 0 {
		return errors.New("kvm: a guest can't be interrupted here: the kernel has no immediate exit, which Linux 4.13 brought")
	}
	return nil
}

// prepare sets up what a machine has before its memory.
func (m *Machine) prepare() error {
	// Where Intel's processors need pages of KVM's own. AMD's do without.
	if _, err := ioctl(m.vm, setTSS, 0xfffbd000); err != nil && !errors.Is(err, unix.ENOTTY) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("kvm: task state: %w", err)
	}
	at := binary.LittleEndian.AppendUint64(nil, 0xfffbc000)
	if err := ioctlWith(m.vm, setIdentity, at); err != nil && !errors.Is(err, unix.ENOTTY) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("kvm: identity map: %w", err)
	}
	order := make([]byte, 104)
	binary.LittleEndian.PutUint32(order, capExitUnknown)
	binary.LittleEndian.PutUint64(order[8:], 1)
	_ = ioctlWith(m.vm, enableCap, order) // an older kernel ends the guest in its own way
	return nil
}

// processor makes the one that the machine has and puts it where the guest begins.
func (m *Machine) processor(dev int, s *Spec) (err error) {
	if m.vcpu, err = ioctl(m.vm, createVCPU, 0); err != nil {
		return fmt.Errorf("kvm: a processor: %w", err)
	}
	unix.CloseOnExec(m.vcpu)
	size, err := ioctl(dev, runAreaSize, 0)
	if err != nil {
		return fmt.Errorf("kvm: the shared area: %w", err)
	}
	if m.run, err = unix.Mmap(m.vcpu, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return fmt.Errorf("kvm: the shared area: %w", err)
	}
	umip, err := m.features(dev)
	if err != nil {
		return err
	}
	if err := m.ring3(umip); err != nil {
		return err
	}
	regs := make([]byte, 18*8)
	binary.LittleEndian.PutUint64(regs[regStack*8:], s.Stack)
	binary.LittleEndian.PutUint64(regs[regRIP*8:], s.Entry)
	binary.LittleEndian.PutUint64(regs[regFlags*8:], 0x202)
	if err := ioctlWith(m.vcpu, setRegs, regs); err != nil {
		return fmt.Errorf("kvm: registers: %w", err)
	}
	return nil
}

const (
	regStack = 6
	regRIP   = 16
	regFlags = 17
)

// Offsets in kvm_sregs. Its first members are eight segments of 24 bytes, the
// descriptors of two tables of 16, and then the control registers.
const (
	sregsBytes  = 312
	segmentCS   = 0
	segmentSS   = 5
	segmentTask = 6
	segmentBits = 24
	tableGDT    = 8 * segmentBits
	controls    = tableGDT + 2*16
	controlCR0  = controls
	controlCR3  = controls + 16
	controlCR4  = controls + 24
	controlEFER = controls + 40
)

// ring3 is all that makes the guest what it is. Long mode, ring 3 from the first
// instruction on; interrupt and segment tables without an entry, so that whatever
// goes wrong has no handler, which ends the machine; system calls off; the time
// stamp counter off, which would be a clock that nobody granted.
func (m *Machine) ring3(umip bool) error {
	s := make([]byte, sregsBytes)
	if err := ioctlWith(m.vcpu, getSregs, s); err != nil {
		return fmt.Errorf("kvm: control registers: %w", err)
	}
	segment := func(i int, selector uint16, kind, ring, long, wide byte) {
		d := s[i*segmentBits:][:segmentBits]
		clear(d)
		binary.LittleEndian.PutUint32(d[8:], 0xffffffff)
		binary.LittleEndian.PutUint16(d[12:], selector)
		d[14], d[15], d[16], d[17], d[18], d[19], d[20] = kind, 1, ring, wide, 1, long, 1
	}
	segment(segmentCS, 0x33, 11, 3, 1, 0)
	for i := segmentCS + 1; i <= segmentSS; i++ {
		segment(i, 0x2b, 3, 3, 0, 1)
	}
	task := s[segmentTask*segmentBits:][:segmentBits] // there must be one; it allows no port
	clear(task)
	binary.LittleEndian.PutUint32(task[8:], 0x67)
	task[14], task[15] = 11, 1
	clear(s[tableGDT:controls])
	cr4 := uint64(1<<5 | 1<<9 | 1<<10 | 1<<2) // PAE, SSE and its faults, no time stamps at ring 3
	if umip {
		cr4 |= 1 << 11 // nor the tables' addresses
	}
	binary.LittleEndian.PutUint64(s[controlCR0:], 0x80050033)
	binary.LittleEndian.PutUint64(s[controlCR3:], m.tables.root(0))
	binary.LittleEndian.PutUint64(s[controlCR4:], cr4)
	binary.LittleEndian.PutUint64(s[controlEFER:], 1<<8|1<<10|1<<11) // long mode, no-execute; no system calls
	if err := ioctlWith(m.vcpu, setSregs, s); err != nil {
		return fmt.Errorf("kvm: control registers: %w", err)
	}
	return nil
}

// switchRoot has the processor read its page tables anew.
func (m *Machine) switchRoot() error {
	s := make([]byte, sregsBytes)
	if err := ioctlWith(m.vcpu, getSregs, s); err != nil {
		return fmt.Errorf("kvm: control registers: %w", err)
	}
	binary.LittleEndian.PutUint64(s[controlCR3:], m.tables.root(m.root))
	if err := ioctlWith(m.vcpu, setSregs, s); err != nil {
		return fmt.Errorf("kvm: control registers: %w", err)
	}
	return nil
}

func (m *Machine) rip() uint64 {
	regs := make([]byte, 18*8)
	if ioctlWith(m.vcpu, getRegs, regs) != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(regs[regRIP*8:])
}

// features tells the guest of the processor what compiled code may ask, and not
// which machine it is: no maker's name, no model, no serial number. It reports
// whether the processor keeps its tables' addresses to itself.
func (m *Machine) features(dev int) (umip bool, err error) {
	const most, entry = 256, 40
	all := make([]byte, 8+most*entry)
	binary.LittleEndian.PutUint32(all, most)
	if err := ioctlWith(dev, supportedCPUID, all); err != nil {
		return false, fmt.Errorf("kvm: features: %w", err)
	}
	kept := make([]byte, 8, len(all))
	n := min(binary.LittleEndian.Uint32(all), most)
	count := uint32(0)
	for i := range n {
		e := all[8+i*entry:][:entry]
		if !showFeatures(e) {
			continue
		}
		if leaf(e) == 7 {
			umip = binary.LittleEndian.Uint32(e[wordC:])&(1<<2) != 0
		}
		kept = append(kept, e...)
		count++
	}
	binary.LittleEndian.PutUint32(kept, count)
	if err := ioctlWith(m.vcpu, setCPUID, kept); err != nil {
		return false, fmt.Errorf("kvm: features: %w", err)
	}
	return umip, nil
}

// The words of kvm_cpuid_entry2.
const (
	wordA = 12
	wordB = 16
	wordC = 20
	wordD = 24
)

func leaf(e []byte) uint32 { return binary.LittleEndian.Uint32(e) }

// showFeatures reports whether a guest is told of a leaf, and takes out of it what
// says which machine this is.
func showFeatures(e []byte) bool {
	zero := func(words ...int) {
		for _, w := range words {
			clear(e[w : w+4])
		}
	}
	switch leaf(e) {
	case 0: // the makers' names decide how KVM treats some registers, so they stay
		return true
	case 1:
		zero(wordA, wordB)
		return true
	case 0x80000000:
		zero(wordB, wordC, wordD)
		return true
	case 7, 0x80000001, 0x80000008:
		return true
	}
	return false
}
