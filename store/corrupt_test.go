package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// logOf writes records 1 to n into a new log and closes it.
func logOf(t *testing.T, n int, conf logConfig) (dir string, offsets []Offset) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "log")
	l := reopen(t, dir, conf)
	for i := 1; i <= n; i++ {
		at, err := l.Append(t.Context(), simRecord(i), simKey(i))
		if err != nil {
			t.Fatal(err)
		}
		offsets = append(offsets, at)
	}
	l.Close()
	return dir, offsets
}

func reopen(t *testing.T, dir string, conf logConfig) *DirLog {
	t.Helper()
	l, err := openLog(disk.OS, dir, conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// numbersIn reads a log as far as it goes.
func numbersIn(t *testing.T, l *DirLog) (numbers []int, failed error) {
	t.Helper()
	for r, err := range l.Records(t.Context(), 0) {
		if err != nil {
			return numbers, err
		}
		n := 1
		for n < 1000 && r.Keys[0] != simKey(n) {
			n++
		}
		if !bytes.Equal(r.Data, simRecord(n)) {
			t.Fatalf("record %d came back as %q", n, r.Data)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

func change(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, f(data), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func upTo(n int) []int {
	var all []int
	for i := 1; i <= n; i++ {
		all = append(all, i)
	}
	return all
}

// TestTornTail cuts the log off at each byte of its last record.
func TestTornTail(t *testing.T) {
	dir, offsets := logOf(t, 5, defaultLog)
	path := filepath.Join(dir, segmentName(0))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := int64(offsets[4]); size < int64(len(whole)); size++ {
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		l := reopen(t, dir, defaultLog)
		if got, err := numbersIn(t, l); err != nil || !slices.Equal(got, upTo(4)) {
			t.Fatalf("cut to %d bytes: got %v, %v, want 1 to 4", size, got, err)
		}
		if at, err := l.Append(t.Context(), simRecord(6), simKey(6)); err != nil || at != offsets[4] {
			t.Fatalf("cut to %d bytes: appended at %d, %v, want %d", size, at, err, offsets[4])
		}
		if got, err := numbersIn(t, l); err != nil || !slices.Equal(got, append(upTo(4), 6)) {
			t.Fatalf("cut to %d bytes: got %v, %v, want 1 to 4 and 6", size, got, err)
		}
		l.Close()
	}
}

// TestChangedByte flips each byte of a log in turn: a record before the last is
// never lost without an error, and the last one's bytes are set aside.
func TestChangedByte(t *testing.T) {
	dir, offsets := logOf(t, 5, defaultLog)
	path := filepath.Join(dir, segmentName(0))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		spoiled := slices.Clone(whole)
		spoiled[at] ^= 0x40
		if err := os.WriteFile(path, spoiled, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := openLog(disk.OS, dir, defaultLog)
		var got []int
		if err == nil {
			got, err = numbersIn(t, l)
			l.Close()
		}
		before := 0
		for before < 5 && int64(offsets[before]) <= int64(at) {
			before++
		}
		before-- // the record that the byte is in
		if before == 4 {
			if err != nil || !slices.Equal(got, upTo(4)) {
				t.Fatalf("byte %d of the last record: got %v, %v, want 1 to 4", at, got, err)
			}
			continue
		}
		var corrupt *CorruptError
		var version *VersionError
		if !errors.As(err, &corrupt) && !errors.As(err, &version) || len(got) > max(0, before) {
			t.Fatalf("byte %d: got %v, %v, want a *CorruptError at record %d", at, got, err, before+1)
		}
	}
	if cuts, err := filepath.Glob(dir + "/*.cut"); err != nil || len(cuts) != 1 {
		t.Fatalf("got %v, %v, want the last record's bytes set aside", cuts, err)
	}
}

// TestCorruptIsNotCut has a bad record in the middle and a torn one at the end:
// the records between them must survive.
func TestCorruptIsNotCut(t *testing.T) {
	dir, offsets := logOf(t, 9, defaultLog)
	path := filepath.Join(dir, segmentName(0))
	change(t, path, func(b []byte) []byte {
		b[offsets[3]+frameHead+3] ^= 1
		return b[:len(b)-5]
	})
	_, err := openLog(disk.OS, dir, defaultLog)
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || corrupt.Offset != offsets[3] {
		t.Fatalf("got %v, want a *CorruptError at %d", err, offsets[3])
	}
	if s, err := os.Stat(path); err != nil || s.Size() < int64(offsets[8]) {
		t.Fatalf("got %v, %v: records were cut off", s, err)
	}
}

// TestForgedTail has a record that holds the bytes of another log's record, and
// a write that was torn right behind those.
func TestForgedTail(t *testing.T) {
	dir, offsets := logOf(t, 3, defaultLog)
	path := filepath.Join(dir, segmentName(0))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	forged := whole[offsets[2]:] // a whole frame, and of this very log
	l := reopen(t, dir, defaultLog)
	at, err := l.Append(t.Context(), append(slices.Clone(forged), make([]byte, 100)...), simKey(4))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := os.Truncate(path, int64(at)+frameHead+32+int64(len(forged))); err != nil {
		t.Fatal(err)
	}
	if got, err := numbersIn(t, reopen(t, dir, defaultLog)); err != nil || !slices.Equal(got, upTo(3)) {
		t.Fatalf("got %v, %v, want 1 to 3", got, err)
	}
}

func TestMissingSegment(t *testing.T) {
	dir, _ := logOf(t, 60, small)
	starts, err := segmentStarts(disk.OS, dir)
	if err != nil || len(starts) < 4 {
		t.Fatalf("got %v, %v, want several segments", starts, err)
	}
	if err := os.Remove(filepath.Join(dir, segmentName(starts[2]))); err != nil {
		t.Fatal(err)
	}
	l := reopen(t, dir, small)
	var corrupt *CorruptError
	if got, err := numbersIn(t, l); !errors.As(err, &corrupt) {
		t.Errorf("records: got %d, %v, want a *CorruptError", len(got), err)
	}
	for _, err = range l.Recent(t.Context()) {
	}
	if !errors.As(err, &corrupt) {
		t.Errorf("recent: got %v, want a *CorruptError", err)
	}
	for _, err = range l.Find(t.Context(), simKey(50)) {
	}
	if !errors.As(err, &corrupt) {
		t.Errorf("find: got %v, want a *CorruptError", err)
	}
}

func TestOtherVersions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), simRecord(1), simKey(1)); err != nil {
		t.Fatal(err)
	}
	s.Close()
	var version *VersionError
	segment := filepath.Join(dir, "log", segmentName(0))
	change(t, segment, func(b []byte) []byte { return bytes.Replace(b, []byte("log 1"), []byte("log 2"), 1) })
	if _, err := Open(dir); !errors.As(err, &version) || version.Got != "joulebox-log 2" {
		t.Fatalf("got %v, want a *VersionError", err)
	}
	if err := os.Remove(dir + "/version"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/version", []byte("joulebox-store 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.As(err, &version) || version.Got != "joulebox-store 9" {
		t.Fatalf("got %v, want a *VersionError", err)
	}
	if _, err := Open(t.TempDir()); err != nil {
		t.Fatalf("an empty folder: got %v, want a store made there", err)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(foreign+"/thesis.txt", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(foreign); err == nil || !strings.Contains(err.Error(), "thesis.txt") {
		t.Fatalf("got %v, want someone's folder refused", err)
	}
}

// TestSpoiledIndex changes index files in every way: the answers stay right.
func TestSpoiledIndex(t *testing.T) {
	dir, _ := logOf(t, 60, small)
	find := func(what string) {
		t.Helper()
		l := reopen(t, dir, small)
		defer l.Close()
		for n := 1; n <= 60; n++ {
			found := 0
			for r, err := range l.Find(t.Context(), simKey(n)) {
				if err != nil || !bytes.Equal(r.Data, simRecord(n)) {
					t.Fatalf("%s: find %d: got %q, %v", what, n, r.Data, err)
				}
				found++
			}
			if found != 1 {
				t.Fatalf("%s: find %d: got %d records, want 1", what, n, found)
			}
			if id, err := l.Resolve(t.Context(), simKey(n).String()[:16]); err != nil || id != simKey(n) {
				t.Fatalf("%s: resolve %d: got %v, %v", what, n, id, err)
			}
		}
	}
	find("no index yet")
	files, err := filepath.Glob(dir + "/*.idx")
	if err != nil || len(files) < 3 {
		t.Fatalf("got %v, %v, want index files", files, err)
	}
	find("whole index")
	spoil := map[string]func([]byte) []byte{
		"empty":      func(b []byte) []byte { return nil },
		"cut short":  func(b []byte) []byte { return b[:pageBytes] },
		"zeros":      func(b []byte) []byte { return make([]byte, len(b)) },
		"one key":    func(b []byte) []byte { b[pageBytes+5] ^= 1; return b },
		"one offset": func(b []byte) []byte { b[pageBytes+33] ^= 1; return b },
		"the count":  func(b []byte) []byte { b[pageBytes+pageCount]++; return b },
		"the end":    func(b []byte) []byte { b[len(indexMagic)]++; return b },
		"version":    func(b []byte) []byte { b[len(indexMagic)-2]++; return b },
	}
	for name, f := range spoil {
		change(t, files[1], f)
		find(name)
	}
	first, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	change(t, files[1], func([]byte) []byte { return first })
	find("another segment's")
}

func TestChangedObject(t *testing.T) {
	dir := t.TempDir()
	o, err := OpenObjects(dir)
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte("object"), 30000)
	id, err := o.Put(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func([]byte) []byte{
		"a byte":    func(b []byte) []byte { b[150000] ^= 1; return b },
		"cut short": func(b []byte) []byte { return b[:len(b)-1] },
		"emptied":   func([]byte) []byte { return nil },
		"longer":    func(b []byte) []byte { return append(b, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.Chmod(o.path(id), 0o600); err != nil {
				t.Fatal(err)
			}
			change(t, o.path(id), spoil)
			var corrupt *CorruptError
			if got, err := o.Get(t.Context(), id); !errors.As(err, &corrupt) {
				t.Fatalf("got %d bytes, %v, want a *CorruptError", len(got), err)
			}
			if _, err := o.Put(t.Context(), data); err != nil {
				t.Fatal(err)
			}
			if got, err := o.Get(t.Context(), id); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("after putting it again: got %d bytes, %v", len(got), err)
			}
		})
	}
	if err := os.Remove(o.path(id)); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Put(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	if has, err := o.Has(t.Context(), id); err != nil || !has {
		t.Fatalf("an object that was deleted and put again: got %v, %v, want it there", has, err)
	}
}

func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := Keep(t.Context(), s, [][]byte{[]byte("object")}, nil, simKey(1)); err != nil {
		t.Fatal(err)
	}
	err = filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = fmt.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestParsePrefix(t *testing.T) {
	id := joulebox.Sum([]byte("x"))
	text := id.String()
	for n := 4; n <= len(text); n++ {
		r, err := parsePrefix(text[:n])
		if err != nil || !r.contains(id) {
			t.Fatalf("%q: got %v, %v, want it to hold %v", text[:n], r, err, id)
		}
		for _, edge := range []joulebox.ID{r.low, r.high} {
			if !strings.HasPrefix(edge.String(), text[:n]) {
				t.Fatalf("%q: its range holds %v", text[:n], edge)
			}
		}
	}
}
