//go:build amd64 || arm64

package jail

import "golang.org/x/sys/unix"

// What a filter can answer, besides [Fail].
const (
	Allow  uint32 = allow
	Kill   uint32 = kill                        // ends the process
	Notify uint32 = unix.SECCOMP_RET_USER_NOTIF // asks whoever holds the filter's listener
)

// Fail answers with an error.
func Fail(errno unix.Errno) uint32 { return fail(errno) }

// Filter says what becomes of each system call. The last word on a call counts.
type Filter struct{ calls dispatch }

// NewFilter is a filter without calls.
func NewFilter() *Filter { return &Filter{calls: dispatch{}} }

// Answer gives the calls one answer.
func (f *Filter) Answer(a uint32, calls ...uintptr) { f.calls.each(a, calls) }

// ArgIn allows a call when the low half of an argument is one of the values.
func (f *Filter) ArgIn(call uintptr, arg uint32, values []uint32, otherwise uint32) {
	f.calls.argIn(call, arg, values, otherwise)
}

// ArgNotIn allows a call unless the low half of an argument is one of the values.
func (f *Filter) ArgNotIn(call uintptr, arg uint32, values []uint32, otherwise uint32) {
	var p program
	p.load(dataArgs + 8*arg)
	for _, v := range values {
		p.skipUnlessEqual(v, 1)
		p.answer(otherwise)
	}
	p.answer(allow)
	f.calls[call] = p
}

// ArgLacks allows a call when an argument has none of the bits.
func (f *Filter) ArgLacks(call uintptr, arg uint32, bits uint32, otherwise uint32) {
	f.calls.argLacks(call, arg, bits, otherwise)
}

// ArgHas allows a call when an argument has all of one set of bits and none of
// another.
func (f *Filter) ArgHas(call uintptr, arg, want, never, otherwise uint32) {
	f.calls.argHas(call, arg, want, never, otherwise)
}

// ArgsLack allows a call unless an argument has any of the bits of want while
// another has any of those of when.
func (f *Filter) ArgsLack(call uintptr, arg, want, other, when uint32, otherwise uint32) {
	var p program
	p.load(dataArgs + 8*other)
	p.skipUnlessAny(when, 3)
	p.load(dataArgs + 8*arg)
	p.skipUnlessAny(want, 1)
	p.answer(otherwise)
	p.answer(Allow)
	f.calls[call] = p
}

// ArgUnless allows a call when the low half of an argument is one of the values,
// unless it is first and another argument, with only the bits of the mask, is never.
func (f *Filter) ArgUnless(call uintptr, arg uint32, values []uint32, first, other, mask, never, otherwise uint32) {
	var p program
	p.load(dataArgs + 8*other)
	p.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, mask, 0, 0)
	p.skipUnlessEqual(never, 3)
	p.load(dataArgs + 8*arg)
	p.skipUnlessEqual(first, 1)
	p.answer(otherwise)
	p.load(dataArgs + 8*arg)
	for _, v := range values {
		p.skipUnlessEqual(v, 1)
		p.answer(allow)
	}
	p.answer(otherwise)
	f.calls[call] = p
}

// ArgsIn allows a call when the low half of each of its first n arguments is one
// of the values.
func (f *Filter) ArgsIn(call uintptr, n int, values []uint32, otherwise uint32) {
	var p program
	for arg := range n {
		p.load(dataArgs + 8*uint32(arg))
		for i, v := range values {
			// On equality past the rest of the values, and past the refusal.
			p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, v, uint8(len(values)-i), 0)
		}
		p.answer(otherwise)
	}
	p.answer(allow)
	f.calls[call] = p
}

// Masked allows a call when an argument, with only the bits of the mask, is one of
// the values.
func (f *Filter) Masked(call uintptr, arg, mask uint32, values []uint32, otherwise uint32) {
	var p program
	p.load(dataArgs + 8*arg)
	p.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, mask, 0, 0)
	for _, v := range values {
		p.skipUnlessEqual(v, 1)
		p.answer(allow)
	}
	p.answer(otherwise)
	f.calls[call] = p
}

// Program is the filter as the kernel takes it. What has no answer is answered
// with otherwise; calls of another processor's table end the process.
func (f *Filter) Program(otherwise uint32) []unix.SockFilter { return f.calls.filter(otherwise) }
