package manifest

import (
	"crypto/ed25519"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/tailscale/hujson"
	"pgregory.net/rapid"
)

func TestPinned(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("ab", 32)
	for _, c := range []struct {
		src    string
		pinned bool
		label  string
	}{
		{`{"image":"a` + digest + `"}`, true, ""},
		{`{"image":"r:5000/a:1` + digest + `"}`, true, ""},
		{`{"image":"a:1"}`, false, "no digest"},
		{`{"image":"` + digest + `"}`, false, "digest"},
		{`{"image":"a@x` + digest + `"}`, false, "digest"},
		{`{"image":"a` + digest + `0"}`, false, "64 lower-case"},
		{`{"image":"a` + strings.ToUpper(digest) + `"}`, false, "sha256"},
		{`{"image":"a@sha256:` + strings.Repeat("AB", 32) + `"}`, false, "64 lower-case"},
		{`{"image":"a@sha512:` + strings.Repeat("ab", 64) + `"}`, false, "isn't of sha256"},
		{`{"image":"a${v}` + digest + `"}`, false, "host-dependent: ${v}"},
		{`{"image":"a` + digest + `","containerEnv":{"A":"${localEnv:HOME}","B":"$HOME $(x) {y}"}}`, false, "host-dependent: ${localEnv:HOME} may"},
		{`{"image":"a` + digest + `","mounts":["source=${x},target=/t,type=bind"]}`, false, "${x}"},
		{`{"image":"a` + digest + `","features":{"f":{"o":"${x}"}}}`, false, "${x}"},
		{`{"image":"a` + digest + `","remoteUser":"${x}"}`, false, "${x}"},
	} {
		m := ingest(t, c.src)
		if m.Fields().Pinned != c.pinned || c.pinned != (len(m.Labels()) == 0) || !strings.Contains(strings.Join(m.Labels(), "; "), c.label) {
			t.Errorf("%s: got %v, %q, want %v, %q", c.src, m.Fields().Pinned, m.Labels(), c.pinned, c.label)
		}
	}
}

// TestOrder compares with the code units themselves.
func TestOrder(t *testing.T) {
	letters := []rune("aZ\x00é\ud7ff\ue000\ufb33\uffff\U00010000\U0001f600\U0001f601\U0010ffff")
	word := func() string {
		w := make([]rune, rand.IntN(4))
		for i := range w {
			w[i] = letters[rand.IntN(len(letters))]
		}
		return string(w)
	}
	for range 20000 {
		a, b := word(), word()
		got, want := compare(a, b), slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		if (got < 0) != (want < 0) || (got > 0) != (want > 0) {
			t.Fatalf("%q and %q: got %d, want %d", a, b, got, want)
		}
	}
}

