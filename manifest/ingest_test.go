package manifest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func ingest(t *testing.T, src string) *Manifest {
	t.Helper()
	m, err := Ingest([]byte(src))
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return m
}

const whole = `{
	// what it is called is nobody's business
	"name": "x", "$schema": "https://example.com",
	"image": "ghcr.io/x/y:1@sha256:9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c",
	"features": {"b:1": {"v": "1", "n": 3, "on": true}, "a:1": {}},
	"containerEnv": {"Z": "1", "A": ""},
	"mounts": ["type=bind,src=/s,dst=/t,ro", {"target": "/a", "type": "tmpfs"}, "target=/v"], /* and a comma */
	"remoteUser": "node", "forwardPorts": [1.5, null],
}`

func TestCanonicalForm(t *testing.T) {
	const want = `{"containerEnv":{"A":"","Z":"1"},"features":[{"id":"a:1","options":{}},{"id":"b:1","options":{"n":3,"on":true,"v":"1"}}],` +
		`"image":"ghcr.io/x/y:1@sha256:9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c9b2c",` +
		`"mounts":[{"kind":"tmpfs","source":"","target":"/a"},{"kind":"bind","readonly":true,"source":"/s","target":"/t"},{"kind":"volume","source":"","target":"/v"}],` +
		`"pinned":true,"remoteUser":"node","schema":"sandbox.env-manifest/1"}`
	m := ingest(t, whole)
	if got := string(m.Core()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(m.Labels()) != 0 || len(m.Variables()) != 0 {
		t.Errorf("a pinned one is labelled %q, %q", m.Labels(), m.Variables())
	}
	if got := string(ingest(t, `{"image":"a"}`).Core()); got != `{"containerEnv":{},"features":[],"image":"a","mounts":[],"pinned":false,"schema":"sandbox.env-manifest/1"}` {
		t.Errorf("got %s for the smallest one", got)
	}
}

// TestLayoutDoesNotCount: byte order mark, ends of lines, comments, escapes and
// order reach no identity.
func TestLayoutDoesNotCount(t *testing.T) {
	want := ingest(t, whole).ID()
	for what, src := range map[string]string{
		"a byte order mark": "\ufeff" + whole,
		"CRLF":              strings.ReplaceAll(whole, "\n", "\r\n"),
		"an escape":         strings.Replace(whole, `"node"`, `"n\u006fde"`, 1),
		"an escaped option": strings.Replace(whole, `"v": "1"`, `"\u0076": "\u0031"`, 1),
		"the object form":   strings.Replace(whole, `"type=bind,src=/s,dst=/t,ro"`, `{"type":"bind","source":"/s","target":"/t","readonly":true}`, 1),
		"an excluded field": strings.Replace(whole, `"name": "x"`, `"name": {"x": [1e5]}`, 1),
		"a comment":         "// é\n" + whole + "/* ** / */ // end",
	} {
		if got := ingest(t, src).ID(); got != want {
			t.Errorf("%s changes the address", what)
		}
	}
}

// TestRefusedAtOnce: one answer names all that is wrong, each where it stands.
func TestRefusedAtOnce(t *testing.T) {
	src := "\ufeff{\r\n  // é\r\n  \"é\": 1, \"postCreateCommand\": \"x\",\r\n  \"containerEnv\": {\"A\": 1, \"B=\": \"\"},\r\n" +
		"  \"mounts\": [\"source=x\", 7], \"features\": {\"f\": true, \"g\": {\"n\": 1.5}}\r\n}"
	_, err := Ingest([]byte(src))
	list, _ := errors.AsType[Refusals](err)
	var got []string
	for _, r := range list {
		got = append(got, fmt.Sprintf("%d:%d %s", r.Line, r.Column, r.Field))
	}
	want := "1:1 image, 3:3 é, 3:11 postCreateCommand, 4:20 containerEnv.A, 4:28 containerEnv.B=, 5:14 mounts[0], 5:26 mounts[1], 5:43 features.f, 5:60 features.g.n"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != len(list) {
		t.Errorf("got %d lines for %d refusals", lines, len(list))
	}
}

func TestRefused(t *testing.T) {
	in := func(member string) string { return `{"image":"a",` + member + `}` }
	for src, want := range map[string]string{
		in(`"features":{"f":"latest"}`):                                 `features.f: got a string for a feature's options; write {"version": "latest"} for it`,
		in(`"features":{"f":{"x":null}}`):                               "features.f.x: got null",
		in(`"features":{"f":{"x":-1}}`):                                 "features.f.x: got the number -1",
		in(`"features":{"f":{"x":9007199254740992}}`):                   "features.f.x: got the number",
		in(`"features":{"f":{"x":1e3}}`):                                "features.f.x: got the number",
		in(`"features":{"":{}}`):                                        "id is empty",
		in(`"features":[]`):                                             "features: got an array; want an object",
		in(`"containerEnv":[]`):                                         "containerEnv: got an array",
		in(`"containerEnv":{"":"x"}`):                                   "has no name",
		in(`"containerEnv":{"A":"\u0000"}`):                             "NUL",
		in(`"remoteUser":""`):                                           "remoteUser: the user is empty",
		in(`"remoteUser":"a\nb"`):                                       "control",
		in(`"mounts":{}`):                                               "mounts: got an object",
		in(`"mounts":["target=t"]`):                                     "isn't absolute",
		in(`"mounts":["target=/t,type=bind"]`):                          "a bind has no source",
		in(`"mounts":["source=/s,target=/t,type=tmpfs"]`):               "a tmpfs has a source",
		in(`"mounts":["target=/t,type=npipe"]`):                         "got type",
		in(`"mounts":["target=/t,type="]`):                              "got type",
		in(`"mounts":["target=/t,target=/u"]`):                          "mounts[0].target: the option stands twice",
		in(`"mounts":["target=/t,dst=/u"]`):                             "mounts[0].target: the option stands twice",
		in(`"mounts":["target=/t,readonly=maybe"]`):                     "mounts[0].readonly",
		in(`"mounts":["target=/t,bind-propagation=shared"]`):            "mounts[0].bind-propagation: the option is outside",
		in(`"mounts":["target=/t,Type=bind"]`):                          "mounts[0].Type",
		in(`"mounts":["target"]`):                                       "mounts[0].target: it has no value",
		in(`"mounts":[""]`):                                             "isn't one line",
		in(`"mounts":["target=/t\ntarget=/u"]`):                         "isn't one line",
		in(`"mounts":["target=/t","target=/t/"]`):                       "mounts[1]: another mount has the target",
		in(`"mounts":[{"target":"/t","type":"volume","readonly":"y"}]`): "mounts[0].readonly: got a string; want a boolean",
		in(`"mounts":[{"target":"/t","type":"volume","type":"bind"}]`):  "mounts[0].type: the name stands twice",
		in(`"mounts":[{"target":"/t"}]`):                                `got type ""`,
		in(`"customizations":{"a":[{"b":1,"b":2}]}`):                    "customizations.a[0].b: the name stands twice",
		in(`"privileged":false`):                                        "privileged: it widens the sandbox",
		in(`"preFlightCommand":"x"`):                                    "executes commands",
		in(`"Name":"x"`):                                                "is name meant?",
		in(`"name":"\ud800"`):                                           "surrogate",
		in("\"name\":\"\xff\""):                                         "UTF-8",
		`{"image":"a b"}`:                                               "image: the image has space",
		`{"image":"a"`:                                                  "ends in the middle",
		"{\"image\":\"a\"} // x\r, \"privileged\": true":                "carriage return stands alone",
		`{"image":"a",,}`:                                               "it isn't JSON with comments",
		`{,}`:                                                           "it isn't JSON with comments",
		`{"image":"a","mounts":[,]}`:                                    "it isn't JSON with comments",
		`{"image":"a","features":{"f":{"x":,}}}`:                        "it isn't JSON with comments",
		`{"image":'a'}`:                                                 "double quotes",
		`{"image":"a"} /`:                                               "something follows",
		"":                                                              "the file is empty",
		strings.Repeat("[", 200):                                        "nested deeper",
		`{"image":"` + strings.Repeat("a", MaxBytes) + `"}`:             "want at most 1048576",
	} {
		_, err := Ingest([]byte(src))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %v, want %s", src, err, want)
		}
	}
}

