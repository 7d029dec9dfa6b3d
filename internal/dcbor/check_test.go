package dcbor

import (
	"encoding/hex"
	"errors"
	"runtime"
	"strings"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCheckAccepts(t *testing.T) {
	for _, s := range []string{
		"00", "17", "1818", "18ff", "190100", "1a00010000", "1b0000000100000000", "1bffffffffffffffff", "20", "3bffffffffffffffff",
		"40", "60", "6161", "80", "a0", "8301820203820405", "a10102", "a200012002", "a26161016162820203",
		"a261620162616102", // length-first is what bytewise gives for text keys
	} {
		if err := Check(unhex(t, s)); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	deep := strings.Repeat("81", MaxDepth+1) + "00"
	for name, c := range map[string]struct {
		hex, words string
		offset     int
	}{
		"empty":            {"", "input ends", 0},
		"trailing":         {"0000", "1 bytes after the item", 1},
		"long uint 8":      {"1817", "shortest", 0},
		"long uint 16":     {"1900ff", "shortest", 0},
		"long uint 32":     {"1a0000ffff", "shortest", 0},
		"long uint 64":     {"1b00000000ffffffff", "shortest", 0},
		"long negative":    {"3800", "shortest", 0},
		"long bytes":       {"580161", "shortest", 0},
		"long text":        {"81780161", "shortest", 1},
		"long array":       {"980100", "shortest", 0},
		"long map":         {"b8010000", "shortest", 0},
		"indefinite array": {"9fff", "indefinite", 0},
		"indefinite map":   {"bfff", "indefinite", 0},
		"indefinite bytes": {"5fff", "indefinite", 0},
		"indefinite text":  {"7fff", "indefinite", 0},
		"indefinite uint":  {"1f", "indefinite", 0},
		"reserved":         {"1c", "reserved", 0},
		"false":            {"81f4", "a boolean", 1},
		"true":             {"f5", "a boolean", 0},
		"null":             {"f6", "null", 0},
		"undefined":        {"f7", "undefined", 0},
		"simple":           {"f0", "simple value", 0},
		"simple in two":    {"f8ff", "simple value", 0},
		"half":             {"f93c00", "a float", 0},
		"single":           {"fa3f800000", "a float", 0},
		"double":           {"fb3ff0000000000000", "a float", 0},
		"break":            {"ff", "break", 0},
		"tag":              {"c074", "tag 0", 0},
		"tag 18":           {"d28443a10127a04100", "tag 18", 0},
		"bad UTF-8":        {"8261616180", "UTF-8", 3},
		"surrogate":        {"63eda080", "UTF-8", 0},
		"unsorted":         {"a2616202616101", "out of order", 4},
		"unsorted ints":    {"a220000100", "out of order", 3},
		"duplicate":        {"a2616101616102", "duplicate", 4},
		"nested duplicate": {"81a201010102", "duplicate", 4},
		"bytes key":        {"a1416100", "byte string as a map key", 1},
		"array key":        {"a18000", "array as a map key", 1},
		"map key":          {"a1a000", "map as a map key", 1},
		"bool key":         {"a1f400", "boolean", 1},
		"cut head":         {"1901", "in the head", 0},
		"cut text":         {"6361", "claims 3 bytes, and 1 are left", 0},
		"cut array":        {"8200", "claims 2 items, and 1 bytes are left", 0},
		"cut map":          {"a100", "claims 1 pairs", 0},
		"cut inside":       {"82820000", "input ends", 4},
		"huge bytes":       {"5bffffffffffffffff", "claims", 0},
		"huge text":        {"7b7fffffffffffffff", "claims", 0},
		"huge array":       {"9bffffffffffffffff", "claims", 0},
		"huge map":         {"bb8000000000000000", "claims", 0},
		"huge map wraps":   {"bb8000000000000001000000", "claims", 0},
		"too deep":         {deep, "deeper", MaxDepth + 1},
	} {
		b := unhex(t, c.hex)
		e, ok := errors.AsType[*Error](Check(b))
		if !ok {
			t.Errorf("%s: got %v, want an *Error", name, e)
		} else if e.Offset != c.offset || !strings.Contains(e.Error(), c.words) {
			t.Errorf("%s: got %v, want byte %d and %q", name, e, c.offset, c.words)
		}
	}
}

func TestCheckDepth(t *testing.T) {
	if err := Check(unhex(t, strings.Repeat("81", MaxDepth)+"00")); err != nil {
		t.Errorf("%d levels: %v", MaxDepth, err)
	}
	for _, open := range []string{"81", "a100", "9f", "c1", "a1"} {
		b := unhex(t, strings.Repeat(open, 1_000_000))
		for rule, f := range rules {
			if err := f(b); err == nil {
				t.Errorf("%s accepted a million of %s", rule, open)
			}
		}
	}
}

var rules = map[string]func([]byte) error{
	"Check":     Check,
	"Canonical": func(b []byte) error { _, err := Canonical(b); return err },
}

// A few bytes that claim billions of items are refused before anything is allocated.
func TestCountsAllocateNothing(t *testing.T) {
	for _, s := range []string{"9bffffffffffffffff00", "bb7fffffffffffffff0000", "5bffffffffffffffff", "9a7fffffff", "ba7fffffff", "7b00000001000000ff"} {
		b := unhex(t, s)
		for rule, f := range rules {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range 100 {
				if f(b) == nil {
					t.Errorf("%s accepted %s", rule, s)
				}
			}
			runtime.ReadMemStats(&after)
			if each := (after.TotalAlloc - before.TotalAlloc) / 100; each > 4096 {
				t.Errorf("%s(%s): allocates %d bytes", rule, s, each)
			}
		}
	}
}
