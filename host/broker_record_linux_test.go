package host

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/internal/effect"
	"github.com/joulebox/joulebox/internal/hostcall"
	"github.com/joulebox/joulebox/internal/vectors"
	"github.com/joulebox/joulebox/internal/wasi"
)

// tape keeps copies of what it is shown.
type tape struct {
	calls []effect.Call
	err   error
}

func (r *tape) Record(c effect.Call) error {
	c.Args = slices.Clone(c.Args)
	writes := c.Writes
	c.Writes = nil
	for _, w := range writes {
		c.Writes = append(c.Writes, effect.Write{At: w.At, Bytes: bytes.Clone(w.Bytes)})
	}
	r.calls = append(r.calls, c)
	return r.err
}

// TestEffectsAreWhole makes many kinds of calls and replays what was recorded onto
// another memory: it must end up the same, byte for byte, without any of the calls.
func TestEffectsAreWhole(t *testing.T) {
	r := &tape{}
	dir := tree(t, map[string]string{"f": "some text", "l": "-> f"})
	u := newUnit(t, BrokerConfig{Grants: everything("/", "/**"), Mounts: []Mount{{Guest: "/", Host: dir}}, Recorder: r,
		Stdin: strings.NewReader("input"), Args: []string{"prog", "arg"}, Env: []string{"A=B"}})
	clear(u.g.mem)
	type input struct {
		at   int
		data []byte
	}
	var made []input // what the test itself put into memory, with the number of calls before it
	shadow := make([]byte, len(u.g.mem))
	sync := func() { // what the guest itself writes between calls
		made = append(made, input{len(r.calls), bytes.Clone(u.g.mem)})
	}
	do := func(name string, args ...uint64) {
		sync()
		u.call(name, args...)
	}
	root := u.preopen("/")
	fd := u.mustOpen(root, "f", 0, readWrite)
	p, n := u.str("f")
	do("path_filestat_get", root, 0, p, n, 8192)
	do("fd_read", fd, u.iovec(bufPtr, 5), 1, 8300)
	do("fd_read", 0, u.iovec(bufPtr+100, 50), 1, 8304)
	do("fd_pread", fd, u.iovec(bufPtr+200, 50), 1, 3, 8308)
	do("fd_seek", fd, 2, 0, 8312)
	do("args_get", 8400, 8500)
	do("environ_get", 8600, 8700)
	do("args_sizes_get", 8800, 8804)
	do("clock_time_get", 0, 0, 8808)
	do("clock_time_get", 1, 0, 8816)
	do("random_get", 9000, 100)
	do("fd_readdir", root, 10_000, 500, 0, 9200)
	p, n = u.str("l")
	do("path_readlink", root, p, n, 9300, 10, 9320)
	do("fd_fdstat_get", fd, 9400)
	do("fd_prestat_get", root, 9500)
	do("fd_filestat_get", fd, 9600)
	u.subscribe(0, 7, 2, 1, 0, 0)
	do("poll_oneoff", 2048, 9700, 1, 9800)
	do("fd_write", 1, u.iovec(bufPtr, 5), 1, 9900)
	do("random_get", 1<<20, 100) // a failure writes nothing
	sandbox := func(name string, args ...uint64) {
		sync()
		stack := append(args, 0)
		hostcall.Invoke(u.ctx, u.b.Sandbox(), u.g, name, stack)
	}
	copy(u.g.mem[7000:], "key/f")
	sandbox("kv_put", 7000, 3, 7000, 5)
	sandbox("kv_get", 7000, 3, 16100, 50)
	sandbox("storage_read", 7003, 2, 5, 16200, 50)
	sandbox("random_u64", 16300)
	sandbox("clock_now")

	for i, m := range made {
		next := len(r.calls)
		if i+1 < len(made) {
			next = made[i+1].at
		}
		copy(shadow, m.data)
		for _, c := range r.calls[m.at:next] {
			for _, w := range c.Writes {
				copy(shadow[w.At:], w.Bytes)
			}
		}
		after := u.g.mem
		if i+1 < len(made) {
			after = made[i+1].data
		}
		// Between two calls the test changes the arguments' place alone.
		if !bytes.Equal(shadow[8192:], after[8192:]) {
			t.Errorf("%s: replayed memory differs", r.calls[m.at].Name)
		}
		if c := r.calls[m.at]; c.Units == 0 {
			t.Errorf("%s: charged nothing", c.Name)
		}
	}
	if last := r.calls[len(r.calls)-1]; last.Name != "clock_now" || last.Module != "sandbox" {
		t.Errorf("last call: got %s %s", last.Module, last.Name)
	}
}

func TestWhatCantBeRecordedFails(t *testing.T) {
	r := &tape{err: errors.New("disk full")}
	u := newUnit(t, BrokerConfig{Grants: everything(), Recorder: r})
	u.want("yield", u.call("sched_yield"), wasi.EIO)
}

// TestRecordedProgram: a real program takes the same course while it is recorded.
func TestRecordedProgram(t *testing.T) {
	image, err := os.ReadFile(filepath.Join(vectors.Dir(t, "06-wasm"), "wasi-testsuite/c/lseek.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	dir := tree(t, map[string]string{"lseek.txt": "01234567"})
	r := &tape{}
	config := BrokerConfig{Grants: everything("/", "/**"), Mounts: []Mount{{Guest: "/", Host: dir}}, Args: []string{"lseek"}}
	e := newTestEngine(t)
	plain, _ := runModule(t, e, image, "_start", config)
	config.Recorder = r
	recorded, _ := runModule(t, e, image, "_start", config)
	if plain.FuelUsed != recorded.FuelUsed || plain.Code != 0 || recorded.Code != 0 {
		t.Errorf("got %+v recorded, %+v without", recorded, plain)
	}
	var units uint64
	for _, c := range r.calls {
		units += c.Units
	}
	if got := recorded.FuelUsed - recorded.Instructions; got != units || len(r.calls) == 0 {
		t.Errorf("%d calls were recorded with %d units, the run was charged %d", len(r.calls), units, got)
	}
}
