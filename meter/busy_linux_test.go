package meter

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestBusyCPUGrows(t *testing.T) {
	first, err := BusyCPU()
	if err != nil || first <= 0 {
		t.Fatalf("got %v, %v", first, err)
	}
	for begun := time.Now(); time.Since(begun) < 10*time.Second; {
		now, err := BusyCPU()
		if err != nil || now < first {
			t.Fatalf("got %v after %v, %v", now, first, err)
		}
		if now > first {
			return // this loop is work
		}
	}
	t.Error("ten seconds of work weren't counted")
}

func TestBusyCPUOfStat(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]time.Duration{
		"cpu  100 20 30 5000 400 5 6 777 88 99\ncpu0 1 1 1 1\n": 1610 * time.Millisecond, // without idle, iowait, steal and guest
		"cpu 1 2 3 4 5\n": 60 * time.Millisecond,
		"cpu 1 2\n":       -1,
		"":                -1,
		"cpu a b c d e\n": -1,
	} {
		path := filepath.Join(dir, "stat")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := busyCPU(path)
		if want < 0 && err == nil || want >= 0 && (err != nil || got != want) {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
}

// What isn't the kernel's is refused, however well it reads.
func TestBusyCPUIsTheKernels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stat")
	if err := os.WriteFile(path, []byte("cpu 1 2 3 4 5 6 7 8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := kernelsOwn(path); !errors.Is(err, ErrNotMeasured) || !strings.Contains(err.Error(), "this container alone") {
		t.Errorf("got %v", err)
	}
}
