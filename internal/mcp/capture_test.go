package mcp

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"testing"
	"unicode/utf8"
)

func TestCaptureKeepsHeadAndTail(t *testing.T) {
	for _, c := range []struct {
		limit            int
		writes           []string
		data, tail, code string
		dropped          uint64
	}{
		{10, []string{"hello"}, "hello", "", "utf-8", 0},
		{10, []string{"0123", "456789"}, "0123456789", "", "utf-8", 0},
		{10, []string{"0123456789a"}, "01234", "6789a", "utf-8", 1},
		{10, []string{"0123456789", "abcdefgh", "ij"}, "01234", "fghij", "utf-8", 10},
		{0, []string{"abc"}, "", "", "utf-8", 3},
		{1, []string{"abc"}, "a", "", "utf-8", 2},
		{8, []string{"aé", "éééé", "ééz"}, "aé", "éz", "utf-8", 10},
		{8, []string{"🎲🎲🎲🎲"}, "🎲", "🎲", "utf-8", 8},
		{100, []string{"a\xff"}, base64.StdEncoding.EncodeToString([]byte("a\xff")), "", "base64", 0},
		{100, []string{"a\x00b"}, base64.StdEncoding.EncodeToString([]byte("a\x00b")), "", "base64", 0},
		{4, []string{"\xff\xfe\xfd\xfc\xfb\xfa"}, "//4=", "+/o=", "base64", 2},
	} {
		w := newCapture(c.limit)
		total := 0
		for _, s := range c.writes {
			if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
				t.Fatal(n, err)
			}
			total += len(s)
		}
		s := w.stream()
		if s.Data != c.data || s.Tail != c.tail || s.Encoding != c.code || s.Dropped != c.dropped || s.Bytes != uint64(total) {
			t.Errorf("%d %q: got %+v", c.limit, c.writes, s)
		}
	}
}

// However it is written, what is kept is the beginning and the end of it, and what
// is said to be missing is missing.
func FuzzCapture(f *testing.F) {
	f.Add([]byte("hello, ein Würfel 🎲 and more"), 7, uint8(3))
	f.Add(bytes.Repeat([]byte{0xe2, 0x82, 0xac}, 50), 10, uint8(2))
	f.Fuzz(func(t *testing.T, p []byte, limit int, chunk uint8) {
		if limit < 0 || limit > 1000 {
			return
		}
		w := newCapture(limit)
		for rest := p; len(rest) > 0; {
			n := min(int(chunk)+1, len(rest))
			_, _ = w.Write(rest[:n])
			rest = rest[n:]
		}
		s := w.stream()
		data, tail := []byte(s.Data), []byte(s.Tail)
		if s.Encoding == encodingBase64 {
			var err error
			if data, err = base64.StdEncoding.DecodeString(s.Data); err != nil {
				t.Fatal(err)
			}
			if tail, err = base64.StdEncoding.DecodeString(s.Tail); err != nil {
				t.Fatal(err)
			}
		} else if !utf8.Valid(data) || !utf8.Valid(tail) {
			t.Errorf("not UTF-8: %+v", s)
		}
		if !bytes.HasPrefix(p, data) || !bytes.HasSuffix(p, tail) || s.Bytes != uint64(len(p)) || s.Dropped != uint64(len(p)-len(data)-len(tail)) {
			t.Errorf("%q: %+v", p, s)
		}
		if len(data)+len(tail) > limit || len(p) <= limit && s.Dropped != 0 {
			t.Errorf("limit %d: %+v", limit, s)
		}
	})
}

// An endless writer costs no more than the cap.
func TestCaptureHoldsNoMoreThanItsLimit(t *testing.T) {
	w := newCapture(64 << 10)
	chunk := bytes.Repeat([]byte("y\n"), 4096)
	for range 10_000 {
		_, _ = w.Write(chunk)
	}
	if cap(w.head)+cap(w.tail) > 4*w.limit {
		t.Errorf("it holds %d bytes", cap(w.head)+cap(w.tail))
	}
}

func FuzzParseMessage(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `[]`, `{"jsonrpc":"2.0","id":1,"id":2}`, `{"id":9007199254740993,"method":"x","jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		m, refused := parseMessage(src)
		if refused != nil {
			if refused.Code != -32700 && refused.Code != -32600 && refused.Code != -32602 {
				t.Errorf("code %d", refused.Code)
			}
			if _, again := parseMessage(errorMessage(nil, refused)); again != nil {
				t.Errorf("an error that is no message: %s", errorMessage(nil, refused))
			}
			return
		}
		if m.id != nil && !validID(m.id) {
			t.Errorf("id %s", m.id)
		}
		// What comes through can be written again and means the same.
		a := &answers{}
		if m.method != "" {
			again, refused := parseMessage(a.rename(m, src))
			if refused != nil || again.method != m.method {
				t.Errorf("%q: %v", src, refused)
			}
		}
	})
}

func TestIDsComeBackAsTheyWere(t *testing.T) {
	s := newIDs()
	wires := []string{`1`, `-0`, `"1"`, `9007199254740993`, `9007199254740992`, `"joulebox:1"`, `"\u0061"`, `"a"`, `1`, `123456789012345678901234567890`, `""`}
	seen := map[any]bool{}
	for _, w := range wires {
		id, ok := s.enter([]byte(w))
		if !ok || seen[id.Raw()] {
			t.Errorf("%s: %v goes by an id that another goes by", w, id.Raw())
		}
		seen[id.Raw()] = true
		defer func() {
			if back, wanted := s.leave(id); string(back) != w || wanted == (w == `"a"` || w == `"\u0061"`) {
				t.Errorf("%s comes back as %s", w, back)
			}
		}()
	}
	if got := len(s.cancel([]byte(`"a"`))); got != 2 {
		t.Errorf("%d calls go by %q", got, "a")
	}
	for i := range maxInFlight - len(wires) {
		s.enter([]byte(fmt.Sprint(1000 + i)))
	}
	if _, ok := s.enter([]byte(`5`)); ok {
		t.Error("one too many")
	}
}
