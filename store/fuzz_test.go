package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk/disktest"
)

// FuzzFrame: what parses encodes to the same bytes.
func FuzzFrame(f *testing.F) {
	s := salt{1, 2, 3}
	for _, data := range []string{"", "data", "jbr1"} {
		f.Add(appendFrame(nil, &s, recordFrame, 64, 0, []byte(data), nil))
		f.Add(appendFrame(nil, &s, recordFrame, 64, 7, []byte(data), []joulebox.ID{simKey(1), simKey(2)}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// Most inputs fail at the check, so each is tried with a right one too.
		for _, b := range [][]byte{b, rechecked(&s, b)} {
			got, err := parseFrame(b, &s, 64)
			if err != nil {
				continue
			}
			again := appendFrame(nil, &s, got.kind, 64, got.back, got.data, got.keys)
			if !bytes.Equal(again, b[:got.length]) {
				t.Fatalf("%x parses and encodes as %x", b, again)
			}
			if _, err := parseFrame(b, &s, 65); err == nil {
				t.Fatal("a frame is valid in two places")
			}
		}
	})
}

func rechecked(s *salt, b []byte) []byte {
	length, err := peekFrame(b)
	if err != nil || int64(len(b)) < length {
		return b
	}
	b = bytes.Clone(b)
	check := s.check(64, b[:length-frameTail])
	copy(b[length-frameTail:], check[:frameCheck])
	copy(b[length-4:length], b[4:8])
	return b
}

// FuzzLog opens any bytes as a log's segment: it's read, cut or refused, and what
// is appended then is there.
func FuzzLog(f *testing.F) {
	s := salt{9}
	segment := s.header(0)
	f.Add(bytes.Clone(segment))
	for i := range 3 {
		segment = appendFrame(segment, &s, recordFrame, int64(len(segment)), 0, simRecord(i), []joulebox.ID{simKey(i)})
		f.Add(bytes.Clone(segment))
	}
	f.Add(segment[:len(segment)-3])
	f.Add(appendFrame(segment, &s, endFrame, int64(len(segment)), 0, nil, nil))
	f.Fuzz(func(t *testing.T, segment []byte) {
		d := disktest.New()
		if err := errors.Join(d.Mkdir("/log"), writeAll(d, "/log/"+segmentName(0), segment)); err != nil {
			t.Fatal(err)
		}
		l, err := openLog(d, "/log", defaultLog)
		if err != nil {
			return
		}
		defer l.Close()
		before, readable := 0, true
		for _, err := range l.Records(context.Background(), 0) {
			if err != nil {
				readable = false
				break
			}
			before++
		}
		at, err := l.Append(context.Background(), []byte("new"), simKey(77))
		if err != nil || !readable {
			return
		}
		after := 0
		for r, err := range l.Records(context.Background(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if after++; after == before+1 && (r.Offset != at || string(r.Data) != "new") {
				t.Fatalf("got %q at %d, want the new record at %d", r.Data, r.Offset, at)
			}
		}
		if after != before+1 {
			t.Fatalf("got %d records, want %d", after, before+1)
		}
	})
}

func writeAll(d *disktest.Sim, name string, data []byte) error {
	f, err := d.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(data, 0)
	return err
}

// FuzzIndexFile looks things up in any bytes.
func FuzzIndexFile(f *testing.F) {
	s := salt{9}
	entries := []entry{{simKey(1), 64}, {simKey(2), 164}}
	if entries[0].compare(entries[1]) > 0 {
		entries[0], entries[1] = entries[1], entries[0]
	}
	f.Add(encodeIndex(&s, 1000, entries))
	f.Add(encodeIndex(&s, 1000, nil))
	f.Fuzz(func(t *testing.T, file []byte) {
		for n := range len(file) / pageBytes { // see past the check
			sealPage(&s, int64(n), file[n*pageBytes:][:pageBytes])
		}
		d := disktest.New()
		if err := writeAll(d, "/x.idx", file); err != nil {
			t.Fatal(err)
		}
		h, err := d.Open("/x.idx", os.O_RDONLY)
		if err != nil {
			t.Fatal(err)
		}
		x := indexFile{file: h, salt: s}
		if x.readHeader(1000) != nil {
			return
		}
		span := keyRange{simKey(1), simKey(1)}
		found, err := x.find(span)
		for _, e := range found {
			if err == nil && !span.contains(e.key) {
				t.Fatalf("got %v, want it within the span", e.key)
			}
		}
	})
}

func FuzzPrefix(f *testing.F) {
	f.Add(simKey(1).String(), simKey(2).String())
	f.Add("b3:A", "A")
	f.Fuzz(func(t *testing.T, prefix, other string) {
		r, err := parsePrefix(prefix)
		if err != nil {
			return
		}
		id, err := joulebox.ParseID(other)
		if err != nil {
			id = joulebox.Sum([]byte(other))
		}
		text := id.String()
		body := prefix
		if len(prefix) > 2 && prefix[:3] == "b3:" {
			body = prefix[3:]
		}
		if want := len(body) <= 43 && text[3:][:len(body)] == body; r.contains(id) != want {
			t.Fatalf("%q holds %v: got %t, want %t", prefix, id, !want, want)
		}
	})
}
