package journal

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/dcbor"
)

// run is a small journal with an entry of every kind but a Cut.
func run() []Entry {
	state := State{Units: 500, Calls: 2, Memory: 65536, Hash: joulebox.Sum([]byte("state"))}
	return []Entry{
		&Begin{Unit: joulebox.Sum([]byte("u")), Module: joulebox.Sum([]byte("m")), Entry: "run", Metering: "m/1",
			Limits: Limits{1000, 64, 1 << 20, 100, 4}, Every: 7, Args: []string{"unit", "\xff"},
			Env: []Variable{{Name: "A", Value: "b"}, {Name: "T", Secret: true, Digest: Secret([32]byte{9}, "s")}}},
		&Call{Name: "m.f", Args: []uint64{1, 1 << 40}, Result: 3, Units: 100, Writes: []Write{{At: 5, Bytes: []byte("xyz")}, {At: 8, Secret: 1}}},
		&Call{Name: "m.g", Args: []uint64{}, Units: 100, Writes: []Write{}},
		&state,
		&Call{Name: "m.f", Args: []uint64{7}, Units: 9, Writes: []Write{{At: 1, Bytes: []byte{}}}, Broke: true},
		&End{Cause: "trapped", Code: 1, Trap: "unreachable", Units: 900, Instructions: 700, Vectors: 2, Peak: 1 << 20,
			State: State{Units: 900, Calls: 3, Memory: 65536, Hash: joulebox.Sum([]byte("end"))}},
	}
}

func written(t testing.TB, limit int64, entries ...Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, [32]byte{9}, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := w.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestWrittenIsRead(t *testing.T) {
	want := run()
	j, err := Read(written(t, 0, want...))
	if err != nil {
		t.Fatal(err)
	}
	if j.Len() != uint64(len(want))+1 || j.Salt != [32]byte{9} {
		t.Fatalf("got %d entries under salt %x", j.Len(), j.Salt)
	}
	for i, w := range want {
		got, err := j.Entry(uint64(i) + 2)
		if err != nil || !reflect.DeepEqual(got, w) {
			t.Errorf("entry %d: got %#v, %v, want %#v", i+2, got, err, w)
		}
		if err := dcbor.Check(j.bytes(uint64(i + 2))); err != nil {
			t.Errorf("entry %d isn't deterministic: %v", i+2, err)
		}
	}
	if root, _, err := Root(written(t, 0, want...)); err != nil || root != j.Root() {
		t.Errorf("got root %s, want %s, %v", j.Root(), root, err)
	}
}

// Every byte of every entry, and every entry's place: what is changed is found,
// at the entry that was changed.
func TestEveryChangeIsFoundInItsPlace(t *testing.T) {
	whole := written(t, 0, run()...)
	var entries [][]byte
	for e, err := range Entries(whole) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	refusedAt := func(what string, want uint64, entries [][]byte) {
		t.Helper()
		var b []byte
		for _, e := range entries {
			b = AppendEntry(b, e)
		}
		_, err := Read(b)
		var at *Error
		if !errors.As(err, &at) || at.Entry != want {
			t.Errorf("%s: got %v, want entry %d refused", what, err, want)
		}
	}
	for i := range entries {
		for at := range entries[i] {
			changed := append([][]byte(nil), entries...)
			changed[i] = bytes.Clone(entries[i])
			changed[i][at] ^= 1
			want := uint64(i + 1)
			if i == 0 && at > 1 {
				want = 2 // the salt is any 32 bytes: the next entry's check tells
			}
			refusedAt("a flipped bit", want, changed)
		}
		if i > 0 {
			without := append(append([][]byte(nil), entries[:i]...), entries[i+1:]...)
			refusedAt("a left out entry", uint64(i+1), without)
			twice := append(append([][]byte(nil), entries[:i+1]...), entries[i:]...)
			refusedAt("a doubled entry", uint64(i+2), twice)
			refusedAt("a journal without its end", uint64(i+1), entries[:i])
		}
	}
}

func TestOrderIsRefused(t *testing.T) {
	e := run()
	for name, c := range map[string]struct {
		entries []Entry
		want    string
	}{
		"no beginning":   {e[1:], "one beginning"},
		"two beginnings": {append([]Entry{e[0]}, e...), "one beginning"},
		"after the end":  {append(append([]Entry(nil), e...), e[1]), "nothing after the end"},
		"no end":         {e[:5], "isn't whole"},
		"nothing":        {nil, "isn't whole"},
	} {
		if _, err := Read(written(t, 0, c.entries...)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want it to say %q", name, err, c.want)
		}
	}
}

// A journal that is full has the call that didn't fit, and still its end.
func TestFull(t *testing.T) {
	var b bytes.Buffer
	const limit = 6 * reserve
	w, err := NewWriter(&b, [32]byte{}, limit)
	if err != nil {
		t.Fatal(err)
	}
	e := run()
	if err := w.Add(e[0]); err != nil {
		t.Fatal(err)
	}
	big := &Call{Name: "m.f", Args: []uint64{1}, Units: 5, Writes: []Write{{Bytes: make([]byte, 1000)}}}
	calls := 0
	for ; err == nil; calls++ {
		err = w.Add(big)
	}
	if !errors.Is(err, ErrFull) || !errors.Is(w.Add(e[1]), ErrFull) {
		t.Fatalf("got %v after %d calls, want it full, and to stay so", err, calls)
	}
	if err := w.Add(e[5]); err != nil {
		t.Fatal(err)
	}
	j, err := Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	cut, err := j.Entry(j.Len() - 1)
	if want := (&Cut{Name: "m.f", Args: []uint64{1}, Units: 5}); err != nil || !reflect.DeepEqual(cut, want) {
		t.Errorf("got %#v, want %#v", cut, want)
	}
	if b.Len() > limit || calls < 15 {
		t.Errorf("%d calls took %d bytes, of %d", calls, b.Len(), limit)
	}
	if _, err := NewWriter(&b, [32]byte{}, 100); err == nil {
		t.Error("a limit without room was taken")
	}
}

// brokenPipe fails after some bytes.
type brokenPipe struct{ left int }

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.left -= len(b); p.left < 0 {
		return 0, errors.New("pipe broken")
	}
	return len(b), nil
}

