package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/store"
)

// A record of another process that was acknowledged is never taken for one that a
// crash left torn: damage to it is told, and nothing is cut off.
func TestDamageToAnotherProcessesRecordIsToldNotCut(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 { // as four commands, one after the other
		l, err := store.OpenLog(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), make([]byte, 500), joulebox.Sum([]byte{byte(i)})); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	segments, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(segments) != 1 {
		t.Fatalf("segments %v, %v", segments, err)
	}
	whole, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte(nil), whole...)
	damaged[300] ^= 1
	if err := os.WriteFile(segments[0], damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := store.OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var corrupt *store.CorruptError
	for _, err := range l.Records(t.Context(), 0) {
		if err != nil && !errors.As(err, &corrupt) {
			t.Fatal(err)
		}
	}
	if corrupt == nil {
		t.Error("a record was damaged and nobody was told")
	}
	now, err := os.ReadFile(segments[0])
	if err != nil || len(now) < len(whole) {
		t.Errorf("%d bytes of %d are left (%v)", len(now), len(whole), err)
	}
}
