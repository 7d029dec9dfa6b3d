package host

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestTheEndOfARunEndsItsRead: the supervisor may count the run as over, and fill
// the pipe no more, while the unit is about to read from it.
func TestTheEndOfARunEndsItsRead(t *testing.T) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ends[1])
	handed := &handedInput{file: os.NewFile(uintptr(ends[0]), "stdin"), steady: true}
	defer handed.file.Close()
	handed.want.Do(func() {}) // there is nobody to tell
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	got := make(chan error, 1)
	go func() {
		_, err := newInput(handed).Read(ctx, [][]byte{make([]byte, 8)})
		got <- err
	}()
	select {
	case err := <-got:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it reads on after the end of its run")
	}
}
