//go:build linux && (amd64 || arm64)

package cell

import (
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notice is the kernel's struct seccomp_notif.
type notice struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// response is the kernel's struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// newQuestions is a listener that the runtime can wait for.
func newQuestions(fd int) *os.File {
	_ = unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), "questions")
}

// answer refuses what the filter asks about and notes it, until nothing is left
// that could ask.
func (c *Cell) answer() {
	raw, err := c.questions.SyscallConn()
	if err != nil {
		return
	}
	for err == nil {
		err = raw.Read(func(fd uintptr) bool {
			ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if n, err := unix.Poll(ready, 0); err != nil || n == 0 {
				return errors.Is(err, unix.EINTR)
			}
			if ready[0].Revents&unix.POLLIN == 0 {
				return false // nothing is left; clean closes it
			}
			var n notice
			if seccompIoctl(int(fd), unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)) != nil {
				return true
			}
			if c.spec.Observe != nil && observed(int(n.nr)) {
				c.observe(int(fd), n)
				return true
			}
			if c.spec.Limits.Programs != nil && forks(n) {
				c.answerFork(int(fd), n)
				return true
			}
			if c.spec.Unreachable != nil && n.nr == unix.SYS_CONNECT {
				c.connectNowhere(int(fd), n)
				return true
			}
			c.probes.add(probeName(int(n.nr)))
			reply(int(fd), n, unix.EPERM)
			return true
		})
	}
}

// answer does the same in the first process, where it also makes connections in
// the unit's stead; see gate.
func (i *inner) answer() {
	runtime.LockOSThread()
	if err := dropBut(unix.CAP_SYS_PTRACE); err != nil {
		os.Exit(1)
	}
	for {
		var n notice
		if err := seccompIoctl(i.questions, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
			if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOENT) { // who asked has been ended
				continue
			}
			return
		}
		if n.nr == unix.SYS_CONNECT {
			i.connect(n)
			continue
		}
		if i.order.Counted && forks(n) {
			i.answerFork(n)
			continue
		}
		if name := probeName(int(n.nr)); i.probes.add(name) {
			w := word(name)
			_ = i.link.send(kindProbe, &w)
		}
		i.reply(n, unix.EPERM)
	}
}

// beginFork lets the thread that is about to start the unit do it: nobody answers
// yet.
func (i *inner) beginFork() {
	go func() {
		mustDropThread()
		var n notice
		for seccompIoctl(i.questions, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)) == unix.EINTR {
		}
		goOn(i.questions, n)
	}()
}

// reply answers with an error, or with success.
func (i *inner) reply(n notice, errno unix.Errno) { reply(i.questions, n, errno) }

func reply(questions int, n notice, errno unix.Errno) {
	r := response{id: n.id, errno: -int32(errno)}
	_ = seccompIoctl(questions, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) // who asked may be gone
}

// goOn has a call made after all.
func goOn(questions int, n notice) {
	r := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	_ = seccompIoctl(questions, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) // who asked may be gone
}

// valid reports whether who asked is still waiting, so that its number isn't
// someone else's.
func (i *inner) valid(n notice) bool {
	id := n.id
	return seccompIoctl(i.questions, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id)) == nil
}

// memory reads what a process has at an address.
func memory(pid int, at uintptr, b []byte) error {
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: at, Len: len(b)}}, 0)
	if err == nil && n < len(b) {
		err = unix.EFAULT
	}
	return err
}

// connectTo is connect with an address as the kernel has it.
func connectTo(fd int, address []byte) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(address))), uintptr(len(address)))
	runtime.KeepAlive(address)
	return errno
}

func seccompIoctl(fd int, request uint, p unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(p))
	runtime.KeepAlive(p)
	if errno != 0 {
		return errno
	}
	return nil
}
