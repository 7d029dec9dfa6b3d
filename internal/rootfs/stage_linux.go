package rootfs

import (
	"fmt"
	"io"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
)

// stageDir takes the files of one layer into a folder of ours, under numbers. It is
// for one goroutine.
type stageDir struct {
	fd    int
	layer int
	next  uint32
	buf   []byte
}

const stageBuffer = 256 << 10

// take is a [sink].
func (s *stageDir) take(r io.Reader, c *content) error {
	return s.put(c, func(fd int) (err error) {
		c.b3, err = copyHashed(fd, r, c.size, s.buf)
		return err
	})
}

// put makes a file for a content and has it filled.
func (s *stageDir) put(c *content, fill func(fd int) error) error {
	if s.buf == nil {
		s.buf = make([]byte, stageBuffer)
	}
	c.staged = staged{s.layer, s.next}
	s.next++
	fd, err := createAt(s.fd, c.staged.name())
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := fill(fd); err != nil {
		return err
	}
	return chmodFD(fd, c.mode) // after the last write, which would take setuid away
}

func (s staged) name() string { return strconv.FormatUint(uint64(s.file), 10) }

// copyHashed writes exactly size bytes and addresses them. What fits the buffer is
// written at once.
func copyHashed(fd int, r io.Reader, size int64, buf []byte) (id joulebox.ID, err error) {
	if size <= int64(len(buf)) {
		buf = buf[:size]
		if _, err := io.ReadFull(r, buf); err != nil {
			return id, early(err)
		}
		return joulebox.Sum(buf), writeAll(fd, buf)
	}
	h := joulebox.NewHasher()
	for size > 0 {
		part := buf[:min(size, int64(len(buf)))]
		if _, err := io.ReadFull(r, part); err != nil {
			return id, early(err)
		}
		h.Write(part)
		if err := writeAll(fd, part); err != nil {
			return id, err
		}
		size -= int64(len(part))
	}
	return h.ID(), nil
}

// hashRead addresses a file of exactly size bytes from where it is open.
func hashRead(fd int, size int64, buf []byte) (id joulebox.ID, err error) {
	h := joulebox.NewHasher()
	for {
		n, err := again(func() (int, error) { return unix.Read(fd, buf) })
		if err != nil {
			return id, named("read", "", err)
		}
		if n == 0 && size == 0 {
			return h.ID(), nil
		}
		if size -= int64(n); n == 0 || size < 0 {
			return id, errChanged
		}
		h.Write(buf[:n])
	}
}

func early(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func createAt(dir int, name string) (fd int, err error) {
	fd, err = again(func() (int, error) {
		return unix.Openat(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	})
	return fd, named("create", name, err)
}

// again repeats a system call that a signal came into.
func again(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// fdReader reads a descriptor that stays its owner's.
type fdReader int

func (r fdReader) Read(p []byte) (int, error) {
	n, err := again(func() (int, error) { return unix.Read(int(r), p) })
	if n == 0 && err == nil && len(p) > 0 {
		err = io.EOF
	}
	return max(n, 0), err
}

func writeAll(fd int, p []byte) error {
	for len(p) > 0 {
		n, err := again(func() (int, error) { return unix.Write(fd, p) })
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		p = p[n:]
	}
	return nil
}

func chmodFD(fd int, mode uint32) error {
	_, err := again(func() (int, error) { return 0, unix.Fchmod(fd, mode) })
	return named("chmod", "", err)
}

// named says what was done to what.
func named(what, name string, err error) error {
	if err == nil {
		return nil
	}
	if name == "" {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s %q: %w", what, name, err)
}
