//go:build amd64 || arm64

package jail

import (
	"encoding/binary"
	"math"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// machine runs a filter as the kernel would. It is another implementation than
// the kernel's, so both have to agree with the list.
func machine(t *testing.T, p program) func(arch, nr uint32, args ...uint64) uint32 {
	t.Helper()
	var raw []bpf.RawInstruction
	for _, i := range p {
		raw = append(raw, bpf.RawInstruction{Op: i.Code, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	instructions, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the filter has statements that don't disassemble")
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	return func(arch, nr uint32, args ...uint64) uint32 {
		// The machine reads big-endian words, and filters native ones.
		data := make([]byte, 64)
		binary.BigEndian.PutUint32(data[dataNumber:], nr)
		binary.BigEndian.PutUint32(data[dataArch:], arch)
		for i, a := range args {
			binary.BigEndian.PutUint32(data[dataArgs+8*i:], uint32(a))
			binary.BigEndian.PutUint32(data[dataArgs+8*i+4:], uint32(a>>32))
		}
		n, err := vm.Run(data)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(n)
	}
}

// TestFilterSaysWhatTheListSays for every number there could be.
func TestFilterSaysWhatTheListSays(t *testing.T) {
	const pid = 4711
	for _, paths := range []bool{false, true} {
		run := machine(t, callFilter(pid, paths))
		want := map[uint32]uint32{}
		for _, nr := range append(plainCalls, archCalls...) {
			want[uint32(nr)] = allow
		}
		for _, nr := range append(deadlyCalls, archDeadly...) {
			want[uint32(nr)] = kill
		}
		for _, nr := range pathCalls {
			want[uint32(nr)] = fail(unix.EPERM)
			if paths {
				want[uint32(nr)] = allow
			}
		}
		looked := map[uint32]bool{}
		for _, nr := range []uintptr{unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_TGKILL, unix.SYS_KILL, unix.SYS_CLONE, unix.SYS_CLONE3,
			unix.SYS_FCNTL, unix.SYS_PRCTL} {
			looked[uint32(nr)] = true
		}
		for nr := uint32(0); nr < 2000; nr++ {
			w, listed := want[nr]
			if !listed {
				w = fail(unix.EPERM)
			}
			if got := run(auditArch, nr); got != w && !looked[nr] {
				t.Errorf("paths %t, call %d: got %#x, want %#x", paths, nr, got, w)
			}
			if got := run(unix.AUDIT_ARCH_I386, nr); got != kill {
				t.Errorf("call %d of another processor: got %#x", nr, got)
			}
			if got := run(auditArch, nr|0x40000000); otherTable != 0 && got != kill {
				t.Errorf("call %d of the x32 table: got %#x", nr, got)
			}
		}
	}
}

func TestFilterLooksAtArguments(t *testing.T) {
	const pid = 4711
	run := machine(t, callFilter(pid, false))
	thread := uint64(unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD)
	for _, c := range []struct {
		what string
		nr   uint32
		args []uint64
		want uint32
	}{
		{"map data", unix.SYS_MMAP, []uint64{0, 1, unix.PROT_READ | unix.PROT_WRITE}, allow},
		{"map code", unix.SYS_MMAP, []uint64{0, 1, unix.PROT_READ | unix.PROT_EXEC}, kill},
		{"make data", unix.SYS_MPROTECT, []uint64{0, 1, unix.PROT_READ}, allow},
		{"make code", unix.SYS_MPROTECT, []uint64{0, 1, unix.PROT_EXEC}, kill},
		{"signal a thread of ours", unix.SYS_TGKILL, []uint64{pid, 1, 1}, allow},
		{"signal a thread of others", unix.SYS_TGKILL, []uint64{pid + 1, 1, 1}, kill},
		{"signal everyone", unix.SYS_KILL, []uint64{math.MaxUint64, 9}, kill},
		{"signal ourselves", unix.SYS_KILL, []uint64{pid, 6}, allow},
		{"a thread", unix.SYS_CLONE, []uint64{thread}, allow},
		{"a process", unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, kill},
		{"a process that shares memory", unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_VFORK}, kill},
		{"a thread elsewhere", unix.SYS_CLONE, []uint64{thread | unix.CLONE_NEWNET}, kill},
		{"clone3", unix.SYS_CLONE3, nil, fail(unix.ENOSYS)},
		{"flags of a file", unix.SYS_FCNTL, []uint64{3, unix.F_GETFL}, allow},
		{"an owner for signals", unix.SYS_FCNTL, []uint64{3, unix.F_SETOWN}, fail(unix.EPERM)},
		{"a name for memory", unix.SYS_PRCTL, []uint64{unix.PR_SET_VMA}, allow},
		{"traceable again", unix.SYS_PRCTL, []uint64{unix.PR_SET_DUMPABLE, 1}, fail(unix.EPERM)},
	} {
		if got := run(auditArch, c.nr, c.args...); got != c.want {
			t.Errorf("%s: got %#x, want %#x", c.what, got, c.want)
		}
	}
}

// TestFilterIsShort: the kernel takes 4096 statements, and walks them for each of
// its calls.
func TestFilterIsShort(t *testing.T) {
	if p := callFilter(1, true); len(p) > 600 {
		t.Errorf("%d statements", len(p))
	}
}