// TestDuplicatesAreNotJudgedTwice: what stands twice is refused once, whatever the
// second says.
func TestDuplicatesAreNotJudgedTwice(t *testing.T) {
	_, err := Ingest([]byte(`{"image":"a","image":7,"mounts":[{"target":"/t","target":7,"type":"volume"}],"features":{"f":{"x":"1","x":null}}}`))
	if list, _ := errors.AsType[Refusals](err); len(list) != 3 {
		t.Errorf("got %v, want three refusals", err)
	}
}

// TestHostileFiles: what is made to be slow or large is answered, in bounds, and long
// before the test as a whole runs out of time.
func TestHostileFiles(t *testing.T) {
	long := strings.Repeat("n", MaxBytes/2)
	for what, src := range map[string]string{
		"doubled names":     `{"image":"a","name":{` + strings.Repeat(`"":0,`, MaxBytes/5-20) + `}}`,
		"a long path":       `{"image":"a","name":{"` + long + `":{` + strings.Repeat(`"":0,`, MaxBytes/12) + `}}}`,
		"many options":      `{"image":"a","features":{"` + long + `":{` + strings.Repeat(`"":0,`, MaxBytes/12) + `}}}`,
		"unknown names":     `{` + strings.Repeat(`"x":0,`, MaxBytes/6-10) + `}`,
		"brackets":          strings.Repeat("[", MaxBytes),
		"slashes":           `{"image":"a"}` + strings.Repeat("/", MaxBytes-20),
		"commas":            strings.Repeat(",", MaxBytes),
		"open comments":     strings.Repeat("/*", MaxBytes/2),
		"a deep, wide name": `{"image":"a","name":` + strings.Repeat("[", 98) + strings.Repeat("1,", MaxBytes/2-200) + strings.Repeat("]", 98) + "}",
	} {
		_, err := Ingest([]byte(src))
		list, _ := errors.AsType[Refusals](err)
		if len(list) > maxRefusals+1 {
			t.Errorf("%s: got %d refusals", what, len(list))
		}
		if s := Suggest([]byte(src)); len(s) > 64*MaxBytes {
			t.Errorf("%s: the suggestion has %d bytes", what, len(s))
		}
	}
}
