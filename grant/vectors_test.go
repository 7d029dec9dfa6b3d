package grant_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/vectors"
)

const group = "10-url-glob"

func budgets() grant.Compute {
	return grant.Compute{EnergyBudgetUJ: 5_000_000, CPUTimeMS: 1000, MemoryBytes: 64 << 20}
}

// decide is the decision of an enforcer for a set that was changed by edit. A
// set that is refused as a whole denies.
func decide(edit func(*grant.Set), ask func(*grant.Enforcer) grant.Decision) (allowed, refused bool) {
	s := grant.Empty(budgets())
	edit(&s)
	e, err := grant.NewEnforcer(s)
	if err != nil {
		return false, true
	}
	return ask(e).Allowed, false
}

// verdict is what we settled on where the standard leaves a case open.
const (
	allowed = "allow"
	denied  = "deny"
	refused = "refuse" // the grant itself
)

func got(ok, bad bool) string {
	switch {
	case bad:
		return refused
	case ok:
		return allowed
	}
	return denied
}

// judge compares with a vector's word; the pins are for ambiguous rows, and
// each of them must be met.
func judge(t *testing.T, row, expect, got string, pins map[string]string) {
	t.Helper()
	switch expect {
	case "allow":
		if got != allowed {
			t.Errorf("%s: got %s, want allow", row, got)
		}
	case "deny":
		if got == allowed {
			t.Errorf("%s: got allow, want deny", row)
		}
	case "ambiguous":
		if want := pins[row]; want != "" && want != got {
			t.Errorf("%s: got %s, want our documented %s", row, got, want)
		}
		delete(pins, row)
	default:
		t.Errorf("%s: unknown expectation %q", row, expect)
	}
}

func allPinned(t *testing.T, pins map[string]string) {
	t.Helper()
	for row := range pins {
		t.Logf("no row %q in these vectors", row)
	}
}

func TestVectorPaths(t *testing.T) {
	var rows []struct {
		Glob   string `json:"glob"`
		Path   string `json:"path"`
		Expect string `json:"expect"`
		Why    string `json:"why"`
	}
	vectors.Load(t, group, "sandbox-paths.json", &rows)
	if len(rows) < 10 {
		t.Fatalf("got %d rows, want more", len(rows))
	}
	pins := map[string]string{
		"/data/* | /data/a/b":      denied,  // one level
		"/data/** | /data":         denied,  // one or more segments below
		"/data/**/log | /data/log": allowed, // zero segments inside
		`/data/** | /data/..\etc`:  allowed, // a backslash is a letter
		"/data/../** | /data/a":    refused,
		"/** | /data/a":            allowed,
		"/data/**x | /data/a":      denied, // within a segment two stars are one
		"/data/{a,b} | /data/a":    refused,
		`/data/\* | /data/a`:       refused,
		"/data/a\x00 | /data/a":    refused,
	}
	for _, r := range rows {
		row := r.Glob + " | " + r.Path
		path := r.Path
		if strings.Contains(r.Why, "symlink") {
			// The text is within the tree; the broker asks again for what the
			// link leads to, which decides.
			path = path[strings.Index(path, "-to-")+3:]
			path = "/" + path[1:]
		}
		for mode := range grant.Mode(3) {
			start := time.Now()
			ok, bad := decide(func(s *grant.Set) {
				*[]*[]string{&s.Storage.Read, &s.Storage.Write, &s.Storage.Delete}[mode] = []string{r.Glob}
			}, func(e *grant.Enforcer) grant.Decision { return e.MayPath(mode, path) })
			if d := time.Since(start); d > 250*time.Millisecond {
				t.Errorf("%.40s: took %v", row, d)
			}
			if mode < 2 {
				judge(t, row, r.Expect, got(ok, bad), map[string]string{row: pins[row]})
			} else {
				judge(t, row, r.Expect, got(ok, bad), pins)
			}
		}
	}
	allPinned(t, pins)
}