func TestAStreamThatFails(t *testing.T) {
	w, err := NewWriter(&brokenPipe{300}, [32]byte{}, 0)
	for _, e := range run() {
		if err == nil {
			err = w.Add(e)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "pipe broken") {
		t.Fatalf("got %v", err)
	}
	if again := w.Add(run()[5]); again == nil {
		t.Error("an end was written to a journal with a hole")
	}
}

func TestSecret(t *testing.T) {
	salt := [32]byte{1}
	v := Variable{Secret: true, Digest: Secret(salt, "hunter2")}
	if !v.Reveals(salt, "hunter2") || v.Reveals(salt, "hunter3") || v.Reveals([32]byte{}, "hunter2") {
		t.Error("the digest doesn't tell")
	}
	if want := joulebox.Sum(append(salt[:], "hunter2"...)); v.Digest != want {
		t.Errorf("got %s, want BLAKE3(salt ‖ value), %s", v.Digest, want)
	}
}

// FuzzParse: what is read as an entry is written again to the same bytes.
func FuzzParse(f *testing.F) {
	for e, err := range Entries(written(f, 0, run()...)) {
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := Parse(in)
		if err != nil {
			return
		}
		if err := dcbor.Check(in); err != nil {
			t.Errorf("%x was read, and is refused: %v", in, err)
		}
		out := appendHead(nil, majorArray<<5, uint64(lengths[v.kind()]))
		out = append(appendHead(out, majorBytes<<5, checkSize), in[2:2+checkSize]...)
		if out = appendBody(out, v); !bytes.Equal(out, in) {
			t.Errorf("written again:\n got %x\nfrom %x", out, in)
		}
		if Describe(v) == "" {
			t.Error("no words for it")
		}
	})
}

// FuzzRead: nothing that can be in a file makes Read do worse than refuse it.
func FuzzRead(f *testing.F) {
	f.Add(written(f, 0, run()...))
	f.Fuzz(func(t *testing.T, in []byte) {
		j, err := Read(in)
		if err != nil {
			return
		}
		if root, n, err := Root(in); err != nil || root != j.Root() || n != j.Len() {
			t.Errorf("got %s over %d, want %s over %d, %v", j.Root(), j.Len(), root, n, err)
		}
	})
}

// A journal that is read while it grows, and moves as it does, is the same one, and
// so is what is wrong with one that was changed.
func TestReadWhileItGrows(t *testing.T) {
	whole := written(t, 0, run()...)
	for n := range len(whole) + 1 {
		in := bytes.Clone(whole)
		if n < len(whole) {
			in[n] ^= 1
		}
		want, wantErr := Read(in)
		for _, step := range []int{1, 7, 50, len(in)} {
			var r Reader
			for end := 0; end < len(in); end += step {
				r.More(bytes.Clone(in[:end]))
			}
			got, err := r.End(in)
			if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
				t.Fatalf("byte %d, in steps of %d: got %v, want %v", n, step, err, wantErr)
			}
			if err == nil && (got.Root() != want.Root() || got.Len() != want.Len()) {
				t.Fatalf("in steps of %d: got %s over %d, want %s over %d", step, got.Root(), got.Len(), want.Root(), want.Len())
			}
		}
		if err := wantErr; n == len(whole) && err != nil {
			t.Fatal(err)
		}
	}
}

// A journal of another version says so, before anything else is found wrong with
// it: its entries may have another form.
func TestOtherVersions(t *testing.T) {
	salt := AppendEntry(nil, append([]byte{0x58, SaltSize}, make([]byte, SaltSize)...))
	for version, begin := range map[byte][]byte{
		1: {0x83, 0x48, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1}, // whose checks had 8 bytes
		9: {0x83, 0x44, 1, 2, 3, 4, 0, 9},
	} {
		_, err := Read(AppendEntry(bytes.Clone(salt), begin))
		if want := fmt.Sprintf("entry 2: got version %d: ", version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	w, err := NewWriter(discard{}, [32]byte{}, 1<<50)
	if err != nil {
		b.Fatal(err)
	}
	c := &Call{Name: "wasi_snapshot_preview1.clock_time_get", Args: []uint64{0, 0, 1 << 16}, Units: 100, Writes: []Write{{At: 1 << 16, Bytes: make([]byte, 8)}}}
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Add(c); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
