package custody

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
)

func thisMachine() (m machine) {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if text, err := os.ReadFile(path); err == nil && m.id.IsZero() {
			m.id = machineMark(string(text))
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		m.boot = mark("boot", strings.TrimSpace(string(text)))
	}
	return m
}

// volumeOf tells file systems without a device of their own apart: containers
// of one image, snapshots of one subvolume. Their device number is made up at
// each mount, so it is given back as 0.
func volumeOf(path string, device uint64) (joulebox.ID, uint64) {
	if unix.Major(device) != 0 {
		return joulebox.ID{}, device
	}
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return joulebox.ID{}, 0
	}
	switch uint32(s.Type) {
	case unix.OVERLAYFS_SUPER_MAGIC:
		return overlayMark(device), 0
	case unix.BTRFS_SUPER_MAGIC, zfsMagic:
		return mark("volume", fmt.Sprint(s.Fsid.Val)), 0
	}
	return joulebox.ID{}, 0
}

const zfsMagic = 0x2fc12fc1

// overlayMark is the layer that a container writes to, which is its own.
func overlayMark(device uint64) joulebox.ID {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return joulebox.ID{}
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if upper, ok := upperOf(lines.Text(), device); ok {
			return mark("volume", upper)
		}
	}
	return joulebox.ID{}
}

// upperOf reads a line of mountinfo: "36 35 0:28 / /mnt rw - overlay overlay rw,upperdir=/a/b".
func upperOf(line string, device uint64) (string, bool) {
	own, super, _ := strings.Cut(line, " - ")
	if f := strings.Fields(own); len(f) < 3 || f[2] != deviceText(device) {
		return "", false
	}
	f := strings.Fields(super)
	if len(f) < 3 || f[0] != "overlay" {
		return "", false
	}
	for option := range strings.SplitSeq(f[2], ",") {
		if upper, ok := strings.CutPrefix(option, "upperdir="); ok {
			return upper, true
		}
	}
	return "", false
}

func deviceText(device uint64) string {
	return strconv.FormatUint(uint64(unix.Major(device)), 10) + ":" + strconv.FormatUint(uint64(unix.Minor(device)), 10)
}
