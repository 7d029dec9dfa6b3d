package conformance

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"
)

// TestThisBinary passes the whole pack, and the pack is as large as it is known to be.
func TestThisBinary(t *testing.T) {
	counts := map[string]int{}
	for _, r := range Run() {
		counts[r.Class]++
		if r.Err != "" {
			t.Errorf("%s %s: %s", r.Class, r.Case, r.Err)
		}
	}
	for class, least := range map[string]int{"C6": 25, "C7": 42, "C9": 18, "C10": 63} {
		if counts[class] < least {
			t.Errorf("%s: %d cases, want at least %d", class, counts[class], least)
		}
	}
	if len(counts) != len(Classes()) {
		t.Errorf("got %v, want the classes %v", counts, Classes())
	}
}

// TestCasesCanFail: changing a value that a case rests on makes a case fail, in each
// class and for accepted and refused alike.
func TestCasesCanFail(t *testing.T) {
	for _, c := range []struct{ file, from, to string }{
		{"c6.json", `"idle_uj\":0`, `"idle_uj\":1`},
		{"c6.json", `"head": "b3:`, `"head": "b3:A`},
		{"c6.json", `"after": 3`, `"after": 2`},
		{"c7.json", `"pinned\":true`, `"pinned\":false`},
		{"c7.json", `\"privileged\"`, `\"name\"`},
		{"c7.json", `"2:14"`, `"2:15"`},
		{"c9.json", `"overhead": 40`, `"overhead": 0`},
		{"c9.json", `"after": 6`, `"after": 3`},
		{"c10.json", `"index": 4`, `"index": 5`},
		{"c10.json", `"count": 11`, `"count": 10`},
	} {
		src, err := fs.ReadFile(Vectors(), "vectors/"+c.file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(src, []byte(c.from)) {
			t.Fatalf("%s: %s isn't there to be changed", c.file, c.from)
		}
		failed := 0
		for _, r := range Judge(c.file, bytes.Replace(src, []byte(c.from), []byte(c.to), 1)) {
			if r.Err != "" {
				failed++
			}
		}
		if failed == 0 {
			t.Errorf("%s: %s to %s: every case passes", c.file, c.from, c.to)
		}
	}
}

func TestBrokenFiles(t *testing.T) {
	for _, src := range []string{"", "{}", `{"class":"C1"}`, `{"class":"C6"}`, `{"class":"C9","more":1}`, `{"class":"C10","leaves":[{"text":"x"}]}`} {
		list := Judge("x", []byte(src))
		var errs []string
		for _, r := range list {
			errs = append(errs, r.Err)
		}
		if len(list) == 0 || strings.Join(errs, "") == "" {
			t.Errorf("%q passes", src)
		}
	}
}
