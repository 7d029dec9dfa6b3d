package host

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jail"
	"github.com/joulebox/joulebox/internal/vectors"
	"github.com/joulebox/joulebox/unit"
)

func TestMain(m *testing.M) {
	beforeRun = misbehave
	RunChildIfAsked()
	if name := os.Getenv(unitVariable); name != "" {
		beUnit(name)
	}
	os.Exit(m.Run())
}

var testEngine = sync.OnceValue(func() *Engine {
	e, err := NewEngine(EngineConfig{InProcess: true})
	if err != nil {
		panic(err)
	}
	return e
})

func needJail(t testing.TB) {
	t.Helper()
	if err := jail.Missing(jail.Survey(), true); err != nil {
		t.Skip(err)
	}
}

// newProcesses makes host processes whose end the test waits for.
func newProcesses(t testing.TB, keep int) *Processes {
	t.Helper()
	needJail(t)
	p, err := NewProcesses(ProcessConfig{Keep: keep})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// trial is one run for a test, and what came of it.
type trial struct {
	image  []byte
	entry  string
	config BrokerConfig
	change func(*Limits)

	exit           Exit
	err            error
	stdout, stderr bytes.Buffer
	log            bytes.Buffer
	usage          Usage
	probing        []string
	denials        []Denial
	digests        [3]joulebox.ID
}

func enough() Limits {
	return Limits{Units: 1 << 40, Vector: 2, CPU: time.Hour, Wall: 30 * time.Second, Memory: 64 << 20}
}

// job is the trial as an executor is given it.
func (r *trial) job(t testing.TB) Job {
	t.Helper()
	if len(r.config.Grants.Compute.Devices) == 0 {
		r.config.Grants = everything()
	}
	if r.config.Stdout == nil {
		r.config.Stdout = &r.stdout
	}
	if r.config.Stderr == nil {
		r.config.Stderr = &r.stderr
	}
	r.config.Log = &r.log
	if r.config.Args == nil {
		r.config.Args = []string{"unit"}
	}
	b, err := NewBroker(r.config)
	if err != nil {
		t.Fatal(err)
	}
	grants, err := r.config.Grants.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	limits := enough()
	if r.change != nil {
		r.change(&limits)
	}
	if r.entry == "" {
		r.entry = DefaultEntry(r.image)
	}
	j := Job{
		Unit:    unit.Unit{ImageID: joulebox.Sum(r.image), Entrypoint: append([]string{r.entry}, r.config.Args[1:]...), Grants: grants},
		Image:   r.image,
		Devices: r.config.Grants.Compute.Devices,
		Broker:  b,
		Limits:  limits,
	}
	if r.config.Image != nil {
		j.Image, j.Tree, j.Unit.ImageID = nil, r.config.Image, r.config.Image.ID()
	}
	return j
}

// treeTrial is a program in a tree image that reads another file of it.
func treeTrial(t testing.TB) *trial {
	cat, text := Bytes(readModule(t, "../examples/cat/cat.wasm")), Bytes(strings.Repeat("text of the image\n", 200_000))
	contents := map[joulebox.ID]Content{joulebox.Sum(cat): cat, joulebox.Sum(text): text}
	image, err := unit.NewTree([]unit.Entry{
		{Path: "/bin/cat.wasm", Type: unit.File, Mode: 0o755, B3: joulebox.Sum(cat)},
		{Path: "/lib/text", Type: unit.File, Mode: 0o644, B3: joulebox.Sum(text)},
	})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := NewTree(image, contents)
	if err != nil {
		t.Fatal(err)
	}
	return &trial{image: cat, entry: "/bin/cat.wasm", config: BrokerConfig{Image: tree, Args: []string{"/bin/cat.wasm", "/lib/text"}}}
}

// suite calls do for every program of the official preview 1 suite.
func suite(t *testing.T, do func(t *testing.T, program string)) {
	programs, err := filepath.Glob(filepath.Join(vectors.Dir(t, "06-wasm"), "wasi-testsuite", "*", "*.wasm"))
	if err != nil || len(programs) < 43 {
		t.Fatalf("%d programs, %v", len(programs), err)
	}
	for _, p := range programs {
		t.Run(strings.TrimSuffix(filepath.Base(p), ".wasm"), func(t *testing.T) { do(t, p) })
	}
}

func suiteTrial(t *testing.T, program string) (c suiteCase, r *trial) {
	text, err := os.ReadFile(strings.TrimSuffix(program, ".wasm") + ".json")
	if err == nil {
		err = json.Unmarshal(text, &c)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		t.Fatal(err)
	}
	r = &trial{image: readModule(t, program), entry: "_start"}
	r.config.Args = append([]string{filepath.Base(program)}, c.Args...)
	for k, v := range c.Env {
		r.config.Env = append(r.config.Env, k+"="+v)
	}
	if c.Root != "" {
		r.config.Grants = everything("/", "/**")
		r.config.Mounts = []Mount{{Guest: "/", Host: freshRoot(t, filepath.Join(filepath.Dir(program), c.Root))}}
	}
	return c, r
}

// on runs the trial on an executor.
func (r *trial) on(t testing.TB, ctx context.Context, x Executor) *trial {
	t.Helper()
	job := r.job(t)
	run, err := x.Start(ctx, job)
	if err == nil {
		r.exit, err = run.Wait()
	}
	r.err = err
	b := job.Broker
	r.usage, r.probing, r.denials = b.Usage(), b.Probing(), b.Denials()
	r.digests[0], r.digests[1], r.digests[2] = b.Digests()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	return r
}

func readModule(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func probeModule(t testing.TB) []byte {
	return readModule(t, "../internal/cli/testdata/units/probe.wasm")
}

// probing is a trial of the program that does one thing.
func probing(t testing.TB, args ...string) *trial {
	return &trial{image: probeModule(t), config: BrokerConfig{Args: append([]string{"probe"}, args...)}}
}

// Modules that export run: () -> i32, by hand.

func runs(memory bool, body ...byte) []byte {
	section := func(id byte, content ...byte) []byte { return append([]byte{id, byte(len(content))}, content...) }
	code := append(append([]byte{0}, body...), 0x0b)
	m := slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), section(1, 1, 0x60, 0, 1, 0x7f), section(3, 1, 0))
	if memory {
		m = append(m, section(5, 1, 0, 1)...)
	}
	return slices.Concat(m, section(7, append([]byte{1, 3}, "run\x00\x00"...)...),
		section(10, append([]byte{1, byte(len(code))}, code...)...))
}

func returns(n byte) []byte { return runs(false, 0x41, n&0x3f) }
func spins() []byte         { return runs(false, 0x03, 0x40, 0x0c, 0, 0x0b, 0x41, 0) }
func traps() []byte         { return runs(false, 0x00) }
func grows() []byte {
	return runs(true, 0x03, 0x40, 0x41, 1, 0x40, 0, 0x1a, 0x0c, 0, 0x0b, 0x41, 0)
}

// openFiles counts this process's descriptors, but for the one to count with.
func openFiles(t testing.TB) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// children are the processes that this one has started and not waited for.
func children(t testing.TB) []string {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, task := range tasks {
		text, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		list = append(list, strings.Fields(string(text))...)
	}
	return list
}