// TestParseRefuses: a core that Ingest could not have made is no manifest.
func TestParseRefuses(t *testing.T) {
	good := string(ingest(t, whole).Core())
	for _, c := range []struct{ from, to, want string }{
		{`"pinned":true`, `"pinned":false`, "pinned: got false, want true"},
		{`env-manifest/1`, `env-manifest/2`, "schema"},
		{`"remoteUser":"node"`, `"remoteUser":""`, "remoteUser"},
		{`"remoteUser":"node"`, `"remoteUser":"no\nde"`, "remoteUser"},
		{`"remoteUser"`, `"privileged":true,"remoteUser"`, "privileged"},
		{`"remoteUser"`, `"name":"x","remoteUser"`, "name"},
		{`"id":"a:1"`, `"id":"c:1"`, "sorted by UTF-16"},
		{`"id":"a:1"`, `"id":"b:1"`, "sorted by UTF-16"},
		{`"id":"a:1"`, `"id":""`, "id is empty"},
		{`"n":3`, `"n":{}`, "an option is"},
		{`"n":3`, `"n":3.5`, "a fraction"},
		{`"target":"/a"`, `"target":"/z"`, "sorted by UTF-16"},
		{`"target":"/a"`, `"target":"/t/"`, "sorted"},
		{`"target":"/v"`, `"target":"/t/"`, "two mounts"},
		{`"target":"/a"`, `"target":""`, "no target"},
		{`"kind":"tmpfs"`, `"kind":"bind"`, "a bind has no source"},
		{`"kind":"tmpfs","source":""`, `"kind":"tmpfs"`, "source"},
		{`"readonly":true`, `"readonly":false`, "readonly"},
		{`"A":""`, `"A=":""`, "containerEnv"},
		{`"A":""`, `"A":null`, "null"},
		{`"containerEnv"`, `"ContainerEnv"`, "ontainerEnv"},
		{`"image":"ghcr`, `"image":" ghcr`, "space"},
	} {
		if !strings.Contains(good, c.from) {
			t.Fatalf("%s isn't there to be changed", c.from)
		}
		_, err := Parse([]byte(strings.Replace(good, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s to %s: got %v, want %s", c.from, c.to, err, c.want)
		}
	}
	if m, err := Parse([]byte("\n " + good + "\n")); err != nil || string(m.Core()) != good {
		t.Errorf("another layout: got %v", err)
	}
}

func TestFieldsAreACopy(t *testing.T) {
	m := ingest(t, whole)
	f := m.Fields()
	f.ContainerEnv["X"], f.Mounts[0].Target, f.Features[0].ID = "x", "/x", "x"
	f.Features[1].Options["x"] = nil
	m.Core()[0] = 'x'
	if again, err := newManifest(m.Fields()); err != nil || again.ID() != m.ID() || m.Core()[0] != '{' {
		t.Error("who has a manifest can change it")
	}
}

func TestSigned(t *testing.T) {
	public, key, _ := ed25519.GenerateKey(nil)
	other, _, _ := ed25519.GenerateKey(nil)
	s, err := Sign(key, ingest(t, whole))
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseSigned(text)
	if err != nil || read.Verify(public) != nil || read.VerifyClaimed() != nil || read.Manifest.ID() != s.Manifest.ID() {
		t.Fatalf("what was signed doesn't verify: %v", err)
	}
	if read.Verify(other) == nil {
		t.Error("it verifies under another key")
	}
	drifted := strings.Replace(string(text), `"Z":"1"`, `"Z":"2"`, 1)
	if read, err = ParseSigned([]byte(drifted)); err != nil || read.VerifyClaimed() == nil || read.Verify(public) == nil {
		t.Errorf("a changed one verifies: %v", err)
	}
	for _, bad := range []string{`{}`, `{"core":{}}`, strings.Replace(string(text), `"core":{`, `"core":{"x":1,`, 1), strings.Replace(string(text), `"seal":{`, `"seal":{"x":1,`, 1), string(text[:len(text)-1])} {
		if _, err := ParseSigned([]byte(bad)); err == nil {
			t.Errorf("%.60s is read", bad)
		}
	}
}

func TestDiff(t *testing.T) {
	a := ingest(t, `{"image":"a:1","features":{"f":{"v":"1","x":true},"g":{}},"containerEnv":{"A":"1","B":"2"},"mounts":["target=/t","target=/u"],"remoteUser":"x"}`)
	b := ingest(t, `{"image":"a:2","features":{"f":{"v":"2"},"h":{}},"containerEnv":{"A":"1","B":"","C":"3"},"mounts":["target=/t,readonly"]}`)
	var got []string
	for _, d := range Diff(a, b) {
		got = append(got, d.Member+" "+d.From+">"+d.To)
	}
	want := `image "a:1">"a:2"; features.f.v "1">"2"; features.f.x true>; features.g {…}>; features.h >{…}; containerEnv.B "2">""; containerEnv.C >"3"; ` +
		`mounts./t.readonly false>true; mounts./u.kind "volume">; mounts./u.readonly false>; mounts./u.source "">; remoteUser "x">`
	if strings.Join(got, "; ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
	if len(Diff(a, a)) != 0 {
		t.Error("it differs from itself")
	}
}

// TestSuggestion: the same file, less what is refused.
func TestSuggestion(t *testing.T) {
	got := Suggest([]byte(`{"build":{},"image":"a", // c
		"containerEnv":{"A":"\u0041","B":1},"mounts":["target=/t","x"],"features":{"f":"1","g":{"o":1,"p":1.5}},"name":"n","image":"b",}`))
	want := `{
  "image": "a",
  "containerEnv": {
    "A": "\u0041"
  },
  "mounts": [
    "target=/t"
  ],
  "features": {
    "g": {
      "o": 1
    }
  },
  "name": "n"
}
`
	if string(got) != want {
		t.Errorf("got %s", got)
	}
	for _, src := range []string{`{"build":{}}`, `{"image":""}`, `{"image":"a"`, `[]`} {
		if s := Suggest([]byte(src)); s != nil {
			t.Errorf("%s: got %s, want none", src, s)
		}
	}
}

// TestDriftAndAddressAgree: two manifests have one address exactly when nothing
// differs.
func TestDriftAndAddressAgree(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "b", "\U0001f600", "\ufb33", "${x}"})
	draw := rapid.Custom(func(t *rapid.T) *Manifest {
		f := Fields{Image: word.Draw(t, "image"), ContainerEnv: rapid.MapOfN(word, word, 0, 2).Draw(t, "env")}
		for _, id := range rapid.SliceOfNDistinct(word, 0, 3, rapid.ID[string]).Draw(t, "features") {
			f.Features = append(f.Features, Feature{ID: id})
		}
		for _, to := range rapid.SliceOfNDistinct(word, 0, 3, rapid.ID[string]).Draw(t, "mounts") {
			f.Mounts = append(f.Mounts, Mount{Source: word.Draw(t, "source"), Target: "/" + to, Kind: Volume, ReadOnly: rapid.Bool().Draw(t, "readonly")})
		}
		m, err := newManifest(f)
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		if drift := Diff(a, b); (len(drift) == 0) != (a.ID() == b.ID()) {
			t.Fatalf("%s\n%s\n%v", a.Core(), b.Core(), drift)
		}
	})
}

// FuzzIngest: what is accepted comes back as it is, is also what another reader of
// the language accepts, and what is suggested is accepted.
func FuzzIngest(f *testing.F) {
	for _, seed := range []string{whole, `{"image":"a",}`, `{,}`, `[1,]`, "{\"image\":\"a\"}//\r", `{"image":"a","mounts":["target=/t,\"x=1\""]}`, `{"x":{"y":[{}],},}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		checkSuggestion(t, src)
		m, err := Ingest(src)
		if err != nil {
			if err.Error() == "" {
				t.Error("refused without a reason")
			}
			return
		}
		if again, err := Parse(m.Core()); err != nil || again.ID() != m.ID() {
			t.Errorf("%s doesn't come back: %v", m.Core(), err)
		}
		plain, err := hujson.Standardize([]byte(strings.TrimPrefix(string(src), "\ufeff") + "\n")) // it wants comments closed
		if err != nil {
			t.Fatalf("%q is accepted, and another reader refuses it: %v", src, err)
		}
		if same, err := Ingest(plain); err != nil || same.ID() != m.ID() {
			t.Errorf("%q: another reader reads something else: %v", src, err)
		}
	})
}

// FuzzParse: what is read writes the same bytes again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"containerEnv":{},"features":[],"image":"a","mounts":[],"pinned":false,"schema":"sandbox.env-manifest/1"}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := Parse(src)
		if err != nil {
			return
		}
		if again, err := newManifest(m.Fields()); err != nil || string(again.Core()) != string(m.Core()) {
			t.Errorf("%s is written %v, %v", src, again, err)
		}
	})
}
