package dcbor

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// The hexadecimal is spaced for reading.
func TestCanonical(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"long heads":           {"9b0000000000000002 190000 58020102", "82 00 420102"},
		"long map and key":     {"b90001 190018 1801", "a1 1818 01"},
		"long negative":        {"3b0000000000000000", "20"},
		"indefinite array":     {"9f 01 820203 9fff ff", "83 01 820203 80"},
		"indefinite map":       {"bf 616202 616101 ff", "a2 616101 616202"},
		"indefinite bytes":     {"5f 420102 40 4103 ff", "43 010203"},
		"indefinite text":      {"7f 6161 60 62c3a9 ff", "63 61c3a9"},
		"empty indefinite":     {"84 5fff 7fff 9fff bfff", "84 40 60 80 a0"},
		"bytewise, not length": {"a3 20 01 1864 02 6161 03", "a3 1864 02 20 01 6161 03"},
		"nested sort":          {"a2 6162 01 6161 82 a2 20 01 00 02 f6", "a2 6161 82 a2 00 02 20 01 f6 6162 01"},
		"sorts after encoding": {"a2 02 00 190001 00", "a2 01 00 02 00"},
		"keys of every kind":   {"a6 f90000 01 f4 02 80 03 6100 04 4100 05 c10006", "a6 4100 05 6100 04 80 03 c100 06 f4 02 f90000 01"},
		"1 and 1.0 are two":    {"a2 fb3ff0000000000000 00 1801 00", "a2 01 00 f93c00 00"},
		"simple":               {"86 f4 f5 f6 f7 f0 f8ff", "86 f4 f5 f6 f7 f0 f8ff"},
		"float to half":        {"83 fb3ff0000000000000 fa3f800000 fb8000000000000000", "83 f93c00 f93c00 f98000"},
		"float to single":      {"fb40f86a0000000000", "fa47c35000"},
		"float stays":          {"fb3ff199999999999a", "fb3ff199999999999a"},
		"infinities":           {"82 fb7ff0000000000000 faff800000", "82 f97c00 f9fc00"},
		"every NaN":            {"84 fb7ff8000000000000 fb7ff9100000000001 fa7fc00001 f97e01", "84 f97e00 f97e00 f97e00 f97e00"},
		"half subnormals":      {"82 fa33800000 fb3f0ff80000000000", "82 f90001 f903ff"},
		"below half":           {"fa33000000", "fa33000000"},
		"tags kept":            {"82 c1fb41d452d9e8000000 d8184100", "82 c1fb41d452d9e8000000 d8184100"},
		"float in a date":      {"c1 fa47800000", "c1 fa47800000"},
		"long tag":             {"d90020 6161", "d820 6161"},
		"bignum":               {"82 c249010000000000000000 c349010000000000000000", "82 c249010000000000000000 c349010000000000000000"},
		"bignum zeros":         {"c24a00010000000000000001", "c249010000000000000001"},
		"bignum that fits":     {"84 c24102 c240 c348ffffffffffffffff c3420000", "84 02 00 3bffffffffffffffff 20"},
		"bignum in chunks":     {"c2 5f 4101 480000000000000000 ff", "c2 49010000000000000000"},
		"decimal fraction":     {"c4 82 21 196ab3", "c4 82 21 196ab3"},
		"big float, bignum":    {"c5 82 20 c249010000000000000000", "c5 82 20 c249010000000000000000"},
		"unknown tag":          {"da00010000 d9ffff 6161", "da00010000 d9ffff 6161"},
	} {
		in, want := spaced(t, c.in), spaced(t, c.want)
		got, err := Canonical(in)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, %v, want %x", name, got, err, want)
		}
		if again, err := Canonical(want); err != nil || !bytes.Equal(again, want) {
			t.Errorf("%s: %x is no fixed point: %x, %v", name, want, again, err)
		}
	}
}

func spaced(t testing.TB, s string) []byte { return unhex(t, strings.ReplaceAll(s, " ", "")) }

func TestCanonicalRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		hex, words string
		offset     int
	}{
		"empty":                 {"", "input ends", 0},
		"trailing":              {"00 00", "after the item", 1},
		"reserved":              {"81 1c", "reserved", 1},
		"indefinite uint":       {"1f", "additional information 31", 0},
		"indefinite tag":        {"df 00", "additional information 31", 0},
		"break":                 {"ff", "break", 0},
		"break in array":        {"82 00 ff", "break", 2},
		"break for a value":     {"bf 00 ff", "break", 2},
		"break in a tag":        {"9f c1 ff", "break", 2},
		"no break":              {"9f 00", "input ends", 2},
		"no break in string":    {"5f 4100", "input ends", 3},
		"chunk of another type": {"5f 6161 ff", "chunk", 1},
		"indefinite chunk":      {"5f 5f4100ff ff", "chunk", 1},
		"integer chunk":         {"5f 01 ff", "chunk", 1},
		"cut chunk":             {"5f 4501 ff", "claims 5 bytes", 1},
		"bad UTF-8":             {"62 c0ae", "UTF-8", 0},
		"split character":       {"7f 61c3 61a9 ff", "UTF-8", 1},
		"duplicate":             {"a2 00 01 00 02", "duplicate map key 0", 3},
		"duplicate, respelled":  {"a2 01 00 1801 00", "duplicate map key 1", 3},
		"duplicate float":       {"a2 f93c00 00 fb3ff0000000000000 00", "duplicate", 5},
		"duplicate bignum":      {"a2 c24101 00 01 00", "duplicate map key 1", 5},
		"duplicate text":        {"bf 6161 00 7f6161ff 00 ff", `duplicate map key "a"`, 4},
		"simple below 32":       {"f814", "simple value 20", 0},
		"date of a map":         {"c0 a1616100", "tag 0 holds a map", 0},
		"date of an integer":    {"81 c0 01", "want a text string", 1},
		"time of a text":        {"c1 6161", "want an integer or a float", 0},
		"time of null":          {"c1 f6", "want an integer or a float", 0},
		"bignum of text":        {"c2 6161", "want a byte string", 0},
		"fraction of three":     {"c4 83 000000", "want an array", 0},
		"fraction of text":      {"c4 82 00 6161", "want an array", 0},
		"URI of bytes":          {"d820 4161", "want a text string", 0},
		"cut tag":               {"c1", "input ends", 1},
		"cut float":             {"fb3ff1", "in the head", 0},
		"too deep":              {strings.Repeat("c1", MaxDepth+1) + "00", "deeper", MaxDepth + 1},
		"huge array":            {"9b0000000100000000 00", "claims", 0},
		"huge map":              {"bbffffffffffffffff 0000", "claims", 0},
		"huge chunk":            {"5f 5bffffffffffffffff 00", "claims", 1},
	} {
		out, err := Canonical(spaced(t, c.hex))
		e, ok := errors.AsType[*Error](err)
		if !ok || out != nil {
			t.Errorf("%s: got %x, %v, want an *Error", name, out, err)
		} else if e.Offset != c.offset || !strings.Contains(e.Msg, c.words) {
			t.Errorf("%s: got %v, want byte %d and %q", name, e, c.offset, c.words)
		}
	}
}

// Every half, as itself and widened, comes back as the same half; this checks the
// reader against the library's and the writer against the reader.
func TestEveryHalf(t *testing.T) {
	for i := range 1 << 16 {
		half := uint16(i)
		x := fromHalf(half)
		var theirs float64
		if err := cbor.Unmarshal([]byte{0xf9, byte(half >> 8), byte(half)}, &theirs); err != nil {
			t.Fatal(err)
		}
		if math.IsNaN(x) {
			if !math.IsNaN(theirs) {
				t.Fatalf("%04x: got NaN, want %v", half, theirs)
			}
			continue
		}
		if math.Float64bits(x) != math.Float64bits(theirs) {
			t.Fatalf("%04x: got %v, want %v", half, x, theirs)
		}
		if back, ok := toHalf(float32(x)); !ok || back != half {
			t.Fatalf("%04x: %v goes back to %04x, %v", half, x, back, ok)
		}
		// Its neighbours among the singles are no halves.
		for _, y := range []float32{math.Nextafter32(float32(x), 1e30), math.Nextafter32(float32(x), -1e30)} {
			if back, ok := toHalf(y); ok && !math.IsInf(float64(y), 0) && fromHalf(back) != float64(y) {
				t.Fatalf("%v becomes the half %04x, which is %v", y, back, fromHalf(back))
			}
		}
	}
}
