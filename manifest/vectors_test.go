package manifest

import (
	"errors"
	"path"
	"slices"
	"testing"

	"github.com/joulebox/joulebox/internal/vectors"
)

const group = "07-devcontainer"

func TestVectorsAreCovered(t *testing.T) {
	vectors.Covered(t, group, "edge/*.json", "edge-expected.json", "real/*", "real-expected.json", "equivalence/*.json", "equivalence.json", "schema/*.json")
}

type edge struct {
	Name, Expect, Why, Field string
	Pinned                   *bool
}

func TestEdgeVectors(t *testing.T) {
	var cases []edge
	vectors.Load(t, group, "edge-expected.json", &cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			src := vectors.Read(t, group, "edge/"+c.Name+".json")
			m, err := Ingest(src)
			judgeCase(t, c.Expect, m, err)
			checkSuggestion(t, src)
			if c.Pinned != nil && m != nil && m.Fields().Pinned != *c.Pinned {
				t.Errorf("pinned: got %v, want %v", m.Fields().Pinned, *c.Pinned)
			}
			if c.Field != "" && !refuses(err, c.Field) {
				t.Errorf("got %v, want a refusal of %q", err, c.Field)
			}
		})
	}
	vectors.AtLeast(t, "edge cases", len(cases), 71)
}

// judgeCase: what is accepted comes back as it is, and what is refused says where,
// why and what to do. Cases without a verdict must still do one or the other.
func judgeCase(t *testing.T, expect string, m *Manifest, err error) {
	t.Helper()
	if (err == nil) != (m != nil) || expect == "accept" && err != nil || expect == "refuse" && err == nil {
		t.Fatalf("got %v, %v, want it to %s", m, err, expect)
	}
	if m != nil {
		again, err := Parse(m.Core())
		if err != nil || again.ID() != m.ID() {
			t.Errorf("it doesn't come back: %v", err)
		}
		return
	}
	list, ok := errors.AsType[Refusals](err)
	if !ok || len(list) == 0 {
		t.Fatalf("got %T, want Refusals", err)
	}
	for _, r := range list {
		if r.Line < 1 || r.Column < 1 || r.Reason == "" || r.Fix == "" {
			t.Errorf("a refusal lacks something: %+v", r)
		}
	}
}

func refuses(err error, field string) bool {
	list, _ := errors.AsType[Refusals](err)
	return slices.ContainsFunc(list, func(r Refusal) bool { return r.Field == field })
}

type realCase struct {
	File       string
	Expect     string
	Normalized *struct {
		Image        string
		Pinned       bool
		Features     [][2]any
		ContainerEnv map[string]string
		Mounts       []struct{ Source, Target, Kind string }
		RemoteUser   string
	}
	Listed    []string `json:"refused_by_listed_field"`
	Unlisted  []string `json:"refused_by_unlisted_field"`
	Variables []string `json:"variables_in_identity"`
}

func TestRealVectors(t *testing.T) {
	var file struct{ Cases []realCase }
	vectors.Load(t, group, "real-expected.json", &file)
	compared := 0
	for _, c := range file.Cases {
		t.Run(path.Base(c.File), func(t *testing.T) {
			src := vectors.Read(t, group, c.File)
			m, err := Ingest(src)
			judgeCase(t, c.Expect, m, err)
			for _, field := range append(c.Listed, c.Unlisted...) {
				if !refuses(err, field) {
					t.Errorf("%s isn't refused by name: %v", field, err)
				}
			}
			if m != nil && c.Normalized != nil {
				compared++
				compareWith(t, c, m)
			}
			checkSuggestion(t, src)
		})
	}
	vectors.AtLeast(t, "real files", len(file.Cases), 63)
	vectors.AtLeast(t, "real files compared member by member", compared, 16)
}

func compareWith(t *testing.T, c realCase, m *Manifest) {
	t.Helper()
	f, n := m.Fields(), c.Normalized
	if f.Image != n.Image || f.Pinned != n.Pinned || f.RemoteUser != n.RemoteUser {
		t.Errorf("got %q %v %q, want %q %v %q", f.Image, f.Pinned, f.RemoteUser, n.Image, n.Pinned, n.RemoteUser)
	}
	if !slices.Equal(m.Variables(), c.Variables) {
		t.Errorf("variables: got %q, want %q", m.Variables(), c.Variables)
	}
	if len(f.Features) != len(n.Features) || len(f.Mounts) != len(n.Mounts) || len(f.ContainerEnv) != len(n.ContainerEnv) {
		t.Fatalf("got %+v, want %+v", f, n)
	}
	for i, want := range n.Features {
		options, _ := want[1].(map[string]any)
		if f.Features[i].ID != want[0] || len(f.Features[i].Options) != len(options) {
			t.Errorf("got %+v, want %v", f.Features[i], want)
		}
		for name, value := range options {
			if text, isText := value.(string); isText && optionText(f.Features[i].Options[name]) != text {
				t.Errorf("%s: got %s, want %v", name, f.Features[i].Options[name], value)
			}
		}
	}
	for name, value := range n.ContainerEnv {
		if f.ContainerEnv[name] != value {
			t.Errorf("%s: got %q, want %q", name, f.ContainerEnv[name], value)
		}
	}
	for i, want := range n.Mounts {
		if got := f.Mounts[i]; got.Source != want.Source || got.Target != want.Target || got.Kind != want.Kind {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestEquivalenceVectors(t *testing.T) {
	var cases []struct {
		A, B string
		Same bool `json:"same_address"`
	}
	vectors.Load(t, group, "equivalence.json", &cases)
	for _, c := range cases {
		a, err := Ingest(vectors.Read(t, group, c.A))
		if err != nil {
			t.Fatalf("%s: %v", c.A, err)
		}
		b, err := Ingest(vectors.Read(t, group, c.B))
		if err != nil {
			t.Fatalf("%s: %v", c.B, err)
		}
		if drift := Diff(a, b); (a.ID() == b.ID()) != c.Same || (len(drift) == 0) != c.Same {
			t.Errorf("%s and %s: got %s and %s, %v, want the same: %v", c.A, c.B, a.ID(), b.ID(), drift, c.Same)
		}
	}
	vectors.AtLeast(t, "pairs", len(cases), 24)
}

// checkSuggestion: what is suggested is accepted.
func checkSuggestion(t *testing.T, src []byte) {
	t.Helper()
	if s := Suggest(src); s != nil {
		if _, err := Ingest(s); err != nil {
			t.Errorf("the suggestion is refused: %v\n%s", err, s)
		}
	}
}

// TestSchemaWords: every property of the published schema is known by name here,
// so that its refusal gives the reason and not just that it is unknown.
func TestSchemaWords(t *testing.T) {
	var schema struct {
		Definitions map[string]struct {
			Properties map[string]any
		}
	}
	vectors.Load(t, group, "schema/devContainer.base.schema.json", &schema)
	known, words := knownNames(), 0
	for _, part := range []string{"devContainerCommon", "nonComposeBase", "imageContainer", "composeContainer"} {
		for name := range schema.Definitions[part].Properties {
			words++
			if name != "additionalProperties" && !slices.Contains(known, name) {
				t.Errorf("%s: the schema has %s, which is unknown here", part, name)
			}
		}
	}
	vectors.AtLeast(t, "words of the schema", words, 40)
}
