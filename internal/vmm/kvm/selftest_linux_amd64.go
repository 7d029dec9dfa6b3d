package kvm

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Unavailable says why machines can't be made here; nil if they can. It is not the
// device that decides: some hosts have one whose guests don't work. A machine is
// made that computes, uses the doorbell and the hole behind an area, and does what
// isn't allowed, and each of these must end as it should.
var Unavailable = sync.OnceValue(selfTest)

const (
	testCode = 0x40_0000
	testArea = 0x80_0000
	testDoor = 0x20_0000
)

// testProgram: computes with vectors of floats as compiled code does, rings 42,
// rings what it finds in its area, writes behind the end of what is open, and, once
// more is open, rings again and halts.
var testProgram = []byte{
	0xb8, 0x2a, 0, 0, 0, // mov eax, 42
	0xf2, 0x0f, 0x2a, 0xc0, // cvtsi2sd xmm0, eax
	0xf2, 0x0f, 0x2c, 0xc0, // cvttsd2si eax, xmm0
	0xa3, 0, 0, 0x20, 0, 0, 0, 0, 0, // mov [testDoor], eax
	0xa1, 0, 0, 0x80, 0, 0, 0, 0, 0, // mov eax, [testArea]
	0xa3, 0, 0, 0x20, 0, 0, 0, 0, 0, // mov [testDoor], eax
	0xf4, // hlt
}

func selfTest() error {
	m, err := New(Spec{
		Areas: []Area{
			{At: testCode, Size: PageBytes, Open: PageBytes, Exec: true, Data: testProgram},
			{At: testArea, Size: HugeBytes, Open: PageBytes, Reach: HugeBytes, Write: true, Data: []byte{7}},
		},
		Door: testDoor, Entry: testCode, Stack: testArea + PageBytes,
	})
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no %s", device)
	case errors.Is(err, os.ErrPermission), errors.Is(err, unix.EACCES):
		return fmt.Errorf("%s can't be opened by this user", device)
	case err != nil:
		return err
	}
	defer m.Close()
	for i, want := range []Exit{{Kind: Door, Value: 42}, {Kind: Door, Value: 7}, {Kind: Shutdown}} {
		if got := m.Run(); got.Kind != want.Kind || got.Value != want.Value {
			return fmt.Errorf("a machine was made, but its guest doesn't run as it should: at step %d got %v %d %s, want %v %d",
				i+1, got.Kind, got.Value, got.Reason, want.Kind, want.Value)
		}
	}
	return nil
}