func TestVectorEndpoints(t *testing.T) {
	var rows []struct {
		Allow  string `json:"allow"`
		Query  string `json:"query"`
		Expect string `json:"expect"`
	}
	vectors.Load(t, group, "sandbox-endpoints.json", &rows)
	if len(rows) < 10 {
		t.Fatalf("got %d rows, want more", len(rows))
	}
	pins := map[string]string{
		"api.example.com:443 | api.example.com.:443":            allowed, // one trailing dot is stripped
		"*.example.com:443 | a.example.com:443":                 refused, // no wildcards
		"*:443 | anything.test:443":                             refused,
		"api.example.com:* | api.example.com:8080":              refused,
		"api.example.com:443 | \uff41pi.example.com:443":        denied, // queries aren't mapped
		"xn--mnchen-3ya.example:443 | m\u00fcnchen.example:443": denied,
		":443 | :443": refused,
	}
	for _, r := range rows {
		row := r.Allow + " | " + r.Query
		ok, bad := decide(func(s *grant.Set) { s.Network.Outbound = []string{r.Allow} },
			func(e *grant.Enforcer) grant.Decision { return e.MayEgress(r.Query) })
		judge(t, row, r.Expect, got(ok, bad), pins)
	}
	allPinned(t, pins)
}

func TestVectorOrigins(t *testing.T) {
	var rows []struct {
		Allow    string `json:"allow"`
		Navigate string `json:"navigate"`
		Expect   string `json:"expect"`
		Why      string `json:"why"`
	}
	vectors.Load(t, group, "sandbox-origins.json", &rows)
	if len(rows) < 10 {
		t.Fatalf("got %d rows, want more", len(rows))
	}
	pins := map[string]string{"https://example.com | blob:https://example.com/uuid": denied}
	for _, r := range rows {
		row := r.Allow + " | " + r.Navigate
		ok, bad := decide(func(s *grant.Set) { s.Browser = grant.Browser{Enabled: true, Origins: []string{r.Allow}} },
			func(e *grant.Enforcer) grant.Decision { return e.MayNavigate(r.Navigate) })
		word := got(ok, bad)
		// The vectors let a strict reading deny what the URL standard repairs.
		if strings.Contains(r.Why, "or deny") && word == denied {
			continue
		}
		judge(t, row, r.Expect, word, pins)
	}
	allPinned(t, pins)
}

// TestVectorDoublestar compares the rows that our language has. Its patterns are
// relative; both sides get a root. The differences are ours on purpose.
func TestVectorDoublestar(t *testing.T) {
	var rows []struct {
		Pattern       string `json:"pattern"`
		Path          string `json:"path"`
		Match         bool   `json:"match"`
		SandboxSyntax bool   `json:"sandbox_syntax"`
	}
	vectors.Load(t, group, "doublestar.json", &rows)
	n := 0
	for _, r := range rows {
		if !r.SandboxSyntax || r.Pattern == "" {
			continue
		}
		n++
		glob, path := rooted(r.Pattern), rooted(r.Path)
		ok, _ := decide(func(s *grant.Set) { s.Storage.Read = []string{glob} },
			func(e *grant.Enforcer) grant.Decision { return e.MayPath(grant.Read, path) })
		if ok == r.Match {
			continue
		}
		dir, tail := strings.CutSuffix(strings.TrimSuffix(glob, "/"), "/**")
		switch {
		case tail && dir == strings.TrimSuffix(path, "/"): // DIR/** doesn't cover DIR
		case glob == "/*" && path == "/": // a segment is never empty
		case strings.HasSuffix(glob, "/"): // not canonical: refused
		default:
			t.Errorf("%q against %q: got %v, want %v", glob, path, ok, r.Match)
		}
	}
	t.Logf("judged %d of %d rows", n, len(rows))
	if n < 20 {
		t.Errorf("judged %d rows, want at least 20", n)
	}
}

func rooted(s string) string { return "/" + strings.TrimPrefix(s, "/") }

