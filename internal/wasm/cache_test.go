package wasm

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// sealOf identifies the making of an entry: made anew, it is another file.
func sealOf(t *testing.T, e *Engine, image []byte) os.FileInfo {
	t.Helper()
	info, err := os.Stat(filepath.Join(entryOf(t, e, image), sealFile))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func entryOf(t *testing.T, e *Engine, image []byte) string {
	t.Helper()
	return e.disk.entryDir(e.entryKey(Options{Metered: true, ImageID: sumOf(image)}))
}

func withDir(dir string) func(*Config) { return func(c *Config) { c.CacheDir = dir } }

func TestWarmStartBuildsNothing(t *testing.T) {
	dir, image := t.TempDir(), returns(42)
	cold := newTestEngine(t, withDir(dir))
	first := mustRun(t, compile(t, cold, image), Params{})
	made := sealOf(t, cold, image)
	warm := newTestEngine(t, withDir(dir))
	second := mustRun(t, compile(t, warm, image), Params{})
	if !os.SameFile(made, sealOf(t, warm, image)) {
		t.Error("a warm start made the entry anew")
	}
	if first.Instructions != second.Instructions || first.Code != second.Code {
		t.Errorf("cold: got %+v, warm: got %+v", first, second)
	}
}

func TestKeysTellApart(t *testing.T) {
	e := newTestEngine(t)
	other := newTestEngine(t, func(c *Config) { c.Scan.Functions = 99; c.Scan.ModuleBytes = 1 << 20 })
	id := sumOf(returns(1))
	seen := map[entryKey]bool{}
	for _, k := range []entryKey{
		e.entryKey(Options{ImageID: id}), e.entryKey(Options{ImageID: id, SIMDWeight: 2}),
		e.entryKey(Options{ImageID: sumOf(returns(2))}), other.entryKey(Options{ImageID: id}),
	} {
		seen[k] = true
	}
	if len(seen) != 4 {
		t.Errorf("got %d keys, want 4", len(seen))
	}
}

// tampering changes an entry in all ways that a test can think of.
func tampering(t *testing.T, dir string) map[string]func() {
	t.Helper()
	code, err := findCode(dir)
	if err != nil || code == "" {
		t.Fatalf("no machine code in %s: %v", dir, err)
	}
	ways := map[string]func(){
		"another file":    func() { write(t, filepath.Join(filepath.Dir(code), "0000"), []byte("x")) },
		"no machine code": func() { os.Remove(code) },
		"no seal":         func() { os.Remove(filepath.Join(dir, sealFile)) },
	}
	for name, path := range map[string]string{"seal": filepath.Join(dir, sealFile), "info": filepath.Join(dir, infoFile), "module": filepath.Join(dir, moduleFile), "code": code} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for where, at := range map[string]int{"first": 0, "middle": len(b) / 2, "last": len(b) - 1} {
			ways[name+", "+where+" byte"] = func() {
				changed := append([]byte{}, b...)
				changed[at] ^= 1
				write(t, path, changed)
			}
		}
		ways[name+" cut"] = func() { write(t, path, b[:len(b)-1]) }
		ways[name+" extended"] = func() { write(t, path, append(b[:len(b):len(b)], 0)) }
		ways[name+" emptied"] = func() { write(t, path, nil) }
	}
	return ways
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestChangedEntryIsNeverRun(t *testing.T) {
	image := returns(42)
	e := newTestEngine(t)
	compile(t, e, image)
	ways := tampering(t, entryOf(t, e, image))
	if len(ways) != 4*6+3 {
		t.Fatalf("%d ways to tamper", len(ways))
	}
	for name := range ways {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e := newTestEngine(t, withDir(dir))
			compile(t, e, image)
			made := sealOf(t, e, image)
			tampering(t, entryOf(t, e, image))[name]()
			again := newTestEngine(t, withDir(dir))
			if exit := mustRun(t, compile(t, again, image), Params{}); exit.Code != 42 {
				t.Errorf("got %+v", exit)
			}
			if os.SameFile(made, sealOf(t, again, image)) {
				t.Error("the changed entry was used")
			}
		})
	}
}

