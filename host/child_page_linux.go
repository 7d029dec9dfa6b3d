package host

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/wasm"
)

// page is memory that a supervisor shares with one host process, so that looking
// at a run, and stopping it, costs no message. What is in it proves nothing: a
// hostile process writes there what it likes.
type page struct {
	// live is written by the process.
	live wasm.Live
	// cancel is the number of the run that is to end; a signal says to look here.
	cancel atomic.Uint64
	// failed is, for each stream, the errno that its next write is to fail with.
	failed [streams]atomic.Uint32
}

// mapping is a page and what it is made of.
type mapping struct {
	*page
	fd    int // of the supervisor; -1 once it was handed over
	bytes []byte
}

// newMapping makes a page that can't change its size: a process that cut it
// short would end whoever looks at it.
func newMapping() (*mapping, error) {
	fd, err := unix.MemfdCreate("joulebox-run", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("shared page: %w", err)
	}
	if err = unix.Ftruncate(fd, int64(unix.Getpagesize())); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err == nil {
		m, mapErr := mapPage(fd)
		if mapErr == nil {
			return m, nil
		}
		err = mapErr
	}
	unix.Close(fd)
	return nil, fmt.Errorf("shared page: %w", err)
}

// mapPage maps a page that is there. The mapping owns the descriptor.
func mapPage(fd int) (*mapping, error) {
	b, err := unix.Mmap(fd, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &mapping{page: pageAt(b), fd: fd, bytes: b}, nil
}

// reset makes the page ready for another run.
func (p *page) reset() {
	p.live.Reset()
	for i := range p.failed {
		p.failed[i].Store(0)
	}
}

// handedOver closes the descriptor, which the other side has by now.
func (m *mapping) handedOver() {
	if m.fd >= 0 {
		unix.Close(m.fd)
		m.fd = -1
	}
}

func (m *mapping) close() {
	m.handedOver()
	_ = unix.Munmap(m.bytes) // only of what isn't mapped could it fail
}
