package custody

import (
	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
)

// thisMachine knows the start only: the machine's own id takes a framework that
// a static program can't load. Inodes and birth times still show a copy.
func thisMachine() (m machine) {
	if id, err := unix.Sysctl("kern.bootsessionuuid"); err == nil {
		m.boot = mark("boot", id)
	}
	return m
}

func volumeOf(_ string, device uint64) (joulebox.ID, uint64) { return joulebox.ID{}, device }
