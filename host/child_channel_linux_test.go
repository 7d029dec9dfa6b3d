package host

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func pair(t testing.TB) (a, b *channel) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, b = newChannel(fds[0], maxFrame, false), newChannel(fds[1], maxSetup, true)
	t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
	return a, b
}

// TestFramesOfAllSizes sends messages and takes them in other portions.
func TestFramesOfAllSizes(t *testing.T) {
	a, b := pair(t)
	sizes := []int{0, 1, 7, 100, channelBuffer - 20, channelBuffer, channelBuffer + 1, 3 * channelBuffer, 1 << 20, 0, 5}
	go func() {
		for _, n := range sizes {
			if err := a.send(kindFault, &fault{string(bytes.Repeat([]byte{'x'}, n))}); err != nil {
				t.Error(err)
			}
		}
	}()
	for _, n := range sizes {
		k, payload, err := b.receive()
		var f fault
		if err == nil {
			err = decode(payload, &f)
		}
		if err != nil || k != kindFault || len(f.Text) != n {
			t.Fatalf("got %#x of %d bytes, %v, want %d", byte(k), len(f.Text), err, n)
		}
	}
}

func TestDescriptorsComeAlong(t *testing.T) {
	a, b := pair(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	before := openFiles(t)
	for _, n := range []int{1, 3, maxSent, maxSent + 1, 2*maxSent + 7} {
		fds := make([]int, n)
		for i := range fds {
			fds[i] = int(null.Fd())
		}
		go a.send(kindSetup, &setup{Hidden: []string{"something"}}, fds...)
		if _, _, err := b.receive(); err != nil {
			t.Fatal(err)
		}
		got := b.descriptors()
		if len(got) != n {
			t.Errorf("got %d descriptors, want %d", len(got), n)
		}
		for _, fd := range got {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("descriptor %d: flags %#x, %v", fd, flags, err)
			}
			unix.Close(fd)
		}
	}
	// A side that takes none is handed none.
	if err := b.send(kindFault, &fault{"x"}, int(null.Fd())); err != nil {
		t.Fatal(err)
	}
	if k, _, err := a.receive(); err != nil || k != kindFault {
		t.Errorf("got %#x, %v", byte(k), err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors are open, before it were %d", after, before)
	}
}

func TestEndsAndHalves(t *testing.T) {
	a, b := pair(t)
	unix.Write(a.fd, []byte{3, 0, 0})
	unix.Shutdown(a.fd, unix.SHUT_WR)
	if _, _, err := b.receive(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a header: got %v", err)
	}
	a, b = pair(t)
	unix.Shutdown(a.fd, unix.SHUT_WR)
	if _, _, err := b.receive(); !errors.Is(err, io.EOF) {
		t.Errorf("nothing: got %v", err)
	}
	a, b = pair(t)
	unix.Write(a.fd, []byte{0xff, 0xff, 0xff, 0x7f, 1})
	if _, _, err := b.receive(); !errors.Is(err, errNonsense) {
		t.Errorf("two gigabytes: got %v", err)
	}
}

// TestAnnouncedIsNotAllocated: a length in a header takes no memory before the
// bytes are there.
func TestAnnouncedIsNotAllocated(t *testing.T) {
	a, b := pair(t)
	go func() {
		unix.Write(b.fd, []byte{0, 0, maxFrame >> 16, 0, byte(kindFault)})
		unix.Write(b.fd, make([]byte, 200<<10))
		unix.Shutdown(b.fd, unix.SHUT_WR)
	}()
	if _, _, err := a.receive(); err == nil {
		t.Error("a message was made of half of it")
	}
	if cap(a.have) > 1<<20 {
		t.Errorf("%d bytes were set aside for 200 kB", cap(a.have))
	}
}

// TestFullSocketGivesUp when whoever writes has no time left, and not within a
// frame.
func TestFullSocketGivesUp(t *testing.T) {
	a, b := pair(t)
	stop := errors.New("time is up")
	deadline := time.Now().Add(100 * time.Millisecond)
	sent := 0
	for {
		err := b.output(streamStdout, make([]byte, 32<<10), func() error {
			if time.Now().After(deadline) {
				return stop
			}
			return nil
		})
		if err != nil {
			if !errors.Is(err, stop) {
				t.Errorf("got %v", err)
			}
			break
		}
		if sent++; sent > 1000 {
			t.Fatal("a socket of more than 30 MB")
		}
		if sent == 3 {
			go func() { // someone reads a little, within a frame
				time.Sleep(50 * time.Millisecond)
				for range 3 {
					a.receive()
				}
			}()
		}
	}
	if sent == 0 {
		t.Error("nothing was sent")
	}
}

func TestPageKeepsItsSize(t *testing.T) {
	m, err := newMapping()
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if err := unix.Ftruncate(m.fd, 0); err == nil {
		t.Error("the shared page can be cut, which would end whoever looks at it")
	}
	other, err := mapPage(m.fd)
	if err != nil {
		t.Fatal(err)
	}
	other.cancel.Store(7)
	if m.cancel.Load() != 7 {
		t.Error("the page isn't shared")
	}
	other.fd = -1 // it is m's
	other.close()
}
