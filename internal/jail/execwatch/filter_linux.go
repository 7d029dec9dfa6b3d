//go:build amd64 || arm64

package execwatch

import "golang.org/x/sys/unix"

// Offsets into the kernel's seccomp_data.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16 // six of 8 bytes, the low half first on both processors
)

// filter is a seccomp filter for rules. Calls of another processor's table end the
// process: their numbers say something else.
func filter(list []Rule) (p []unix.SockFilter) {
	add := func(code uint16, k uint32, jt, jf int) {
		p = append(p, unix.SockFilter{Code: code, K: k, Jt: uint8(jt), Jf: uint8(jf)})
	}
	load := func(offset uint32) { add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
	load(dataArch)
	add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, auditArch, 1, 0)
	add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_KILL_PROCESS, 0, 0)
	load(dataNumber)
	if otherTable != 0 {
		add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, otherTable, 0, 1)
		add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_KILL_PROCESS, 0, 0)
	}
	for _, r := range list {
		// Each condition is a load, a mask and a comparison, and the number is loaded
		// again after them.
		rest := 3*len(r.When) + 1
		again := 0
		if len(r.When) > 0 {
			again = 1
		}
		add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, uint32(r.Call), 0, rest+again)
		for _, a := range r.When {
			rest -= 3
			load(dataArgs + 8*uint32(a.Index))
			add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, a.Mask, 0, 0)
			add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, a.Value, 0, rest)
		}
		add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(r.Errno), 0, 0)
		if again == 1 {
			load(dataNumber)
		}
	}
	add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW, 0, 0)
	return p
}
