//go:build amd64 || arm64

package cell

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// kind is what a message between the two processes is about.
type kind byte

const (
	kindBase    kind = iota + 1 // to init: what to begin with
	kindOrder                   // to init: the order, with descriptors
	kindGo                      // to init: the hold is over
	kindHold                    // from init: the view is complete, with descriptors
	kindStarted                 // from init: the unit runs, with descriptors
	kindProbe                   // from init: what was tried
	kindEnd                     // from init: how the main process ended
	kindFault                   // from init: why there is no cell
	kindCrowded                 // from init: a process wasn't made
	kindNowhere                 // from init: an address that can't be reached
)

// maxMessage bounds a message: arguments and environment fit with room to spare,
// as the kernel bounds those.
const maxMessage = 16 << 20

// maxHanded is how many descriptors one message can have, by the kernel.
const maxHanded = 250

// link is one end of the socket between the two. What is sent begins with its
// length and kind; descriptors come with the first bytes of a message or with
// single bytes after it.
type link struct {
	fd      int
	sending sync.Mutex
	in      []byte // received, not yet taken
	// files are descriptors that came and weren't taken.
	files []int
}

func (l *link) send(k kind, m message, fds ...int) error {
	body, err := encode(m)
	if err != nil {
		return err
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	head = binary.BigEndian.AppendUint32(head, uint32(len(fds)))
	message := append(append(head, byte(k)), body...)
	l.sending.Lock()
	defer l.sending.Unlock()
	first := fds[:min(len(fds), maxHanded)]
	n, err := l.push(message, first)
	for err == nil && n < len(message) {
		var w int
		w, err = l.push(message[n:], nil)
		n += w
	}
	for rest := fds[len(first):]; err == nil && len(rest) > 0; {
		some := rest[:min(len(rest), maxHanded)]
		_, err = l.push([]byte{0}, some)
		rest = rest[len(some):]
	}
	return err
}

func (l *link) push(b []byte, fds []int) (n int, err error) {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	for {
		n, err = unix.SendmsgN(l.fd, b, rights, nil, unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			return n, os.NewSyscallError("sendmsg", err)
		}
	}
}

const headSize = 9

// receive waits for a message. The descriptors are the caller's.
func (l *link) receive() (k kind, body []byte, fds []int, err error) {
	for len(l.in) < headSize {
		if err := l.pull(headSize); err != nil {
			return 0, nil, nil, err
		}
	}
	size, handed := int(binary.BigEndian.Uint32(l.in)), int(binary.BigEndian.Uint32(l.in[4:]))
	if size > maxMessage || handed > maxMessage {
		return 0, nil, nil, fmt.Errorf("a message of %d bytes and %d descriptors", size, handed)
	}
	extra := max(0, (handed-1)/maxHanded) // bytes that brought the other descriptors
	for len(l.in) < headSize+size+extra {
		if err := l.pull(headSize + size + extra); err != nil {
			return 0, nil, nil, err
		}
	}
	if len(l.files) < handed {
		return 0, nil, nil, fmt.Errorf("got %d descriptors, want %d; too many may be open", len(l.files), handed)
	}
	k, body, fds = kind(l.in[8]), l.in[headSize:headSize+size], l.files[:handed:handed]
	l.in, l.files = l.in[headSize+size+extra:], l.files[handed:]
	return k, body, fds, nil
}

// pull reads some of what is needed until there are so many bytes.
func (l *link) pull(want int) error {
	b := make([]byte, max(want-len(l.in), 4096))
	rights := make([]byte, unix.CmsgSpace(4*maxHanded))
	n, m, _, _, err := unix.Recvmsg(l.fd, b, rights, unix.MSG_CMSG_CLOEXEC)
	if errors.Is(err, unix.EINTR) {
		return nil
	}
	if err != nil {
		return os.NewSyscallError("recvmsg", err)
	}
	if n == 0 {
		return io.EOF
	}
	list, err := unix.ParseSocketControlMessage(rights[:m])
	for _, c := range list {
		fds, _ := unix.ParseUnixRights(&c)
		l.files = append(l.files, fds...)
	}
	l.in = append(l.in, b[:n]...)
	return err
}

// end is how the main process ended, as init saw it.
type end struct{ Status syscall.WaitStatus }

func (e *end) fields(c *codec) { number(c, &e.Status) }

// nothing is a message that says all by its kind.
type nothing struct{}

func (nothing) fields(*codec) {}

// word is a name.
type word string

func (w *word) fields(c *codec) { c.text((*string)(w)) }

// fault is an error of init's. Missing names a mechanism that the cell can't do
// without; Op, Path and Errno are those of a call that failed for a path.
type fault struct {
	Missing, Err, Op, Path string
	Errno                  syscall.Errno
}

func (f *fault) fields(c *codec) {
	for _, t := range []*string{&f.Missing, &f.Err, &f.Op, &f.Path} {
		c.text(t)
	}
	number(c, &f.Errno)
}

func faultOf(err error) *fault {
	f := &fault{Err: err.Error()}
	var n *needError
	if errors.As(err, &n) {
		f.Missing, f.Err = n.mechanism, n.err.Error()
	}
	var p *os.PathError
	if errors.As(err, &p) && errors.As(p.Err, &f.Errno) {
		f.Op, f.Path = p.Op, p.Path
	}
	return f
}

// error is the error again. Of a path's it is an *os.PathError.
func (f *fault) error() error {
	switch {
	case f.Missing != "":
		return missing(f.Missing, errors.New(f.Err))
	case f.Errno != 0:
		return fmt.Errorf("cell: %w", &os.PathError{Op: f.Op, Path: f.Path, Err: f.Errno})
	}
	return fmt.Errorf("cell: %s", f.Err)
}
