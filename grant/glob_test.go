package grant_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/joulebox/joulebox/grant"
)

// naiveMatch is the language written down as plainly as can be: recursion over
// segments, then over bytes. The compiled matcher must agree with it.
func naiveMatch(glob, path string) bool {
	if glob == "**" {
		return true
	}
	return naiveSegments(segments(glob), segments(path))
}

func segments(p string) []string {
	if p == "/" {
		return nil
	}
	return strings.Split(p[1:], "/")
}

func naiveSegments(glob, path []string) bool {
	if len(glob) == 0 {
		return len(path) == 0
	}
	if glob[0] != "**" {
		return len(path) > 0 && naiveBytes(glob[0], path[0]) && naiveSegments(glob[1:], path[1:])
	}
	if len(glob) == 1 {
		return len(path) > 0
	}
	return naiveSegments(glob[1:], path) || len(path) > 0 && naiveSegments(glob, path[1:])
}

func naiveBytes(glob, s string) bool {
	if glob == "" {
		return s == ""
	}
	if glob[0] == '*' {
		return naiveBytes(glob[1:], s) || s != "" && naiveBytes(glob, s[1:])
	}
	return s != "" && glob[0] == s[0] && naiveBytes(glob[1:], s[1:])
}

func TestGlobAgreesWithNaive(t *testing.T) {
	seen := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		glob := "/" + strings.Join(rapid.SliceOfN(rapid.StringMatching(`\*\*|[ab*]{1,5}`), 1, 6).Draw(t, "glob"), "/")
		path := "/" + strings.Join(rapid.SliceOfN(rapid.StringMatching(`[ab]{1,4}`), 0, 7).Draw(t, "path"), "/")
		g, err := grant.ParseGlob(glob)
		if err != nil {
			t.Fatalf("%q: %v", glob, err)
		}
		want := naiveMatch(glob, path)
		seen[want]++
		if got := g.Match(path); got != want {
			t.Fatalf("%q against %q: got %v, want %v", glob, path, got, want)
		}
	})
	if seen[true] < 5 || seen[false] < 5 {
		t.Errorf("the property saw %v: it proves nothing", seen)
	}
}

// TestGlobEnumerated tries every short glob against every short path.
func TestGlobEnumerated(t *testing.T) {
	globs := enumerate([]string{"a", "b", "*", "**", "a*", "*b", "a**b"}, 4)
	paths := enumerate([]string{"a", "b", "ab"}, 4)
	paths = append(paths, "/")
	n := 0
	for _, glob := range append(globs, "**", "/") {
		g, err := grant.ParseGlob(glob)
		if err != nil {
			t.Fatalf("%q: %v", glob, err)
		}
		for _, path := range paths {
			n++
			if got, want := g.Match(path), naiveMatch(glob, path); got != want {
				t.Fatalf("%q against %q: got %v, want %v", glob, path, got, want)
			}
		}
	}
	if n < 100_000 {
		t.Errorf("tried %d pairs, want more", n)
	}
}

func enumerate(words []string, depth int) []string {
	var all []string
	level := []string{""}
	for range depth {
		var next []string
		for _, l := range level {
			for _, w := range words {
				next = append(next, l+"/"+w)
			}
		}
		all = append(all, next...)
		level = next
	}
	return all
}

// TestGlobStaysFast: these take an exponential matcher past the end of time.
func TestGlobStaysFast(t *testing.T) {
	for name, c := range map[string]struct{ glob, path string }{
		"stars in a segment": {"/" + strings.Repeat("*a", 2000) + "b", "/" + strings.Repeat("a", 4000)},
		"trees":              {"/" + strings.Repeat("**/", 1000) + "x", strings.Repeat("/a", 2000) + "/y"},
		"trees and names":    {"/" + strings.Repeat("**/a/", 600) + "x", strings.Repeat("/a", 2000)},
		"trees and stars":    {"/" + strings.Repeat("**/*a**a/", 400) + "x", strings.Repeat("/aaaaaaaaab", 350)},
		"half a group":       {"/**" + strings.Repeat("/*a*a", 300) + "/**", strings.Repeat("/aaaaaa", 560)},
	} {
		g, err := grant.ParseGlob(c.glob)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		start := time.Now()
		g.Match(c.path)
		if d := time.Since(start); d > 100*time.Millisecond {
			t.Errorf("%s: took %v", name, d)
		}
	}
}

