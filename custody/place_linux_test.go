package custody

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestUpperOf(t *testing.T) {
	device := unix.Mkdev(0, 28)
	const line = "36 35 0:28 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/a:/b,upperdir=/var/lib/x/diff,workdir=/w"
	if got, ok := upperOf(line, device); !ok || got != "/var/lib/x/diff" {
		t.Fatalf("got %q, %t, want the upper folder", got, ok)
	}
	for _, bad := range []string{
		"", "36", "36 35 0:28", "36 35 0:29 / / rw - overlay overlay rw,upperdir=/x",
		"36 35 0:28 / / rw - tmpfs tmpfs rw,upperdir=/x", "36 35 0:28 / / rw - overlay overlay", "36 35 0:28 / / rw - overlay overlay rw,lowerdir=/a",
	} {
		if got, ok := upperOf(bad, device); ok {
			t.Errorf("%q: got %q, want nothing", bad, got)
		}
	}
}

func TestVolumeOfADeviceThatMeansSomething(t *testing.T) {
	if volume, device := volumeOf("/", unix.Mkdev(8, 1)); !volume.IsZero() || device != unix.Mkdev(8, 1) {
		t.Fatalf("got %v and %d, want the device alone", volume, device)
	}
	if _, device := volumeOf("/proc", unix.Mkdev(0, 4)); device != 0 {
		t.Fatalf("got device %d, want an invented number left out", device)
	}
}
