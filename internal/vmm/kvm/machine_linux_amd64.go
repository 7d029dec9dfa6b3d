package kvm

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Where things lie in guest-physical memory. Below the first 4 GiB are holes that
// processors and KVM want for themselves.
const (
	tablesFrame = 0x0020_0000
	holesFrame  = 0x4000_0000 // nothing is here: the doorbell first, then one hole an area
	areasFrame  = 0x1_0000_0000
)

// Machine is one virtual processor with its memory. One goroutine uses it;
// Interrupt may come from any.
type Machine struct {
	areas  []placed
	tables *tables
	root   int

	vm, vcpu int
	run      []byte // what the kernel shares of the processor's state
	maps     [][]byte

	thread atomic.Int64 // of Run, 0 between runs
	stop   atomic.Bool
}

// New builds a machine. Close it when done.
func New(s Spec) (*Machine, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	m := &Machine{vm: -1, vcpu: -1}
	if err := m.build(&s); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Machine) build(s *Spec) error {
	dev, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer dev.Close()
	if err := offers(int(dev.Fd())); err != nil {
		return err
	}
	if m.vm, err = ioctl(int(dev.Fd()), createVM, 0); err != nil {
		return fmt.Errorf("kvm: a machine: %w", err)
	}
	unix.CloseOnExec(m.vm)
	if err := m.prepare(); err != nil {
		return err
	}
	if err := m.fill(s); err != nil {
		return err
	}
	return m.processor(int(dev.Fd()), s)
}

// fill gives the machine its memory and its page tables.
func (m *Machine) fill(s *Spec) error {
	space, err := m.memory(uint64(pages(s.Areas)) * PageBytes)
	if err != nil {
		return err
	}
	if err := m.slot(0, tablesFrame, space); err != nil {
		return err
	}
	m.tables = newTables(space, tablesFrame)
	frame := uint64(areasFrame)
	m.areas = make([]placed, len(s.Areas))
	for i, a := range s.Areas {
		p := &m.areas[i]
		*p = placed{Area: a, frame: frame, hole: holesFrame + uint64(i+1)*HugeBytes, open: a.Open}
		p.Data = nil
		if a.Size > 0 {
			if p.mem, err = m.memory(a.Size); err != nil {
				return err
			}
			copy(p.mem, a.Data)
			if err := m.slot(uint32(i+1), frame, p.mem); err != nil {
				return err
			}
		}
		frame += (a.Size + HugeBytes - 1) &^ (HugeBytes - 1)
		m.tables.place(p)
	}
	m.tables.small(s.Door, holesFrame, holeFlags)
	return m.tables.err
}

// memory takes pages from the kernel, which are there once they are touched.
func (m *Machine) memory(n uint64) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("kvm: %d bytes for the guest: %w", n, err)
	}
	m.maps = append(m.maps, mem)
	// A child of this process has no business with it, and a core file neither.
	return mem, errors.Join(unix.Madvise(mem, unix.MADV_DONTFORK), unix.Madvise(mem, unix.MADV_DONTDUMP))
}

// Run lets the guest go on until it stops.
func (m *Machine) Run() Exit {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m.thread.Store(int64(unix.Gettid()))
	defer m.thread.Store(0)
	for {
		if m.stop.Load() {
			return Exit{Kind: Interrupted, RIP: m.rip()}
		}
		_, err := ioctl(m.vcpu, runVCPU, 0)
		switch {
		case err == nil:
			return m.exit()
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		default:
			return Exit{Kind: Failed, RIP: m.rip(), Reason: err.Error()}
		}
	}
}

// Interrupt makes Run return, now or when it is called next, and for good.
func (m *Machine) Interrupt() {
	m.stop.Store(true)
	m.leave()
	if tid := m.thread.Load(); tid != 0 {
		// A signal that the Go runtime uses itself, for the like of this.
		_ = unix.Tgkill(os.Getpid(), int(tid), unix.SIGURG)
	}
}

// Bytes is guest memory as the host sees it: n bytes from an address of which all
// are open in one area. The slice is the guest's until Close.
func (m *Machine) Bytes(addr, n uint64) ([]byte, bool) {
	for i := range m.areas {
		p := &m.areas[i]
		if addr >= p.At && addr-p.At <= p.open && n <= p.open-(addr-p.At) {
			off := addr - p.At
			return p.mem[off : off+n : off+n], true
		}
	}
	return nil, false
}

// Open lets the guest use the first n bytes of an area, which may only become more.
func (m *Machine) Open(area int, n uint64) error {
	p := &m.areas[area]
	if n < p.open || n > p.Size || n%PageBytes != 0 {
		return fmt.Errorf("kvm: area %d: %d bytes to be open, have %d of %d", area, n, p.open, p.Size)
	}
	if n == p.open {
		return nil
	}
	m.tables.grow(p, n)
	if m.tables.err != nil {
		return m.tables.err
	}
	m.root = (m.root + 1) % roots
	return m.switchRoot()
}

// Close ends the machine and gives its memory back. Run has returned.
func (m *Machine) Close() {
	for _, fd := range []int{m.vcpu, m.vm} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	m.vm, m.vcpu = -1, -1
	for _, mem := range append(m.maps, m.run) {
		if mem != nil {
			_ = unix.Munmap(mem) // fails for a range that isn't mapped, which can't be
		}
	}
	m.maps, m.run, m.areas = nil, nil, nil
}
