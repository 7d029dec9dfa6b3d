package hostcall

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/internal/effect"
	"github.com/joulebox/joulebox/internal/toll"
)

type fakeGuest struct {
	mem     []byte
	charged uint64
}

func (g *fakeGuest) Memory() []byte  { return g.mem }
func (g *fakeGuest) Charge(u uint64) { g.charged += u }

// fakeServices remembers what it was asked and fails with err if that is set.
type fakeServices struct {
	kv    map[string]string
	asked string
	err   error

	recorder effect.Recorder
}

func (s *fakeServices) Tolls() toll.Table {
	return toll.Table{Call: 100, Storage: 1000, Connect: 10000, BytesPerUnit: 1}
}

func (s *fakeServices) Recorder() effect.Recorder { return s.recorder }

func (s *fakeServices) KVGet(_ context.Context, key []byte) ([]byte, error) {
	v, ok := s.kv[string(key)]
	if !ok {
		return nil, NotFound
	}
	return []byte(v), s.err
}

func (s *fakeServices) KVPut(_ context.Context, key, value []byte) error {
	s.kv[string(key)] = string(value)
	return s.err
}

func (s *fakeServices) StorageRead(_ context.Context, path string, p []byte, off int64) (int, error) {
	s.asked = fmt.Sprintf("read %s %d %d", path, len(p), off)
	return copy(p, "content"), s.err
}

func (s *fakeServices) StorageWrite(_ context.Context, path string, p []byte, where Where) (int, error) {
	s.asked = fmt.Sprintf("write %s %q %d", path, p, where)
	return len(p), s.err
}

func (s *fakeServices) Egress(_ context.Context, endpoint string, request, response []byte) (int, error) {
	s.asked = fmt.Sprintf("egress %s %q", endpoint, request)
	return copy(response, "answer"), s.err
}

func (s *fakeServices) WallClock() (int64, error)                 { return 1_800_000_000_000_000_000, s.err }
func (s *fakeServices) RandomU64(context.Context) (uint64, error) { return math.MaxUint64, s.err }
func (s *fakeServices) Log(_ context.Context, l Level, m []byte) error {
	s.asked = fmt.Sprintf("log %v %s", l, m)
	return s.err
}

// fixture is a guest with texts in its memory: "name" at 0, "data" at 16.
func fixture() (*fakeGuest, *fakeServices) {
	g := &fakeGuest{mem: make([]byte, 4<<20)}
	copy(g.mem, "/path")
	copy(g.mem[16:], "data")
	copy(g.mem[32:], "h:443")
	return g, &fakeServices{kv: map[string]string{"/path": "value"}}
}

func call32(t *testing.T, g *fakeGuest, s Services, name string, args ...uint64) int32 {
	t.Helper()
	stack := append(args, 0)
	if !Invoke(t.Context(), s, g, name, stack) {
		t.Fatalf("no such call: %s", name)
	}
	if stack[0]>>32 != 0 && name != "clock_now" {
		t.Errorf("%s: the upper half of an i32 is %#x, want zero", name, stack[0]>>32)
	}
	return int32(stack[0])
}

