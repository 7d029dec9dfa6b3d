package ledger

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json/v2"
	"fmt"
	"strings"
	"testing"

	"github.com/zeebo/blake3"
	"pgregory.net/rapid"

	"github.com/joulebox/joulebox"
)

func id(text string) joulebox.ID { return joulebox.Sum([]byte(text)) }

func step(n int) Step {
	name := func(what string) joulebox.ID { return id(fmt.Sprint(what, n)) }
	return Step{
		UnitID: name("unit"), ImageID: name("image"), Tier: joulebox.S2, Outcome: joulebox.Completed,
		Total: Total{Estimated: joulebox.Microjoules(n)}, ReceiptID: name("receipt"), AttestationID: name("attestation"), EAT: name("eat"),
	}
}

func build(prev joulebox.ID, steps ...int) Build {
	b := Build{Intent: id("make it"), Prev: prev}
	for _, n := range steps {
		b.Steps = append(b.Steps, step(n))
	}
	return b
}

func signed(t testing.TB, key ed25519.PrivateKey, b Build) Signed {
	t.Helper()
	s, err := Sign(key, b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBuildID: by hand, from raw digests; equal for equal builds, whatever came
// before and however it went.
func TestBuildID(t *testing.T) {
	intent, one, two := blake3.Sum256([]byte("make it")), blake3.Sum256([]byte("image1")), blake3.Sum256([]byte("image2"))
	want := joulebox.ID(blake3.Sum256([]byte(string(intent[:]) + string(one[:]) + string(two[:]))))
	b := build(joulebox.ID{}, 1, 2)
	if b.ID() != want {
		t.Errorf("got %s, want %s", b.ID(), want)
	}
	again := build(id("another build"), 1, 2)
	again.Steps[0].Outcome, again.Steps[1].Total.Estimated, again.Steps[1].ReceiptID = joulebox.Failed, 77, id("x")
	if again.ID() != want {
		t.Error("the same build has another id")
	}
	for what, other := range map[string]Build{"order": build(joulebox.ID{}, 2, 1), "fewer steps": build(joulebox.ID{}, 1), "more steps": build(joulebox.ID{}, 1, 2, 2)} {
		if other.ID() == want {
			t.Errorf("%s: another build has the same id", what)
		}
	}
	// An intent can't swallow the digest that follows it.
	swallowed := Build{Intent: joulebox.Sum([]byte("make it" + string(one[:]))), Steps: []Step{step(2)}}
	if swallowed.ID() == want {
		t.Error("an intent stands for an image")
	}
}

func TestReceiptComesBack(t *testing.T) {
	public, key, _ := ed25519.GenerateKey(nil)
	other, _, _ := ed25519.GenerateKey(nil)
	b := build(id("before"), 1, 2, 3)
	measured := joulebox.Microjoules(5)
	b.Steps[1].Total.Measured, b.Steps[2].Outcome = &measured, joulebox.Terminated(joulebox.BreachTime)
	s := signed(t, key, b)
	text, err := s.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseSigned(text)
	if err != nil || read.Verify(public) != nil || read.VerifyClaimed() != nil || read.Verify(other) == nil {
		t.Fatalf("got %v", err)
	}
	if again, _ := read.Canonical(); string(again) != string(text) || read.Build.Completed() || !build(id("x"), 1).Completed() {
		t.Errorf("got %s, want %s", again, text)
	}
	for _, c := range [][2]string{
		{`"estimated_uj":3`, `"estimated_uj":2`}, {`,"measured_uj":5`, ``}, {`"measured_uj":5`, `"measured_uj":-5`}, {`"Completed"`, `"Failed"`}, {`"Completed"`, `"Fine"`}, {`"S2"`, `"S3"`}, {`"S2"`, `"S9"`},
		{id("before").String(), id("after").String()}, {id("image1").String(), id("image2").String()}, {b.ID().String(), id("x").String()},
		{id("make it").String(), id("break it").String()}, {id("eat2").String(), id("eat1").String()}, {`"schema":"sandbox.build/1"`, `"schema":"sandbox.build/2"`},
		{`"steps":[`, `"x":1,"steps":[`}, {`"prev":"` + id("before").String() + `",`, ``}, {id("receipt1").String(), joulebox.ID{}.String()},
	} {
		if !strings.Contains(string(text), c[0]) {
			t.Fatalf("%s isn't there to be changed", c[0])
		}
		got, err := ParseSigned([]byte(strings.Replace(string(text), c[0], c[1], 1)))
		if err == nil && got.Verify(public) == nil {
			t.Errorf("%s to %s: it verifies", c[0], c[1])
		}
	}
}

func TestRefusedReceipts(t *testing.T) {
	_, key, _ := ed25519.GenerateKey(nil)
	none := build(joulebox.ID{}, 1)
	none.Steps[0].Outcome = joulebox.Outcome{}
	for what, b := range map[string]Build{"no steps": build(joulebox.ID{}), "no intent": {Steps: []Step{step(1)}}, "no outcome": none, "no ids": {Intent: id("x"), Steps: []Step{{Outcome: joulebox.Completed}}}} {
		if _, err := Sign(key, b); err == nil {
			t.Errorf("%s: it is signed", what)
		}
	}
	most := build(joulebox.ID{}, 1, 2)
	most.Steps[0].Total.Estimated, most.Steps[1].Total.Estimated = 1<<63, 1<<63
	if _, err := most.Total(); err == nil {
		t.Error("a sum that overflows is given")
	}
}

func TestTotal(t *testing.T) {
	b := build(joulebox.ID{}, 1, 2)
	two := joulebox.Microjoules(20)
	b.Steps[0].Total.Measured = &two
	if got, err := b.Total(); err != nil || got.Estimated != 3 || got.Measured != nil {
		t.Errorf("got %+v, %v, want an estimate alone", got, err)
	}
	b.Steps[1].Total.Measured = &two
	if got, err := b.Total(); err != nil || got.Measured == nil || *got.Measured != 40 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestChain: heads by hand, and every change of the list fails.
func TestChain(t *testing.T) {
	_, key, _ := ed25519.GenerateKey(nil)
	var c Chain
	var list []Signed
	head := make([]byte, 32)
	for n := range 5 {
		s := signed(t, key, build(c.Prev(), n, n+1))
		text, _ := s.Canonical()
		receipt := blake3.Sum256(text)
		sum := blake3.Sum256([]byte("sandbox.ledger/1" + string(head) + string(receipt[:])))
		head = sum[:]
		if err := c.Append(s); err != nil || string(c.head[:]) != string(head) || c.Len() != uint64(n+1) || c.Prev() != s.Build.ID() {
			t.Fatalf("receipt %d: %v, head %s", n, err, c.Head())
		}
		list = append(list, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, 4).Draw(t, "i")
		changed := append([]Signed{}, list...)
		switch rapid.IntRange(0, 3).Draw(t, "how") {
		case 0: // taken out
			changed = append(changed[:i], changed[i+1:]...)
		case 1: // moved
			j := (i + 1 + rapid.IntRange(0, 3).Draw(t, "j")) % 5
			changed[i], changed[j] = changed[j], changed[i]
		case 2: // another outcome, signed again
			b := build(changed[i].Build.Prev, i, i+1)
			b.Steps[0].Total.Estimated++
			s, err := Sign(key, b)
			if err != nil {
				t.Fatal(err)
			}
			changed[i] = s
		case 3: // doubled
			changed = append(changed[:i+1], changed[i:]...)
		}
		var d Chain
		for _, s := range changed {
			if d.Append(s) != nil {
				return
			}
		}
		if d == c {
			t.Fatal("another list has the same chain")
		}
	})
}

func TestSignedHead(t *testing.T) {
	_, key, _ := ed25519.GenerateKey(nil)
	var c Chain
	if err := c.Append(signed(t, key, build(joulebox.ID{}, 1))); err != nil {
		t.Fatal(err)
	}
	text, err := c.SignHead(key)
	if err != nil {
		t.Fatal(err)
	}
	h, err := ParseHead(text)
	if err != nil || h.Head != c.Head() || h.Length != 1 || h.VerifyClaimed() != nil {
		t.Errorf("got %+v, %v", h, err)
	}
	h, err = ParseHead([]byte(strings.Replace(string(text), `"length":1`, `"length":0`, 1)))
	if err != nil || h.VerifyClaimed() == nil {
		t.Error("a shorter head verifies")
	}
}

// TestEnvelope: the published example of what is signed, and what a changed
// envelope comes to.
func TestEnvelope(t *testing.T) {
	if got := string(authenticated("http://example.com/HelloWorld", []byte("hello world"))); got != "DSSEv1 29 http://example.com/HelloWorld 11 hello world" {
		t.Errorf("got %q", got)
	}
	public, key, _ := ed25519.GenerateKey(nil)
	other, _, _ := ed25519.GenerateKey(nil)
	e, err := SealEnvelope(key, []byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := OpenEnvelope(e, public); err != nil || string(p) != `{"a":1}` {
		t.Errorf("got %s, %v", p, err)
	}
	if _, err := OpenEnvelope(e, other); err == nil {
		t.Error("it opens under another key")
	}
	for _, c := range [][2]string{
		{"vnd.in-toto", "vnd.in-toto2"}, {base64.StdEncoding.EncodeToString([]byte(`{"a":1}`)), base64.StdEncoding.EncodeToString([]byte(`{"a":2}`))},
		{`"sig":"`, `"sig":"AAAA`}, {`"signatures":[`, `"signatures":[],"x":[`}, {`"payload":"`, `"payload":"!`},
	} {
		if _, err := OpenEnvelope([]byte(strings.Replace(string(e), c[0], c[1], 1)), public); err == nil {
			t.Errorf("%s to %s: it opens", c[0], c[1])
		}
	}
}

func TestProvenance(t *testing.T) {
	_, key, _ := ed25519.GenerateKey(nil)
	p := Provenance{
		Signed: signed(t, key, build(joulebox.ID{}, 1)), Intent: "make it", HostID: id("host"), Version: "1.0",
		Steps:        []StepDetail{{Name: "one", Entrypoint: []string{"run"}, GrantsID: id("grants"), StartedUS: 1_000_000, FinishedUS: 2_500_000, Attestation: []byte("{}")}},
		Outputs:      []Artifact{{Name: "out", Content: []byte("built")}},
		Dependencies: []Artifact{{Name: "in", Content: []byte("source"), Annotations: map[string]string{"step": "one"}}},
	}
	text, err := p.Statement()
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	sum, b3 := sha256.Sum256([]byte("built")), blake3.Sum256([]byte("built"))
	for path, want := range map[string]string{
		"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1",
		"subject.0.name": "out", "subject.0.digest.sha256": hex.EncodeToString(sum[:]), "subject.0.digest.blake3": hex.EncodeToString(b3[:]),
		"predicate.buildDefinition.externalParameters.intent":               "make it",
		"predicate.buildDefinition.externalParameters.steps.0.unit_id":      id("unit1").String(),
		"predicate.buildDefinition.resolvedDependencies.0.name":             "in",
		"predicate.runDetails.metadata.startedOn":                           "1970-01-01T00:00:01Z",
		"predicate.runDetails.metadata.finishedOn":                          "1970-01-01T00:00:02.5Z",
		"predicate.runDetails.builder.id":                                   buildType + "#" + id("host").String(),
		"predicate.runDetails.byproducts.0.annotations.build_id":            p.Signed.Build.ID().String(),
		"predicate.runDetails.byproducts.1.annotations.estimated_uj":        "1",
		"predicate.buildDefinition.resolvedDependencies.0.digest.sha256":    "41cf6794ba4200b839c53531555f0f3998df4cbb01a4d5cb0b94e3ca5e23947d",
		"predicate.buildDefinition.resolvedDependencies.0.annotations.step": "one",
	} {
		if got := at(s, strings.Split(path, ".")); got != want {
			t.Errorf("%s: got %v, want %s", path, got, want)
		}
	}
	p.Outputs = nil
	if _, err := p.Statement(); err == nil {
		t.Error("a statement about nothing is made")
	}
}

func at(v any, path []string) any {
	for _, name := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			v = x[name[0]-'0']
		}
	}
	return v
}

func FuzzReceipt(f *testing.F) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	text, _ := signed(f, key, build(id("before"), 1, 2)).Canonical()
	f.Add(text)
	core, _ := build(joulebox.ID{}, 1).Canonical()
	f.Add(core)
	f.Fuzz(func(t *testing.T, src []byte) {
		if b, err := Parse(src); err == nil {
			once, err := b.Canonical()
			if err != nil {
				t.Fatal(err)
			}
			if again, err := Parse(once); err != nil || again.ID() != b.ID() {
				t.Errorf("%s came back as %v, %v", src, again, err)
			}
		}
		if s, err := ParseSigned(src); err == nil {
			once, err := s.Canonical()
			if err != nil {
				t.Fatal(err)
			}
			if again, err := ParseSigned(once); err != nil || again.Seal != s.Seal {
				t.Errorf("%s came back as %v, %v", src, again, err)
			}
		}
	})
}
