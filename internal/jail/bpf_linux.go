//go:build amd64 || arm64

package jail

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

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

// dispatch is what becomes of each call: a program of its own, or the rest. Most
// are one answer. The kernel runs a filter for each of its calls when it is
// installed, to learn which are always allowed, so the way to every answer has to
// be short: a search over ranges of numbers.
type dispatch map[uintptr]program

// each answers a for every call listed.
func (d dispatch) each(a uint32, calls []uintptr) {
	for _, nr := range calls {
		var p program
		p.answer(a)
		d[nr] = p
	}
}

// argIn allows a call when the low half of an argument is one of the values; the
// kernel takes such arguments as ints.
func (d dispatch) argIn(nr uintptr, arg uint32, values []uint32, otherwise uint32) {
	var p program
	p.load(dataArgs + 8*arg)
	for _, v := range values {
		p.skipUnlessEqual(v, 1)
		p.answer(allow)
	}
	p.answer(otherwise)
	d[nr] = p
}

// argLacks allows a call when an argument has none of the bits.
func (d dispatch) argLacks(nr uintptr, arg uint32, bits uint32, otherwise uint32) {
	var p program
	p.load(dataArgs + 8*arg)
	p.skipUnlessAny(bits, 1)
	p.answer(otherwise)
	p.answer(allow)
	d[nr] = p
}

// argHas allows a call when an argument has all of one set of bits and none of
// another.
func (d dispatch) argHas(nr uintptr, arg uint32, want, never uint32, otherwise uint32) {
	var p program
	p.load(dataArgs + 8*arg)
	p.skipUnlessAny(never, 1)
	p.answer(otherwise)
	p.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, want, 0, 0)
	p.skipUnlessEqual(want, 1)
	p.answer(allow)
	p.answer(otherwise)
	d[nr] = p
}

// filter is the whole program. Calls of another processor's table, which have
// other numbers, are answered with kill, and what isn't in the table with
// otherwise.
func (d dispatch) filter(otherwise uint32) program {
	var p program
	p.load(dataArch)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, auditArch, 1, 0)
	p.answer(kill)
	p.load(dataNumber)
	if otherTable != 0 {
		p.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, otherTable, 0, 1)
		p.answer(kill)
	}
	return append(p, search(d.ranges(otherwise))...)
}

// numbers are calls from first up to the next range, with one program.
type numbers struct {
	first uint32
	do    program
}

func (d dispatch) ranges(otherwise uint32) (list []numbers) {
	var rest program
	rest.answer(otherwise)
	add := func(first uint32, do program) {
		if n := len(list); n == 0 || !slices.Equal(list[n-1].do, do) {
			list = append(list, numbers{first, do})
		}
	}
	next := uint32(0)
	for _, nr := range slices.Sorted(maps.Keys(d)) {
		if uint32(nr) > next || next == 0 && nr > 0 {
			add(next, rest)
		}
		add(uint32(nr), d[nr])
		next = uint32(nr) + 1
	}
	add(next, rest)
	return list
}

// search finds the range that the number is in, by halves.
func search(list []numbers) program {
	if len(list) == 1 {
		return list[0].do
	}
	half := len(list) / 2
	low, high := search(list[:half]), search(list[half:])
	var p program
	if len(low) < 256 {
		p.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, list[half].first, uint8(len(low)), 0)
	} else {
		p.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, list[half].first, 0, 1)
		p.add(unix.BPF_JMP|unix.BPF_JA, uint32(len(low)), 0, 0)
	}
	return slices.Concat(p, low, high)
}
