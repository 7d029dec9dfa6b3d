package execwatch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// group is what the kernel asks through.
type group struct {
	*os.File
	fd int
}

func newGroup() (group, error) {
	// Without limits: a queue that is full lets everything through.
	flags := uint(unix.FAN_CLASS_CONTENT | unix.FAN_CLOEXEC | unix.FAN_NONBLOCK | unix.FAN_REPORT_TID |
		unix.FAN_UNLIMITED_QUEUE | unix.FAN_UNLIMITED_MARKS)
	fd, err := unix.FanotifyInit(flags, unix.O_RDONLY|unix.O_LARGEFILE|unix.O_CLOEXEC)
	if err != nil {
		return group{}, os.NewSyscallError("fanotify_init", err)
	}
	return group{os.NewFile(uintptr(fd), "fanotify"), fd}, nil
}

// mark adds or removes what is asked about a file, or of its whole mount.
func (g group) mark(flags uint, mask uint64, fd int) error {
	// By a path, because a place can't be named by its descriptor alone.
	err := unix.FanotifyMark(g.fd, flags, mask, unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd))
	return os.NewSyscallError("fanotify_mark", err)
}

// event is one question: a thread waits for the answer.
type event struct {
	mask uint64
	file *os.File
	tid  int
}

// answer lets the thread go on, or fails its call with EPERM.
func (g group) answer(e event, allowed bool) {
	response := uint32(unix.FAN_DENY)
	if allowed {
		response = unix.FAN_ALLOW
	}
	b := binary.NativeEndian.AppendUint32(nil, uint32(e.file.Fd()))
	// It fails only for a thread that was killed while it waited.
	_, _ = unix.Write(g.fd, binary.NativeEndian.AppendUint32(b, response))
	e.file.Close()
}

// listen gives each question to a handler, until the group is closed.
func (g group) listen(handle func(event)) error {
	buffer := make([]byte, 4096)
	for {
		n, err := g.Read(buffer)
		switch {
		case errors.Is(err, os.ErrClosed):
			return nil
		case err != nil && !passes(err):
			return err
		}
		events, err := parseEvents(buffer[:max(n, 0)])
		for _, e := range events {
			handle(e)
		}
		if err != nil {
			return err
		}
	}
}

// passes names the failures that concern one question, which the kernel has then
// answered with a refusal: the file couldn't be opened for us.
func passes(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENXIO, unix.EACCES, unix.EPERM, unix.ENOENT, unix.ESTALE, unix.EINTR, unix.ENOMEM, unix.EIO, unix.ETXTBSY} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// The layout of the kernel's fanotify_event_metadata.
const (
	metadataLength = 24
	atVersion      = 4
	atMask         = 8
	atDescriptor   = 16
	atThread       = 20
)

func parseEvents(b []byte) (list []event, err error) {
	for len(b) >= metadataLength {
		n := int(binary.NativeEndian.Uint32(b))
		if v := b[atVersion]; v != unix.FANOTIFY_METADATA_VERSION {
			return list, fmt.Errorf("fanotify: got version %d, want %d", v, unix.FANOTIFY_METADATA_VERSION)
		}
		if n < metadataLength || n > len(b) {
			return list, fmt.Errorf("fanotify: an event of %d bytes in %d", n, len(b))
		}
		fd := int32(binary.NativeEndian.Uint32(b[atDescriptor:]))
		if fd < 0 {
			return list, fmt.Errorf("fanotify: questions were lost, mask %#x", binary.NativeEndian.Uint64(b[atMask:]))
		}
		list = append(list, event{
			mask: binary.NativeEndian.Uint64(b[atMask:]),
			file: os.NewFile(uintptr(fd), "fanotify event"),
			tid:  int(int32(binary.NativeEndian.Uint32(b[atThread:]))),
		})
		b = b[n:]
	}
	return list, nil
}
