package custody

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"github.com/joulebox/joulebox"
)

// FuzzKeyFile: what parses encodes to the same bytes.
func FuzzKeyFile(f *testing.F) {
	for n := range 2 {
		text, err := encodeKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(n)}, 32)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(append([]byte("\n"), text...))
		f.Add(append(bytes.Clone(text), text...))
		f.Add(bytes.Replace(text, []byte("-----\n"), []byte("-----\nProc-Type: 4\n\n"), 1))
		f.Add(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		private, err := parseKey(text)
		if err != nil {
			return
		}
		if again, err := encodeKey(private); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("%q parses and encodes as %q, %v", text, again, err)
		}
	})
}

func someCounter(n uint64) counter {
	p := place{mark("machine", "m"), mark("boot", "b"), joulebox.ID{}, 254 << 8, node{5309371, 1701385935123456789}, node{77, -1}}
	return counter{joulebox.Sum([]byte{1}), n%2 == 1, n, firstSequence + n, p}
}

// FuzzCounter: what parses encodes to the same bytes, alone and as one of two.
func FuzzCounter(f *testing.F) {
	f.Add(someCounter(0).encode(), someCounter(1).encode())
	f.Add(someCounter(3).encode(), someCounter(2).encode())
	f.Add(someCounter(3).encode(), someCounter(3).encode())
	f.Add([]byte{}, someCounter(2).encode())
	f.Fuzz(func(t *testing.T, a, b []byte) {
		// Most inputs fail at the check, so each is tried with a right one too.
		a, b = rechecked(a), rechecked(b)
		one, errA := parseCounter(a)
		two, errB := parseCounter(b)
		if errA == nil && !bytes.Equal(one.encode(), a) {
			t.Fatalf("%q parses and encodes as %q", a, one.encode())
		}
		file := bytes.Repeat([]byte("\n"), counterFile)
		copy(file[:slotStride], a)
		copy(file[slotStride:], b)
		c, err := parseCounters(file)
		if err != nil {
			return
		}
		if errA == nil && c.next < one.next && c.generation < one.generation || errB == nil && c.generation < two.generation {
			t.Fatalf("got %+v, want the newer of %+v and %+v", c, one, two)
		}
		next, first, ok := c.advance(1)
		if ok && (first < c.next || next.next != first+1 || next.generation == 0) {
			t.Fatalf("advance: got %+v from %+v", next, c)
		}
	})
}

func rechecked(slot []byte) []byte {
	text, _, found := bytes.Cut(slot, []byte("check "))
	if !found || len(text) > slotBytes-60 {
		return slot
	}
	whole := append(bytes.Clone(text), "check "+joulebox.Sum(text).String()+"\n"...)
	return append(whole, bytes.Repeat([]byte("\n"), slotBytes-len(whole))...)
}

func FuzzTrust(f *testing.F) {
	f.Add([]byte(trustHeader))
	f.Add(encodeTrust([]TrustedKey{{"alice", somePublic(1)}, {"bob", somePublic(2)}}))
	f.Add([]byte(trustHeader + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := parseTrust(text)
		if err != nil {
			return
		}
		if again := encodeTrust(keys); !bytes.Equal(again, text) {
			t.Fatalf("%q parses and encodes as %q", text, again)
		}
	})
}

func TestLargestCounterFits(t *testing.T) {
	c := counter{joulebox.Sum(nil), true, 1<<64 - 1, maxSequence + 1, place{mark("a", ""), mark("b", ""), mark("c", ""),
		1<<64 - 1, node{1<<64 - 1, -1 << 63}, node{1<<64 - 1, -1 << 63}}}
	if got, err := parseCounter(c.encode()); err != nil || got != c {
		t.Fatalf("got %+v, %v, want %+v", got, err, c)
	}
	if _, _, ok := (counters{c, 0, false}).advance(1); ok {
		t.Fatal("a number beyond 2^53-1 was given out")
	}
}