func TestGlobRefused(t *testing.T) {
	for glob, want := range map[string]string{
		"":                    "absolute",
		"data/**":             "write /data/**",
		"**/x":                "absolute",
		"./x":                 "absolute",
		"../**":               "absolute",
		"/a/../b":             `no ".."`,
		"/..":                 `no ".."`,
		"/a/./b":              `write "/a/b"`,
		"/a//b":               `write "/a/b"`,
		"/a/":                 `write "/a"`,
		"//":                  `write "/"`,
		"/a?":                 "only * and **",
		"/[a]":                "only * and **",
		"/{a,b}":              "only * and **",
		`/a\*`:                "only * and **",
		"/a\x00":              "control",
		"/a\n":                "control",
		"/a\u202egpj.exe":     "bidirectional",
		"/a\u2066b":           "bidirectional",
		"/a\u200e":            "bidirectional",
		"/a\u0085":            "control",
		"/a\xff":              "UTF-8",
		"/" + long(grantGlob): "at most 4096",
	} {
		if _, err := grant.ParseGlob(glob); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want an error with %q", glob, err, want)
		}
	}
	for _, glob := range []string{"/", "/**", "**", "/a/*", "/a/**/b", "/*/..a", "/a..", "/...", "/é/日本", "/a b", "/data/]}", "/a**b"} {
		if _, err := grant.ParseGlob(glob); err != nil {
			t.Errorf("%q: %v", glob, err)
		}
	}
}

const grantGlob = 4096

func long(n int) string { return strings.Repeat("a", n) }

func TestCanonicalPath(t *testing.T) {
	for in, want := range map[string]string{
		"/":                 "/",
		"//":                "/",
		"/.":                "/",
		"/a":                "/a",
		"/a/":               "/a",
		"/a//b/./c":         "/a/b/c",
		"/a/../b":           "/b",
		"/a/..":             "/",
		"/a/b/../../c":      "/c",
		"/..a/b..":          "/..a/b..",
		"/...":              "/...",
		"/%2e%2e/x":         "/%2e%2e/x",
		`/a\..\b`:           `/a\..\b`,
		"/a\n":              "/a\n",
		"/a\xff":            "/a\xff",
		"/\uff0e\uff0e/etc": "/\uff0e\uff0e/etc",
	} {
		if got, err := grant.CanonicalPath(in); err != nil || got != want {
			t.Errorf("%q: got %q (%v), want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"":             "empty",
		"a":            "relative",
		"./a":          "relative",
		"$HOME/x":      "relative",
		`C:\a`:         "relative",
		"/..":          "leaves the root",
		"/a/../..":     "leaves the root",
		"/../a":        "leaves the root",
		"/a/../../a/b": "leaves the root",
		"/a\x00":       "NUL",
	} {
		if got, err := grant.CanonicalPath(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q (%v), want an error with %q", in, got, err, want)
		}
	}
}

// TestCanonicalPathIsStable: what comes out stays as it is, and no spelling of a
// path is decided otherwise than its canonical form.
func TestCanonicalPathIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.StringMatching(`/[a./]{0,12}`).Draw(t, "path")
		c, err := grant.CanonicalPath(p)
		if err != nil {
			return
		}
		if again, err := grant.CanonicalPath(c); err != nil || again != c {
			t.Fatalf("%q: %q then %q (%v)", p, c, again, err)
		}
		for seg := range strings.SplitSeq(strings.TrimPrefix(c, "/"), "/") {
			if seg == "." || seg == ".." || seg == "" && c != "/" {
				t.Fatalf("%q: %q holds the segment %q", p, c, seg)
			}
		}
	})
}
