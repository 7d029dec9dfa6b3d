package execwatch

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
)

func TestSealedCopy(t *testing.T) {
	script := "#!/bin/sh\necho ran \"$1\"\n"
	f, id, err := SealedCopy(strings.NewReader(script), "script", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if id != joulebox.Sum([]byte(script)) {
		t.Errorf("got %v", id)
	}
	cmd := exec.Command("/proc/self/fd/3", "x")
	cmd.ExtraFiles = []*os.File{f}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "ran x\n" {
		t.Errorf("got %q, %v", out, err)
	}
	w, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.O_RDWR, 0)
	if err == nil {
		if _, err := unix.Write(w, []byte("other")); err == nil {
			t.Error("it can be changed")
		}
		unix.Close(w)
	}
	if _, _, err := SealedCopy(bytes.NewReader(make([]byte, 11)), "large", 10); err == nil {
		t.Error("a copy has no bound")
	}
}
