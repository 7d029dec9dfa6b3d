//go:build amd64 || arm64

package cell

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/jail"
)

// A socket in a granted folder may be somebody's outside: to connect to it isn't to
// read or to write files. Landlock tells the two apart from version 9 on. Before,
// all connections are made here, with an address that the unit can't change any
// more, and none to a path that isn't the cell's own. Datagrams, which have their
// address in each message, there are none between paths then.

// gated reports whether that is needed.
func (o *order) gated(version int) bool { return version < landlockUnix && len(o.Mounts) > 0 }

// landlockUnix is the version that knows sockets with a path.
const landlockUnix = 9

// maxAddress is the longest address of a socket.
const maxAddress = 128

// connect connects a unit's socket, and answers with what came of it.
func (i *inner) connect(n notice) {
	fd, address, errno := i.asked(n)
	if errno != 0 {
		i.reply(n, errno)
		return
	}
	if !blocks(fd) {
		errno := i.connectChecked(n, fd, address)
		unix.Close(fd)
		i.reply(n, errno)
		return
	}
	go func() { // others shall not wait for it
		mustDropThread()
		errno := i.connectChecked(n, fd, address)
		unix.Close(fd)
		i.reply(n, errno)
	}()
}

// asked is the socket and the address of a call, as copies of ours.
func (i *inner) asked(n notice) (fd int, address []byte, errno unix.Errno) {
	size := n.args[2]
	if size < 2 || size > maxAddress {
		return -1, nil, unix.EINVAL
	}
	pidfd, err := unix.PidfdOpen(processOf(int(n.pid)), 0)
	if err != nil {
		return -1, nil, unix.EACCES
	}
	defer unix.Close(pidfd)
	fd, err = unix.PidfdGetfd(pidfd, int(int32(n.args[0])), 0)
	if err != nil {
		return -1, nil, as(err, unix.EBADF)
	}
	address = make([]byte, size)
	if err = memory(int(n.pid), uintptr(n.args[1]), address); err == nil && !i.valid(n) {
		err = unix.ESRCH
	}
	if err != nil {
		unix.Close(fd)
		return -1, nil, as(err, unix.EFAULT)
	}
	return fd, address, 0
}

// as is an error's number.
func as(err error, otherwise unix.Errno) (errno unix.Errno) {
	if errors.As(err, &errno) {
		return errno
	}
	return otherwise
}

// processOf is the process that a thread belongs to.
func processOf(tid int) int {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	if pid, err := strconv.Atoi(statusLine(string(b), "Tgid")); err == nil {
		return pid
	}
	return tid
}

// blocks reports whether connecting a socket may take its time.
func blocks(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	domain, domainErr := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	return err == nil && domainErr == nil && flags&unix.O_NONBLOCK == 0 && domain != unix.AF_NETLINK
}

func (i *inner) connectChecked(n notice, fd int, address []byte) unix.Errno {
	if binary.NativeEndian.Uint16(address) != unix.AF_UNIX || len(address) == 2 || address[2] == 0 {
		errno := connectTo(fd, address) // no path; what the network is is the cell's
		if to, ok := destination(address); ok && i.order.Nowhere && errno != 0 && outward(to) {
			w := word(to.String())
			_ = i.link.send(kindNowhere, &w)
		}
		return errno
	}
	name, _, _ := bytes.Cut(address[2:], []byte{0})
	at, err := i.own(int(n.pid), string(name))
	if err != nil {
		return as(err, unix.EACCES)
	}
	defer unix.Close(at)
	path := append(binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX), "/proc/self/fd/"+strconv.Itoa(at)...)
	errno := connectTo(fd, append(path, 0))
	runtime.KeepAlive(path)
	return errno
}

// destination is the address of a connection, if it is the internet's.
func destination(b []byte) (to netip.AddrPort, ok bool) {
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_INET && len(b) >= unix.SizeofSockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:])), true
	case family == unix.AF_INET6 && len(b) >= unix.SizeofSockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), binary.BigEndian.Uint16(b[2:])), true
	}
	return to, false
}

// outward reports whether an address isn't the unit's own loopback. Port 0 is that of
// who only asks which way it would be.
func outward(to netip.AddrPort) bool {
	a := to.Addr().Unmap()
	return !a.IsLoopback() && !a.IsUnspecified() && to.Port() != 0
}

// connectNowhere tells where a connection would go to and fails it, if it would leave
// the cell. There is no way out, whatever the address is by now.
func (c *Cell) connectNowhere(questions int, n notice) {
	b := make([]byte, min(n.args[2], maxAddress))
	if len(b) >= 2 && memory(int(n.pid), uintptr(n.args[1]), b) == nil {
		if to, ok := destination(b); ok && outward(to) {
			c.spec.Unreachable(netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
			reply(questions, n, unix.ENETUNREACH)
			return
		}
	}
	goOn(questions, n)
}

// own opens a path of a process, if what is there is the cell's own.
func (i *inner) own(tid int, name string) (fd int, err error) {
	dir := unix.AT_FDCWD
	if !strings.HasPrefix(name, "/") {
		if dir, err = unix.Open("/proc/"+strconv.Itoa(tid)+"/cwd", unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
			return -1, err
		}
		defer unix.Close(dir)
	}
	fd, err = unix.Openat2(dir, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && !i.view.owned[uint64(st.Dev)] {
		err = unix.EACCES
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// gate has connections asked about.
func gate(f *jail.Filter) {
	f.Answer(jail.Notify, unix.SYS_CONNECT)
	const kinds = 0xf // the rest are flags
	f.ArgUnless(unix.SYS_SOCKET, 0, families, unix.AF_UNIX, 1, kinds, unix.SOCK_DGRAM, jail.Fail(unix.EAFNOSUPPORT))
	f.ArgUnless(unix.SYS_SOCKETPAIR, 0, families[:1], unix.AF_UNIX, 1, kinds, unix.SOCK_DGRAM, jail.Fail(unix.EAFNOSUPPORT))
}