// TestVectorMinimatch compares likewise; shell rules about dot files aren't ours.
func TestVectorMinimatch(t *testing.T) {
	var rows []struct {
		Pattern       string   `json:"pattern"`
		Expect        []string `json:"expect"`
		Files         []string `json:"files"`
		SandboxSyntax bool     `json:"sandbox_syntax"`
	}
	vectors.Load(t, group, "minimatch.json", &rows)
	n := 0
	for _, r := range rows {
		if !r.SandboxSyntax || strings.Contains(r.Pattern, "..") {
			continue
		}
		glob := rooted(r.Pattern)
		g, err := grant.ParseGlob(glob)
		if err != nil {
			t.Errorf("%q: %v", glob, err)
			continue
		}
		for _, f := range r.Files {
			path, err := grant.CanonicalPath(rooted(f))
			if err != nil || hidden(f) {
				continue
			}
			n++
			if got, want := g.Match(path), slices.Contains(r.Expect, f); got != want {
				t.Errorf("%q against %q: got %v, want %v", glob, path, got, want)
			}
		}
	}
	t.Logf("judged %d pairs", n)
	if n < 20 {
		t.Errorf("judged %d pairs, want at least 20", n)
	}
}

// hidden reports shell rules that don't concern us: dot files, and names that
// are a directory only by their trailing slash.
func hidden(f string) bool { return strings.Contains("/"+f, "/.") || strings.HasSuffix(f, "/") }

// TestVectorURLs: whatever we take a URL's origin to be, the URL standard says
// the same, and what it refuses we refuse.
func TestVectorURLs(t *testing.T) {
	type row struct {
		Input    string `json:"input"`
		Origin   string `json:"origin"`
		Protocol string `json:"protocol"`
		Host     string `json:"host"`
		Failure  bool   `json:"failure"`
	}
	var rows []row
	vectors.Load(t, group, "wpt-origin.json", &rows)
	read, origins := 0, map[string]bool{}
	for _, r := range rows {
		want := r.Origin
		if want == "" {
			want = r.Protocol + "//" + r.Host
		}
		if o, err := grant.OriginOf(r.Input); err == nil {
			read++
			if r.Failure || o.String() != want {
				t.Errorf("%q: got %v, want failure %v, origin %q", r.Input, o, r.Failure, want)
			}
		}
		if _, err := grant.ParseOrigin(want); err == nil {
			origins[want] = true
		}
	}
	t.Logf("read %d of %d URLs, %d origins", read, len(rows), len(origins))
	if read < 20 || len(origins) < 10 {
		t.Errorf("read %d of %d URLs and %d origins, want at least 20 and 10", read, len(rows), len(origins))
	}
	neverAnother(t, origins, func(e *grant.Enforcer, allow func(origin string)) {
		for _, r := range rows {
			if e.MayNavigate(r.Input).Allowed {
				allow(cmp.Or(r.Origin, r.Protocol+"//"+r.Host))
			}
		}
	})
}

// neverAnother grants each origin alone and wants no other one allowed.
func neverAnother(t *testing.T, origins map[string]bool, ask func(*grant.Enforcer, func(string))) {
	t.Helper()
	for o := range origins {
		s := grant.Empty(budgets())
		s.Browser = grant.Browser{Enabled: true, Origins: []string{o}}
		e, err := grant.NewEnforcer(s)
		if err != nil {
			t.Errorf("%q: %v", o, err)
			continue
		}
		ask(e, func(reached string) {
			if reached != o {
				t.Errorf("granted %q, allowed %q", o, reached)
			}
		})
	}
}

// TestVectorToASCII: a host in any script becomes what the URL standard makes of
// it, or is refused; never another host.
func TestVectorToASCII(t *testing.T) {
	var rows []struct {
		Input  string  `json:"input"`
		Output *string `json:"output"`
	}
	vectors.Load(t, group, "wpt-toascii.json", &rows)
	read := 0
	for _, r := range rows {
		e, err := grant.NormalizeEndpoint(r.Input + ":443")
		if err != nil {
			continue
		}
		read++
		if r.Output == nil || e.Host != *r.Output {
			t.Errorf("%q: got %q, want %v", r.Input, e.Host, r.Output)
		}
	}
	t.Logf("read %d of %d hosts", read, len(rows))
	if read < 8 {
		t.Errorf("read %d of %d hosts, want at least 8", read, len(rows))
	}
}
