package cli

import "testing"

func TestFiguresAreShownWithoutLoss(t *testing.T) {
	for uj, want := range map[uint64]string{
		0: "0 µJ", 999: "999 µJ", 1000: "1 mJ", 12_345: "12.345 mJ", 1_500_000: "1.5 J", 5_000_000: "5 J", 1_000_001: "1000.001 mJ", 123_456_789: "123.456789 J",
	} {
		if got := formatEnergy(uj); got != want {
			t.Errorf("%d µJ: got %q, want %q", uj, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1 << 20: "1 MiB", 64 << 20: "64 MiB", 1<<20 + 1: "1048577 B", 1 << 50: "1024 TiB"} {
		if got := formatBytes(n); got != want {
			t.Errorf("%d bytes: got %q, want %q", n, got, want)
		}
	}
}
