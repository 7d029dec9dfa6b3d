package host

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/hostcall"
	"github.com/joulebox/joulebox/internal/vectors"
	"github.com/joulebox/joulebox/internal/wasi"
	"github.com/joulebox/joulebox/internal/wasm"
)

// budgets are enough for any test.
func budgets() grant.Compute {
	return grant.Compute{Devices: []joulebox.DeviceClass{joulebox.CPU}, EnergyBudgetUJ: 1 << 40, CPUTimeMS: 60_000,
		MemoryBytes: 1 << 30}
}

// everything grants all that a broker can give beneath the globs.
func everything(globs ...string) grant.Set {
	s := grant.Empty(budgets())
	s.Storage = grant.Storage{Read: globs, Write: globs, Delete: globs}
	s.Host = grant.Host{Logging: true, Clock: true, Random: true}
	s.KV = grant.KV{Read: true, Write: true}
	return s
}

func newTestEngine(t testing.TB) *wasm.Engine {
	t.Helper()
	funcs := append(wasi.HostFuncs(), hostcall.HostFuncs()...)
	e, err := wasm.NewEngine(wasm.Config{HostFuncs: funcs, InProcess: true, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// runModule runs a module under a broker and gives how it ended.
func runModule(t testing.TB, e *wasm.Engine, image []byte, entry string, c BrokerConfig) (wasm.Exit, *Broker) {
	t.Helper()
	m, err := e.Compile(t.Context(), image, wasm.Options{Metered: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b, err := NewBroker(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	exit, err := m.Run(t.Context(), wasm.Params{Entry: entry, State: b, Limits: wasm.Limits{
		Fuel: 1 << 40, MemoryBytes: 1 << 28, Deadline: time.Now().Add(30 * time.Second)}})
	if err != nil {
		t.Fatal(err)
	}
	return exit, b
}

// suiteCase is the .json beside a program of the suite, and its defaults.
type suiteCase struct {
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	Root     string            `json:"root"`
	Stdout   string            `json:"stdout"`
	Stderr   string            `json:"stderr"`
	ExitCode uint32            `json:"exit_code"`
}

// TestWASISuite runs every program of the official preview 1 suite that is at hand.
func TestWASISuite(t *testing.T) {
	dir := filepath.Join(vectors.Dir(t, "06-wasm"), "wasi-testsuite")
	e := newTestEngine(t)
	count := map[string]int{}
	for _, lang := range []string{"assemblyscript", "c", "rust"} {
		programs, _ := filepath.Glob(filepath.Join(dir, lang, "*.wasm"))
		for _, p := range programs {
			count[lang]++
			name := strings.TrimSuffix(filepath.Base(p), ".wasm")
			t.Run(lang+"/"+name, func(t *testing.T) { runSuiteProgram(t, e, p) })
		}
	}
	if count["assemblyscript"] != 7 || count["c"] != 9 || count["rust"] != 27 {
		t.Errorf("got %v programs, want 7 of assemblyscript, 9 of c and 27 of rust", count)
	}
}

func runSuiteProgram(t *testing.T, e *wasm.Engine, program string) {
	var c suiteCase
	text, err := os.ReadFile(strings.TrimSuffix(program, ".wasm") + ".json")
	if err == nil {
		err = json.Unmarshal(text, &c)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	config := BrokerConfig{Grants: everything(), Args: append([]string{filepath.Base(program)}, c.Args...),
		Stdout: &stdout, Stderr: &stderr}
	for k, v := range c.Env {
		config.Env = append(config.Env, k+"="+v)
	}
	if c.Root != "" {
		config.Grants = everything("/", "/**")
		config.Mounts = []Mount{{Guest: "/", Host: freshRoot(t, filepath.Join(filepath.Dir(program), c.Root))}}
	}
	exit, _ := runModule(t, e, image, "_start", config)
	if exit.Code != c.ExitCode || exit.Cause != wasm.Exited && exit.Cause != wasm.Returned {
		t.Errorf("got %v %d %s, want code %d\nstdout: %s\nstderr: %s", exit.Cause, exit.Code, exit.Trap, c.ExitCode, &stdout, &stderr)
	}
	if c.Stdout != "" && stdout.String() != c.Stdout {
		t.Errorf("stdout: got %q, want %q", &stdout, c.Stdout)
	}
}

// freshRoot copies a directory, or makes an empty one where the suite has none.
func freshRoot(t *testing.T, from string) string {
	to := t.TempDir()
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return to
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	filepath.WalkDir(to, func(p string, d fs.DirEntry, _ error) error { return os.Chmod(p, 0o755) })
	return to
}