func TestCalls(t *testing.T) {
	const out, far = 1 << 20, 4<<20 - 2
	for _, tt := range []struct {
		name   string
		args   []uint64
		want   int32
		asked  string
		charge uint64
	}{
		{"kv_get", []uint64{0, 5, out, 10}, 5, "", 110},
		{"kv_get", []uint64{0, 5, out, 4}, 5, "", 105},
		{"kv_get", []uint64{0, 5, out, 0}, 5, "", 105},
		{"kv_get", []uint64{16, 4, out, 10}, int32(NotFound), "", 104},
		{"kv_get", []uint64{0, MaxKey + 1, out, 10}, int32(TooLarge), "", 100},
		{"kv_get", []uint64{far, 5, out, 10}, int32(Invalid), "", 100},
		{"kv_get", []uint64{0, 5, far, 10}, int32(Invalid), "", 105},
		{"kv_get", []uint64{1<<32 - 1, 1<<32 - 1, out, 10}, int32(Invalid), "", 100},
		{"kv_put", []uint64{0, 5, 16, 4}, 0, "", 109},
		{"kv_put", []uint64{0, 5, 16, MaxValue + 1}, int32(TooLarge), "", 105},
		{"kv_put", []uint64{0, 5, far, 4}, int32(Invalid), "", 105},
		{"storage_read", []uint64{0, 5, 3, out, 100}, 7, "read /path 100 3", 1112},
		{"storage_read", []uint64{0, 5, 3, out, 2 << 20}, 7, "read /path 1048576 3", 1112},
		{"storage_read", []uint64{0, 5, 1 << 63, out, 100}, int32(Invalid), "", 105},
		{"storage_read", []uint64{0, 0, 0, out, 100}, int32(Invalid), "", 100},
		{"storage_read", []uint64{0, 6, 0, out, 100}, int32(Invalid), "", 106}, // a NUL in it
		{"storage_read", []uint64{0, MaxName + 1, 0, out, 100}, int32(TooLarge), "", 100},
		{"storage_write", []uint64{0, 5, 0, 16, 4}, 4, `write /path "data" 0`, 1109},
		{"storage_write", []uint64{0, 5, 1<<64 - 1, 16, 4}, 4, `write /path "data" -1`, 1109},
		{"storage_write", []uint64{0, 5, 1<<64 - 2, 16, 4}, 4, `write /path "data" -2`, 1109},
		{"storage_write", []uint64{0, 5, 1<<64 - 3, 16, 4}, int32(Invalid), "", 105},
		{"storage_write", []uint64{0, 5, 0, 16, MaxTransfer + 1}, int32(TooLarge), "", 105},
		{"egress", []uint64{32, 5, 16, 4, out, 3}, 3, `egress h:443 "data"`, 10112},
		{"egress", []uint64{32, 5, 16, 0, out, 0}, 0, `egress h:443 ""`, 10105},
		{"egress", []uint64{32, 5, 16, 4, far, 3}, int32(Invalid), "", 109},
		{"random_u64", []uint64{out}, 0, "", 108},
		{"random_u64", []uint64{4<<20 - 7}, int32(Invalid), "", 100},
		{"log", []uint64{2, 16, 4}, 0, "log warn data", 104},
		{"log", []uint64{4, 16, 4}, int32(Invalid), "", 100},
		{"log", []uint64{0, 16, MaxLog + 1}, int32(TooLarge), "", 100},
	} {
		g, s := fixture()
		got := call32(t, g, s, tt.name, tt.args...)
		if got != tt.want || s.asked != tt.asked || g.charged != tt.charge {
			t.Errorf("%s%v: got %d, asked %q, charged %d; want %d, %q, %d", tt.name, tt.args, got, s.asked, g.charged, tt.want, tt.asked, tt.charge)
		}
	}
}

func TestValuesAreWrittenWholeOrNotAtAll(t *testing.T) {
	g, s := fixture()
	call32(t, g, s, "kv_get", 0, 5, 64, 4)
	if text := string(g.mem[64:69]); strings.Trim(text, "\x00") != "" {
		t.Errorf("too small a buffer: got %q in it", text)
	}
	call32(t, g, s, "kv_get", 0, 5, 64, 5)
	if text := string(g.mem[64:69]); text != "value" {
		t.Errorf("got %q", text)
	}
	call32(t, g, s, "random_u64", 128)
	if v := binary.LittleEndian.Uint64(g.mem[128:]); v != math.MaxUint64 {
		t.Errorf("random: got %#x", v)
	}
}

func TestErrorsBecomeCodes(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Code
	}{{Denied, Denied}, {fmt.Errorf("wrapped: %w", TooLarge), TooLarge}, {errors.New("anything"), IO}, {Unavailable, Unavailable}} {
		g, s := fixture()
		s.err = tt.err
		for name, args := range map[string][]uint64{
			"kv_get": {0, 5, 64, 9}, "kv_put": {0, 5, 16, 4}, "storage_read": {0, 5, 0, 64, 9}, "storage_write": {0, 5, 0, 16, 4},
			"egress": {32, 5, 16, 4, 64, 9}, "clock_now": {}, "random_u64": {64}, "log": {0, 16, 4},
		} {
			if got := call32(t, g, s, name, args...); Code(got) != tt.want {
				t.Errorf("%s with %v: got %d, want %d", name, tt.err, got, tt.want)
			}
		}
	}
}

func TestClockIs64Bits(t *testing.T) {
	g, s := fixture()
	stack := []uint64{0}
	Invoke(t.Context(), s, g, "clock_now", stack)
	if stack[0] != 1_800_000_000_000_000_000 {
		t.Errorf("got %d", stack[0])
	}
	s.err = Denied
	Invoke(t.Context(), s, g, "clock_now", stack)
	if int64(stack[0]) != -1 {
		t.Errorf("denied: got %d, want -1 in 64 bits", int64(stack[0]))
	}
}

func TestNoMemory(t *testing.T) {
	g, s := fixture()
	g.mem = nil
	for name, args := range map[string][]uint64{"kv_get": {0, 1, 0, 0}, "random_u64": {0}, "log": {0, 0, 1}, "egress": {0, 1, 0, 0, 0, 0}} {
		if got := call32(t, g, s, name, args...); Code(got) != Invalid {
			t.Errorf("%s without memory: got %d, want invalid", name, got)
		}
	}
}
