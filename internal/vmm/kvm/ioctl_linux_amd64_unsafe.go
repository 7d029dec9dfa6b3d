//go:build linux && amd64

package kvm

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls of /dev/kvm, as linux/kvm.h numbers them: the size of what the argument
// points to is part of the number.
const (
	apiVersion     = 0xae00
	createVM       = 0xae01
	checkExtension = 0xae03
	runAreaSize    = 0xae04
	supportedCPUID = 0xc008ae05
	createVCPU     = 0xae41
	setMemory      = 0x4020ae46
	setTSS         = 0xae47
	setIdentity    = 0x4008ae48
	runVCPU        = 0xae80
	getRegs        = 0x8090ae81
	setRegs        = 0x4090ae82
	getSregs       = 0x8138ae83
	setSregs       = 0x4138ae84
	setCPUID       = 0x4008ae90
	enableCap      = 0x4068aea3
)

func ioctl(fd int, request, arg uintptr) (int, error) {
	r, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, arg)
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}

// ioctlWith hands over bytes that the kernel reads, writes or both.
func ioctlWith(fd int, request uintptr, b []byte) error {
	_, err := ioctl(fd, request, uintptr(unsafe.Pointer(&b[0])))
	runtime.KeepAlive(b)
	return err
}

// slot puts memory into the guest's physical address space.
func (m *Machine) slot(number uint32, frame uint64, mem []byte) error {
	b := make([]byte, 32)
	binary.LittleEndian.PutUint32(b, number)
	binary.LittleEndian.PutUint64(b[8:], frame)
	binary.LittleEndian.PutUint64(b[16:], uint64(len(mem)))
	binary.LittleEndian.PutUint64(b[24:], uint64(uintptr(unsafe.Pointer(&mem[0]))))
	return ioctlWith(m.vm, setMemory, b)
}

// leave tells the kernel to come back at once from a run that begins now. The byte
// lies in a word of which nobody writes the rest while a run goes on.
func (m *Machine) leave() {
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&m.run[0])), 1<<8)
}
