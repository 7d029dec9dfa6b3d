package grant_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/jcs"
)

// FuzzParse: what parses re-encodes to the canonical form of what was read, and
// to itself from then on; it always has an enforcer.
func FuzzParse(f *testing.F) {
	f.Add([]byte(empty))
	f.Add([]byte(strings.Replace(empty, `"read":[]`, `"max_iops":1,"read":["/a/**","**"]`, 1)))
	f.Add([]byte(strings.Replace(empty, `"programs":[]`, `"deny_hashes":["b3:SFIWrbq5jXGTRqDGdV6I_1-Eva4xBjzZhs5zBUQ3S88"],"programs":["/bin/*"]`, 1)))
	f.Add([]byte(strings.Replace(empty, `"outbound":[]`, `"outbound":["[2001:db8::1]:8443"]`, 1)))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := grant.Parse(src)
		if err != nil {
			if strings.Contains(err.Error(), "BUG") {
				t.Fatalf("%q: %v", src, err)
			}
			return
		}
		got, err := s.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if want, err := jcs.Strict(src); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q:\n got %s\nwant %s (%v)", src, got, want, err)
		}
		if _, err := grant.NewEnforcer(s); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzParseHuman: what people write becomes a valid signed form, whose own text
// read as a person's means the same when lists are in order.
func FuzzParseHuman(f *testing.F) {
	f.Add([]byte(asJSON))
	f.Add([]byte(asYAML))
	f.Add([]byte("kv: {read: true}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := grant.ParseHuman(src, budgets())
		if err != nil {
			return
		}
		signed, err := s.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := grant.Parse(signed); err != nil {
			t.Fatalf("%q: signed form %s: %v", src, signed, err)
		}
		again, err := grant.ParseHuman(signed, grant.Compute{})
		if err != nil {
			t.Fatalf("%q: %v", signed, err)
		}
		if b, err := again.Canonical(); err != nil || !bytes.Equal(b, signed) {
			t.Fatalf("%s became %s (%v)", signed, b, err)
		}
	})
}

// FuzzGlob: the compiled matcher agrees with the naive one, and a path's other
// spellings are decided as its canonical form.
func FuzzGlob(f *testing.F) {
	f.Add("/data/**", "/data/a/b")
	f.Add("/a*b**c/**/*", "/aXbYc/d/e")
	f.Add("**", "/")
	f.Add("/**/*a**b", "/x/y/ab")
	f.Fuzz(func(t *testing.T, glob, path string) {
		if len(glob) > 24 || len(path) > 24 {
			return // the naive matcher is exponential
		}
		g, err := grant.ParseGlob(glob)
		if err != nil {
			return
		}
		c, err := grant.CanonicalPath(path)
		if err != nil {
			return
		}
		if got, want := g.Match(c), naiveMatch(glob, c); got != want {
			t.Fatalf("%q against %q: got %v, want %v", glob, c, got, want)
		}
		e := enforcer(t, func(s *grant.Set) { s.Storage.Read = []string{glob} })
		if e.MayPath(grant.Read, path).Allowed != g.Match(c) {
			t.Fatalf("%q: %q and %q are decided differently", glob, path, c)
		}
		if g.Literal() && g.Match(c) && c != glob {
			t.Fatalf("%q names one path and covers %q", glob, c)
		}
	})
}

// FuzzEndpoint: a canonical endpoint has one spelling; normalizing is stable; a
// granted endpoint allows no query but spellings of itself.
func FuzzEndpoint(f *testing.F) {
	for _, s := range []string{"example.com:443", "[2001:db8::1]:1", "faß.example.:80", "１２７.0.0.1:80", "xn--a:1", "0x7f.1:80"} {
		f.Add(s, "example.com:443")
	}
	f.Fuzz(func(t *testing.T, human, query string) {
		n, err := grant.NormalizeEndpoint(human)
		if err != nil {
			return
		}
		text := n.String()
		if e, err := grant.ParseEndpoint(text); err != nil || e != n {
			t.Fatalf("%q became %q, which parses as %v (%v)", human, text, e, err)
		}
		if e, err := grant.NormalizeEndpoint(text); err != nil || e != n {
			t.Fatalf("%q isn't stable: %v (%v)", text, e, err)
		}
		e := enforcer(t, func(s *grant.Set) { s.Network.Outbound = []string{text} })
		if !e.MayEgress(text).Allowed {
			t.Fatalf("%q isn't allowed by itself", text)
		}
		plain := strings.Replace(strings.ToLower(query), ".:", ":", 1)
		if e.MayEgress(query).Allowed && plain != text {
			t.Fatalf("granted %q, allowed %q", text, query)
		}
	})
}

// FuzzOrigin: an origin read from a URL is stable, and its host stands in the
// URL as text; nothing else is reached.
func FuzzOrigin(f *testing.F) {
	for _, s := range []string{"https://example.com/a?b", "http://[::1]:8080/", "https://a@b/", "https:\\\\example.com", "wss://x:443#y", "https://example.com.:1/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, url string) {
		o, err := grant.OriginOf(url)
		if err != nil {
			return
		}
		text := o.String()
		if again, err := grant.ParseOrigin(text); err != nil || again != o {
			t.Fatalf("%q: %q parses as %v (%v)", url, text, again, err)
		}
		if again, err := grant.OriginOf(text); err != nil || again != o {
			t.Fatalf("%q: %q is read as %v (%v)", url, text, again, err)
		}
		if again, err := grant.NormalizeOrigin(text); err != nil || again != o {
			t.Fatalf("%q: %q is normalized to %v (%v)", url, text, again, err)
		}
		// Everything between the scheme and the host belongs to a user name.
		user, _, found := strings.Cut(strings.ToLower(url)[len(o.Scheme+"://"):], o.Host)
		if !strings.HasPrefix(o.Host, "[") && (!found || strings.ContainsAny(user, `/\?#`)) {
			t.Fatalf("%q: the host %q isn't where it should be", url, o.Host)
		}
	})
}
