package custody

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// state gives a test a state folder of its own.
func state(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	t.Setenv("JOULEBOX_STATE", dir)
	return dir
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func opened(t testing.TB, k *Key, err error) *Key {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

func next(t testing.TB, k *Key) uint64 {
	t.Helper()
	return must(k.Next(t.Context()))(t)
}

func wantError[E error](t testing.TB, what string, err error) E {
	t.Helper()
	var typed E
	if !errors.As(err, &typed) {
		t.Fatalf("%s: got %v, want a %T", what, err, typed)
	}
	return typed
}

// copyTree copies as `cp -a` does.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, path[len(from):])
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
