package journal

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/dcbor"
)

func encoded(t testing.TB, v any) []byte {
	t.Helper()
	b, err := dcbor.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sample is a journal of a salt and entries of every head width that is small
// enough to test with.
func sample(t testing.TB) (entries [][]byte, container []byte) {
	t.Helper()
	entries = [][]byte{
		encoded(t, bytes.Repeat([]byte{7}, SaltSize)),
		encoded(t, 1),
		encoded(t, strings.Repeat("x", 22)), // 23 bytes
		encoded(t, strings.Repeat("x", 23)), // 24
		encoded(t, strings.Repeat("x", 253)),
		encoded(t, strings.Repeat("x", 254)),
		encoded(t, strings.Repeat("x", 65533)),
		encoded(t, strings.Repeat("x", 65600)),
	}
	for _, e := range entries {
		container = AppendEntry(container, e)
	}
	return entries, container
}

// The root, computed here from the definition alone.
func naiveRoot(entries [][]byte) (head joulebox.ID) {
	for i, e := range entries {
		var in []byte
		in = append(in, "sandbox.journal/1"...)
		in = binary.BigEndian.AppendUint64(in, uint64(i+1))
		in = append(in, head[:]...)
		head = joulebox.Sum(append(in, e...))
	}
	return head
}

func TestRoot(t *testing.T) {
	entries, container := sample(t)
	root, n, err := Root(container)
	if err != nil {
		t.Fatal(err)
	}
	if want := naiveRoot(entries); root != want || n != uint64(len(entries)) {
		t.Errorf("got %s over %d, want %s over %d", root, n, want, len(entries))
	}
	var got [][]byte
	for e, err := range Entries(container) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if !slices.EqualFunc(got, entries, bytes.Equal) {
		t.Error("the entries that come out aren't those that went in")
	}
}

// A container that is cut anywhere has another root or none.
func TestEveryCutShows(t *testing.T) {
	entries, container := sample(t)
	want := naiveRoot(entries)
	for cut := range container {
		if cut > 700 && cut%1001 != 0 {
			continue
		}
		if root, _, err := Root(container[:cut]); err == nil && root == want {
			t.Errorf("cut at %d: the root is still %s", cut, root)
		}
	}
}

func TestOrderShows(t *testing.T) {
	entries, _ := sample(t)
	entries[1], entries[2] = entries[2], entries[1]
	swapped := naiveRoot(entries)
	entries[1], entries[2] = entries[2], entries[1]
	if swapped == naiveRoot(entries) {
		t.Error("two entries that trade places keep the root")
	}
}

func TestRefusals(t *testing.T) {
	salt := AppendEntry(nil, encoded(t, make([]byte, SaltSize)))
	for _, c := range []struct {
		name string
		in   []byte
		want string
	}{
		{"empty", nil, "no entry"},
		{"no salt", AppendEntry(nil, encoded(t, 1)), "entry 1: want a salt"},
		{"short salt", AppendEntry(nil, encoded(t, make([]byte, 31))), "entry 1: want a salt"},
		{"salt as text", AppendEntry(nil, encoded(t, strings.Repeat("x", 32))), "entry 1: want a salt"},
		{"a bare item", append(slices.Clone(salt), 0x01), "want a byte string"},
		{"an array", append(slices.Clone(salt), 0x80), "want a byte string"},
		{"indefinite", append(slices.Clone(salt), 0x5f, 0xff), "want a byte string"},
		{"a long head", append(slices.Clone(salt), 0x58, 0x01, 0x01), "want the shortest"},
		{"a longer head", append(slices.Clone(salt), 0x59, 0x00, 0xff), "want the shortest"},
		{"the longest head", append(slices.Clone(salt), 0x5b, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff), "want the shortest"},
		{"a cut head", append(slices.Clone(salt), 0x59, 0x01), "breaks off in a head"},
		{"a cut entry", append(slices.Clone(salt), 0x42, 0x01), "breaks off"},
		{"a huge claim", append(slices.Clone(salt), 0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "breaks off"},
		{"an empty entry", AppendEntry(slices.Clone(salt), nil), "entry 2"},
		{"two items in one entry", AppendEntry(slices.Clone(salt), []byte{1, 2}), "entry 2"},
		{"not deterministic", AppendEntry(slices.Clone(salt), []byte{0x18, 0x01}), "entry 2"},
	} {
		if _, _, err := Root(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want it to say %q", c.name, err, c.want)
		}
	}
}

func TestChainStopsAtTheFirstFault(t *testing.T) {
	var c Chain
	if err := c.Append(encoded(t, 1)); err == nil {
		t.Error("began without a salt")
	}
	if c.Len() != 0 || !c.Root().IsZero() {
		t.Error("a refused entry moved the head")
	}
}

// FuzzJournal: what has a root is written again by AppendEntry to the same bytes.
func FuzzJournal(f *testing.F) {
	_, container := sample(f)
	f.Add(container[:400])
	f.Add(AppendEntry(AppendEntry(nil, encoded(f, make([]byte, SaltSize))), encoded(f, 1)))
	f.Fuzz(func(t *testing.T, in []byte) {
		if _, _, err := Root(in); err != nil {
			return
		}
		var out []byte
		for e := range Entries(in) {
			out = AppendEntry(out, e)
		}
		if !bytes.Equal(out, in) {
			t.Errorf("written again:\n got %x\nfrom %x", out, in)
		}
	})
}