func TestEntryUnderAnotherKeyIsNotUsed(t *testing.T) {
	dir := t.TempDir()
	e := newTestEngine(t, withDir(dir))
	compile(t, e, returns(1))
	compile(t, e, returns(2))
	if err := os.RemoveAll(entryOf(t, e, returns(2))); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(entryOf(t, e, returns(2)), os.DirFS(entryOf(t, e, returns(1)))); err != nil {
		t.Fatal(err)
	}
	again := newTestEngine(t, withDir(dir))
	if exit := mustRun(t, compile(t, again, returns(2)), Params{}); exit.Code != 2 {
		t.Errorf("got %+v, want code 2", exit)
	}
}

func TestAnotherSecretMeansAnotherCache(t *testing.T) {
	dir, image := t.TempDir(), returns(42)
	e := newTestEngine(t, withDir(dir))
	compile(t, e, image)
	made := sealOf(t, e, image)
	if err := os.Remove(e.disk.path("secret")); err != nil {
		t.Fatal(err)
	}
	again := newTestEngine(t, withDir(dir))
	compile(t, again, image)
	if os.SameFile(made, sealOf(t, again, image)) {
		t.Error("an entry that was sealed with another secret was used")
	}
}

func TestCacheIsOurs(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := NewEngine(Config{CacheDir: dir, InProcess: true}); err == nil {
		t.Error("a cache directory that anyone can write to: got no error")
	}
	_ = os.Chmod(dir, 0o700)
	e := newTestEngine(t, withDir(dir))
	if info, err := os.Stat(e.disk.path("secret")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("secret: got %v, %v, want mode 0600", info.Mode(), err)
	}
	_ = os.Chmod(e.disk.path("secret"), 0o644)
	if _, err := NewEngine(Config{CacheDir: dir, InProcess: true}); err == nil {
		t.Error("a secret that others can read: got no error")
	}
}

func TestCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	e := newTestEngine(t, withDir(dir))
	compile(t, e, returns(0))
	size := treeBytes(entryOf(t, e, returns(0)))
	const room = 5
	e.disk.limit = size*room + size/2
	for i := range int32(12) {
		compile(t, e, returns(i))
		at := time.Now().Add(time.Duration(i-100) * time.Second) // older by one second each
		if err := os.Chtimes(entryOf(t, e, returns(i)), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int32(12) {
		_, err := os.Stat(entryOf(t, e, returns(i)))
		if kept := err == nil; kept != (i >= 12-room) {
			t.Errorf("module %d of 12: kept %t, want the last %d", i, kept, room)
		}
	}
	if _, total := e.disk.list(); total > e.disk.limit {
		t.Errorf("cache holds %d bytes, want %d at most", total, e.disk.limit)
	}
}

func TestLeftoversAreRemoved(t *testing.T) {
	e := newTestEngine(t)
	for name, age := range map[string]time.Duration{"old": 2 * time.Hour, "young": time.Minute} {
		dir := e.disk.path("work", name)
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "x"), 0o700), os.Chtimes(dir, time.Time{}, time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	compile(t, e, returns(1))
	if _, err := os.Stat(e.disk.path("work", "old")); err == nil {
		t.Error("a leftover of two hours ago is still there")
	}
	if _, err := os.Stat(e.disk.path("work", "young")); err != nil {
		t.Error("another process's work was removed")
	}
}

func TestManyEnginesOneCache(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			e, err := NewEngine(Config{CacheDir: dir, InProcess: true, HostFuncs: hostFuncs})
			if err != nil {
				t.Error(err)
				return
			}
			defer e.Close()
			for i := range int32(4) {
				m, err := e.Compile(t.Context(), returns(i), Options{Metered: true})
				if err != nil {
					t.Error(err)
					return
				}
				if exit, err := m.Run(t.Context(), Params{Limits: enough()}); err != nil || exit.Code != uint32(i) {
					t.Errorf("module %d: got %+v, %v", i, exit, err)
				}
				m.Close()
			}
		})
	}
	wg.Wait()
}

func TestOwnCacheIsRemoved(t *testing.T) {
	e := newTestEngine(t, withDir(""))
	dir := e.disk.dir
	compile(t, e, returns(1))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the engine's own cache directory is still there")
	}
}
