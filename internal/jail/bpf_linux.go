//go:build amd64 || arm64

package jail

import "golang.org/x/sys/unix"

// Offsets into the kernel's seccomp_data.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16 // six of 8 bytes, the low half first on both processors
)

// What a filter answers.
const (
	allow = unix.SECCOMP_RET_ALLOW
	kill  = unix.SECCOMP_RET_KILL_PROCESS
)

func fail(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// program is a seccomp filter in the making.
type program []unix.SockFilter

func (p *program) add(code uint16, k uint32, jt, jf uint8) {
	*p = append(*p, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (p *program) load(offset uint32) { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }

func (p *program) answer(a uint32) { p.add(unix.BPF_RET|unix.BPF_K, a, 0, 0) }

// skipUnlessEqual passes over the next n statements unless the value is k.
func (p *program) skipUnlessEqual(k uint32, n int) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, uint8(n))
}

// skipUnlessAny passes over the next n statements unless the value has any of
// the bits.
func (p *program) skipUnlessAny(bits uint32, n int) {
	p.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, bits, 0, uint8(n))
}

// begin answers for calls of another processor's table, which have other numbers,
// and loads the number.
func (p *program) begin() {
	p.load(dataArch)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, auditArch, 1, 0)
	p.answer(kill)
	p.load(dataNumber)
	if otherTable != 0 {
		p.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, otherTable, 0, 1)
		p.answer(kill)
	}
}

// each answers a for every call listed.
func (p *program) each(a uint32, calls []uintptr) {
	for _, nr := range calls {
		p.skipUnlessEqual(uint32(nr), 1)
		p.answer(a)
	}
}

// argIn allows a call when the low half of an argument is one of the values; the
// kernel takes such arguments as ints.
func (p *program) argIn(nr uintptr, arg uint32, values []uint32, otherwise uint32) {
	p.skipUnlessEqual(uint32(nr), 2*len(values)+2)
	p.load(dataArgs + 8*arg)
	for _, v := range values {
		p.skipUnlessEqual(v, 1)
		p.answer(allow)
	}
	p.answer(otherwise)
}

// argLacks allows a call when an argument has none of the bits.
func (p *program) argLacks(nr uintptr, arg uint32, bits uint32, otherwise uint32) {
	p.skipUnlessEqual(uint32(nr), 4)
	p.load(dataArgs + 8*arg)
	p.skipUnlessAny(bits, 1)
	p.answer(otherwise)
	p.answer(allow)
}

// argHas allows a call when an argument has all of one set of bits and none of
// another.
func (p *program) argHas(nr uintptr, arg uint32, want, never uint32, otherwise uint32) {
	p.skipUnlessEqual(uint32(nr), 7)
	p.load(dataArgs + 8*arg)
	p.skipUnlessAny(never, 1)
	p.answer(otherwise)
	p.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, want, 0, 0)
	p.skipUnlessEqual(want, 1)
	p.answer(allow)
	p.answer(otherwise)
}
