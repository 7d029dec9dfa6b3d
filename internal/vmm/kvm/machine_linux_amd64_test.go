package kvm

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// needKVM skips where no machine can be made; the allowlist of skips knows the
// words.
func needKVM(t testing.TB) {
	t.Helper()
	if err := Unavailable(); err != nil {
		t.Skipf("no machine can be made (KVM): %v", err)
	}
}

// program is a machine with code, a stack and an area of two large pages of which
// one page is open.
func program(t *testing.T, code ...byte) *Machine {
	t.Helper()
	m, err := New(Spec{
		Areas: []Area{
			{At: testCode, Size: PageBytes, Open: PageBytes, Exec: true, Data: code},
			{At: testArea, Size: 2 * HugeBytes, Open: PageBytes, Reach: 1 << 30, Write: true},
			{At: testStack - HugeBytes, Size: HugeBytes, Open: HugeBytes, Write: true},
		},
		Door: testDoor, Entry: testCode, Stack: testStack - 8,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

const testStack = 0x8000_0000

var (
	ring       = []byte{0xa3, 0, 0, 0x20, 0, 0, 0, 0, 0}                // mov [testDoor], eax
	storeArea  = []byte{0xa3, 0, 0x10, 0x80, 0, 0, 0, 0, 0}             // mov [testArea+0x1000], eax
	loadArea   = []byte{0xa1, 0, 0x10, 0x80, 0, 0, 0, 0, 0}             // mov eax, [testArea+0x1000]
	loadFar    = []byte{0xa1, 0, 0, 0x80, 0x30, 0, 0, 0, 0}             // mov eax, [testArea+0x30000000]
	loadVector = []byte{0xf2, 0x0f, 0x10, 0x04, 0x25, 0, 0x10, 0x80, 0} // movsd xmm0, [testArea+0x1000]
)

// TestWhatAGuestMustNotDo lets guests do each of the things that aren't plain
// computing. None of them may get anywhere: the doorbell that follows is never
// rung.
func TestWhatAGuestMustNotDo(t *testing.T) {
	needKVM(t)
	for name, code := range map[string][]byte{
		"hlt": {0xf4}, "cli": {0xfa}, "sti": {0xfb}, "in": {0xe4, 0x60}, "out": {0xe6, 0x80}, "outs": {0x6e}, "ins": {0x6c},
		"syscall": {0x0f, 0x05}, "sysenter": {0x0f, 0x34}, "int 0x80": {0xcd, 0x80}, "int3": {0xcc}, "into ud2": {0x0f, 0x0b},
		"iret": {0x48, 0xcf}, "sysret": {0x48, 0x0f, 0x07}, "sysexit": {0x0f, 0x35},
		"mov cr0 read": {0x0f, 0x20, 0xc0}, "mov cr3 read": {0x0f, 0x20, 0xd8}, "mov cr0 write": {0x0f, 0x22, 0xc0}, "mov cr3 write": {0x0f, 0x22, 0xd8},
		"mov cr4 write": {0x0f, 0x22, 0xe0}, "mov cr8 write": {0x44, 0x0f, 0x22, 0xc0},
		"mov dr7 read": {0x0f, 0x21, 0xf8}, "mov dr7 write": {0x0f, 0x23, 0xf8}, "clts": {0x0f, 0x06}, "lmsw": {0x0f, 0x01, 0xf0},
		"rdmsr": {0x0f, 0x32}, "wrmsr": {0x0f, 0x30}, "rdtsc": {0x0f, 0x31}, "rdtscp": {0x0f, 0x01, 0xf9}, "rdpmc": {0x0f, 0x33},
		"invd": {0x0f, 0x08}, "wbinvd": {0x0f, 0x09}, "invlpg": {0x0f, 0x01, 0x38}, "swapgs": {0x0f, 0x01, 0xf8},
		"lgdt": {0x0f, 0x01, 0x14, 0x24}, "lidt": {0x0f, 0x01, 0x1c, 0x24}, "lldt": {0x0f, 0x00, 0xd0}, "ltr": {0x0f, 0x00, 0xd8},
		"xsetbv": {0x0f, 0x01, 0xd1}, "vmrun": {0x0f, 0x01, 0xd8}, "vmload": {0x0f, 0x01, 0xda}, "vmsave": {0x0f, 0x01, 0xdb}, "stgi": {0x0f, 0x01, 0xdc},
		"clgi": {0x0f, 0x01, 0xdd}, "monitor": {0x0f, 0x01, 0xc8}, "mwait": {0x0f, 0x01, 0xc9}, "wrfsbase": {0xf3, 0x48, 0x0f, 0xae, 0xd0},
		"far call": {0x9a}, "load segment": {0xb8, 0x2b, 0, 0, 0, 0x8e, 0xd8}, "retf": {0xcb},
		"null": {0x8b, 0x04, 0x25, 0, 0, 0, 0}, "kernel half": {0x48, 0xc7, 0xc0, 0, 0, 0, 0x81, 0x8b, 0x00}, "not canonical": {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x8b, 0x00},
		"division by zero": {0x31, 0xc9, 0xf7, 0xf1}, "write to code": {0x89, 0x04, 0x25, 0, 0, 0x40, 0},
		"jump to nowhere": {0xb8, 0, 0, 0, 0x70, 0xff, 0xe0}, "jump to data": {0xb8, 0, 0, 0x80, 0, 0xff, 0xe0}, "jump to the stack": {0xff, 0xe4},
		"the tables' place": {0x8b, 0x04, 0x25, 0, 0, 0x20 + 0x10, 0}, "doorbell by a byte": {0x88, 0x04, 0x25, 0, 0, 0x20, 0}, "doorbell by eight": {0x48, 0x89, 0x04, 0x25, 0, 0, 0x20, 0},
		"doorbell read": {0x8b, 0x04, 0x25, 0, 0, 0x20, 0}, "doorbell beside": {0x89, 0x04, 0x25, 4, 0, 0x20, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := program(t, slices.Concat(code, ring)...).Run(); got.Kind != Shutdown && got.Kind != Unknown {
				t.Errorf("got %v (%s, value %d), want a shutdown", got.Kind, got.Reason, got.Value)
			}
		})
	}
}

// TestWhatAGuestLearns: it has no clock and isn't told whose processor this is.
func TestWhatAGuestLearns(t *testing.T) {
	needKVM(t)
	for _, leaf := range []byte{2, 3, 4, 11, 15, 16} {
		code := slices.Concat([]byte{0xb8, leaf, 0, 0, 0, 0x31, 0xc9, 0x0f, 0xa2, 0x09, 0xd8, 0x09, 0xc8, 0x09, 0xd0}, ring) // all four words, or'd
		if got := program(t, code...).Run(); got.Kind != Door || got.Value != 0 {
			t.Errorf("leaf %d: got %v %#x, want nothing", leaf, got.Kind, got.Value)
		}
	}
	for n := byte(2); n <= 4; n++ { // the processor's name
		code := slices.Concat([]byte{0xb8, n, 0, 0, 0x80, 0x0f, 0xa2, 0x09, 0xd8, 0x09, 0xc8, 0x09, 0xd0}, ring)
		if got := program(t, code...).Run(); got.Kind != Door || got.Value != 0 {
			t.Errorf("leaf 0x8000000%d: got %v %#x, want nothing", n, got.Kind, got.Value)
		}
	}
}

func TestAnAreaEndsWhereItIsOpen(t *testing.T) {
	needKVM(t)
	for name, code := range map[string][]byte{"load": loadArea, "store": storeArea, "far": loadFar} {
		if got := program(t, slices.Concat(code, ring)...).Run(); got.Kind != Beyond || got.Area != 1 {
			t.Errorf("%s: got %v of area %d, %s; want out of area 1", name, got.Kind, got.Area, got.Reason)
		}
	}
	if got := program(t, slices.Concat(loadVector, ring)...).Run(); got.Kind != Beyond && got.Kind != Unknown {
		t.Errorf("vector load: got %v, %s; want out of an area", got.Kind, got.Reason)
	}
}

// TestAnAreaGrows opens more of an area page by page and by large pages, while the
// guest has used what lay behind.
func TestAnAreaGrows(t *testing.T) {
	needKVM(t)
	code := slices.Concat(ring, storeArea, loadArea, ring, []byte{0xeb, byte(256 - 38)}) // and again
	m := program(t, append([]byte{0xb8, 5, 0, 0, 0}, code...)...)
	if got := m.Run(); got.Kind != Door || got.Value != 5 {
		t.Fatalf("got %+v, want 5 at the door", got)
	}
	for _, open := range []uint64{2 * PageBytes, 3 * PageBytes, HugeBytes - PageBytes, HugeBytes, HugeBytes + PageBytes, 2 * HugeBytes} {
		if err := m.Open(1, open); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := m.Run(); got.Kind != Door || got.Value != 5 {
				t.Fatalf("%#x open: got %+v, want 5 at the door", open, got)
			}
		}
	}
	b, ok := m.Bytes(testArea+PageBytes, 4)
	if !ok || b[0] != 5 {
		t.Errorf("the host sees %v %t, want what the guest wrote", b, ok)
	}
	for _, open := range []uint64{0, 2*HugeBytes - PageBytes, 3 * HugeBytes, 2*HugeBytes + 1} {
		if m.Open(1, open) == nil {
			t.Errorf("%#x of an area was opened", open)
		}
	}
}

func TestBytesGivesTheGuestsMemoryAlone(t *testing.T) {
	needKVM(t)
	m := program(t, ring...)
	for _, r := range [][2]uint64{{testCode, PageBytes}, {testArea, PageBytes}, {testArea + PageBytes, 0}, {testStack - 1, 1}} {
		if b, ok := m.Bytes(r[0], r[1]); !ok || uint64(len(b)) != r[1] {
			t.Errorf("%#x: got %d bytes %t, want %d", r, len(b), ok, r[1])
		}
	}
	for _, r := range [][2]uint64{{0, 1}, {testDoor, 1}, {testCode, PageBytes + 1}, {testArea + PageBytes, 1}, {testArea + 1, PageBytes},
		{testCode, ^uint64(0)}, {^uint64(0), 1}, {^uint64(0), ^uint64(0)}, {testStack, 1}} {
		if _, ok := m.Bytes(r[0], r[1]); ok {
			t.Errorf("%#x was given out", r)
		}
	}
}

// TestAGuestThatNeverComesBack is ended from outside, also when the call comes
// before it runs.
func TestAGuestThatNeverComesBack(t *testing.T) {
	needKVM(t)
	m := program(t, slices.Concat(ring, []byte{0xeb, 0xfe})...)
	if got := m.Run(); got.Kind != Door {
		t.Fatalf("got %+v, want the door", got)
	}
	running := make(chan struct{})
	go func() {
		for m.thread.Load() == 0 {
			// it is about to run
		}
		close(running)
		m.Interrupt()
	}()
	if got := m.Run(); got.Kind != Interrupted {
		t.Errorf("got %+v, want it interrupted", got)
	}
	<-running
	if got := m.Run(); got.Kind != Interrupted {
		t.Errorf("got %+v, want it to stay so", got)
	}
}

// TestMachinesLeaveNothing makes two hundred in a row.
func TestMachinesLeaveNothing(t *testing.T) {
	needKVM(t)
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skipf("needs /proc: %v", err)
		}
		return len(list)
	}
	one := func() {
		m := program(t, slices.Concat(ring, []byte{0xf4})...)
		if got := m.Run(); got.Kind != Door {
			t.Fatalf("got %+v", got)
		}
		m.Close()
	}
	one()
	fds, maps := files(), mapped(t)
	for range 200 {
		one()
	}
	if n := files(); n > fds {
		t.Errorf("%d descriptors, had %d", n, fds)
	}
	if n := mapped(t); n > maps+16 { // the heap may have grown
		t.Errorf("%d mappings, had %d", n, maps)
	}
}

func mapped(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range text {
		if c == '\n' {
			n++
		}
	}
	return n
}

func TestUnavailableSaysWhy(t *testing.T) {
	err := Unavailable()
	if _, statErr := os.Stat(device); statErr != nil {
		if want := fmt.Sprintf("there is no %s", device); err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	} else if err != nil {
		t.Logf("there is %s, and yet: %v", device, err)
	}
}

// BenchmarkMachine is a machine from nothing to its first doorbell and gone again.
func BenchmarkMachine(b *testing.B) {
	needKVM(b)
	for b.Loop() {
		m, err := New(Spec{
			Areas: []Area{{At: testCode, Size: PageBytes, Open: PageBytes, Exec: true, Data: ring}},
			Door:  testDoor, Entry: testCode, Stack: testStack,
		})
		if err != nil {
			b.Fatal(err)
		}
		if got := m.Run(); got.Kind != Door {
			b.Fatalf("got %+v", got)
		}
		m.Close()
	}
}
