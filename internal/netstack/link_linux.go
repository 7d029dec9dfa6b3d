package netstack

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// link is the stack's end of the unit's device.
type link struct {
	file     *os.File
	raw      syscall.RawConn
	ethernet bool
	window   int // what a connection may have on the way to the stack

	mu     sync.RWMutex
	attach stack.NetworkDispatcher
}

// newLink takes the file over. Handing a descriptor over may have made it one that
// blocks, and that is the end of Close ending a read.
func newLink(given *os.File) (*link, error) {
	file, err := unblocked(given)
	if err = errors.Join(err, given.Close()); err != nil {
		return nil, err
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	l := &link{file: file, raw: raw, window: largeBuffer}
	if queue, err := l.queue(); err == nil {
		l.ethernet = true
		l.window = min(max(queue/4, smallBuffer), largeBuffer)
	}
	return l, nil
}

func unblocked(given *os.File) (file *os.File, err error) {
	raw, err := given.SyscallConn()
	if err != nil {
		return nil, err
	}
	failed := raw.Control(func(fd uintptr) {
		var own int
		if own, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return
		}
		if err = unix.SetNonblock(own, true); err != nil {
			_ = unix.Close(own)
			return
		}
		file = os.NewFile(uintptr(own), given.Name())
	})
	return file, errors.Join(failed, err)
}

// stop ends what reads and writes.
func (l *link) stop() { _ = l.file.SetDeadline(time.Unix(1, 0)) }

// close lets go of the device. The kernel has a packet socket's closer wait until
// every processor has looked away from it, for nothing that matters here.
func (l *link) close() error {
	if l.ethernet {
		go l.file.Close()
		return nil
	}
	return l.file.Close()
}

// queue is the size of the queue of a packet socket; an error for a TUN device.
func (l *link) queue() (n int, err error) {
	failed := l.raw.Control(func(fd uintptr) {
		n, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF)
	})
	return n, errors.Join(failed, err)
}

// waiting reports whether the unit has sent what isn't read yet.
func (l *link) waiting() (found bool) {
	_ = l.raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, 0)
		found = err == nil && n == 1 && p[0].Revents == unix.POLLIN
	})
	return found
}

// serve hands on what the unit sends, until the device is closed. It reads what
// there is before it hands that on, so that those who are woken for it find several
// packets rather than one each time.
func (l *link) serve() error {
	batch := make([]received, batchSize)
	defer func() {
		for i := range batch {
			batch[i].free()
		}
	}()
	for {
		n, err := l.read(batch)
		if err != nil {
			return err
		}
		for i := range batch[:n] {
			if version, packet, ok := batch[i].take(); ok {
				l.deliver(version, packet)
			}
		}
	}
}

const (
	// batchSize is how many packets are read at a time.
	batchSize = 16
	// frontBytes are enough for the longest headers: of IPv6 and TCP with options.
	frontBytes = 128
	// small is up to where the rest of a packet is copied rather than given the
	// memory that the largest one needs.
	small = 8 << 10
)

// received is where a packet is read to. What the stack reads of it and what it only
// passes on are apart: it copies what it reads.
type received struct {
	head  [vnetHeader + ethHeader]byte
	front [frontBytes]byte
	rest  *buffer.View
	n     int // bytes of the packet, without the head
}

func (r *received) read(fd, head int) error {
	if r.rest == nil {
		r.rest = buffer.NewViewSize(mtu)
	}
	for {
		n, err := unix.Readv(fd, [][]byte{r.head[:head], r.front[:], r.rest.AsSlice()})
		if r.n = n - head; !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// take gives the packet, if it is one for the stack.
func (r *received) take() (version byte, b buffer.Buffer, ok bool) {
	front := r.front[:min(max(r.n, 0), frontBytes)]
	if several(r.head[:]) || !clean(front) {
		return 0, b, false
	}
	b = buffer.MakeWithView(buffer.NewViewWithData(front))
	switch more := r.n - frontBytes; {
	case more > small:
		r.rest.CapLength(more)
		_ = b.Append(r.rest)
		r.rest = nil
	case more > 0:
		_ = b.Append(buffer.NewViewWithData(r.rest.AsSlice()[:more]))
	}
	return front[0] >> 4, b, true
}

func (r *received) free() {
	if r.rest != nil {
		r.rest.Release()
		r.rest = nil
	}
}

// read waits for a packet and reads those that are there.
func (l *link) read(batch []received) (n int, err error) {
	head := vnetHeader
	if l.ethernet {
		head += ethHeader
	}
	failed := l.raw.Read(func(fd uintptr) bool {
		for n < len(batch) {
			if err = batch[n].read(int(fd), head); err != nil {
				break
			}
			n++
		}
		return n > 0 || !errors.Is(err, unix.EAGAIN)
	})
	if n > 0 {
		return n, nil // an error comes again
	}
	return 0, errors.Join(failed, err)
}

func (l *link) deliver(version byte, b buffer.Buffer) {
	protocol := header.IPv4ProtocolNumber
	if version == 6 {
		protocol = header.IPv6ProtocolNumber
	}
	l.mu.RLock()
	to := l.attach
	l.mu.RUnlock()
	packet := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: b})
	defer packet.DecRef()
	if to != nil {
		packet.RXChecksumValidated = true
		to.DeliverNetworkPacket(protocol, packet)
	}
}

// WritePackets sends to the unit.
func (l *link) WritePackets(list stack.PacketBufferList) (int, tcpip.Error) {
	for i, packet := range list.AsSlice() {
		if err := l.write(packet); err != nil {
			return i, &tcpip.ErrAborted{}
		}
	}
	return list.Len(), nil
}

func (l *link) write(packet *stack.PacketBuffer) (err error) {
	views, offset := packet.AsViewList()
	list := append(make([][]byte, 0, 8), vnet(packet, l.ethernet))
	for v := views.Front(); v != nil && err == nil; v = v.Next() {
		b := v.AsSlice()
		if offset >= len(b) {
			offset -= len(b)
			continue
		}
		list = append(list, b[offset:])
		offset = 0
	}
	failed := l.raw.Write(func(fd uintptr) bool {
		for {
			_, err = unix.Writev(int(fd), list)
			if !errors.Is(err, unix.EINTR) {
				return !errors.Is(err, unix.EAGAIN)
			}
		}
	})
	// A packet that the device doesn't take is lost, as on any link.
	return failed
}

// The rest of stack.LinkEndpoint.

// Attach is told where packets go.
func (l *link) Attach(to stack.NetworkDispatcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attach = to
}

// IsAttached reports whether they go anywhere.
func (l *link) IsAttached() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.attach != nil
}

// Capabilities: no checksum is made or looked at here; the kernel does where a
// packet leaves the machine's memory, and none of these does.
func (l *link) Capabilities() stack.LinkEndpointCapabilities {
	return stack.CapabilityTXChecksumOffload | stack.CapabilityRXChecksumOffload
}

// MTU is the device's.
func (l *link) MTU() uint32 { return mtu }

// ARPHardwareType is none.
func (l *link) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareNone }

// A TUN device has no link layer.

func (l *link) SetMTU(uint32)                        {}
func (l *link) MaxHeaderLength() uint16              { return 0 }
func (l *link) LinkAddress() tcpip.LinkAddress       { return "" }
func (l *link) SetLinkAddress(tcpip.LinkAddress)     {}
func (l *link) AddHeader(*stack.PacketBuffer)        {}
func (l *link) ParseHeader(*stack.PacketBuffer) bool { return true }
func (l *link) SetOnCloseAction(func())              {}
func (l *link) Wait()                                {}
func (l *link) Close()                               {}
