package joulebox_test

import (
	"encoding"
	"encoding/json/v2"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
)

// wire is a closed set as it goes over the wire.
type wire interface {
	comparable
	encoding.TextMarshaler
	String() string
}

// closedSet: every word has the spelling of the standard and comes back from it;
// words near it are refused, and so are values beyond the set.
func closedSet[T wire](t *testing.T, words []string, values []T, parse func(string) (T, error), beyond T) {
	t.Helper()
	if len(words) != len(values) {
		t.Fatalf("got %d values, want %d", len(values), len(words))
	}
	for i, word := range words {
		text, err := values[i].MarshalText()
		if err != nil || string(text) != word || values[i].String() != word {
			t.Errorf("%d: got %q, %v, want %q", i, text, err, word)
		}
		if v, err := parse(word); err != nil || v != values[i] {
			t.Errorf("%q: got %v, %v", word, v, err)
		}
		for _, near := range []string{strings.ToLower(word), strings.ToUpper(word), word + " ", " " + word, word + "\x00", word[:1], ""} {
			if v, err := parse(near); err == nil && near != word {
				t.Errorf("%q became %v", near, v)
			}
		}
	}
	if text, err := beyond.MarshalText(); err == nil {
		t.Errorf("a value beyond the set is written %q", text)
	}
	if beyond.String() == "" {
		t.Error("a value beyond the set prints as nothing")
	}
}

func TestTiers(t *testing.T) {
	closedSet(t, []string{"S0", "S1", "S2", "S3", "S4", "S5", "S6", "S7"}, joulebox.Tiers(), joulebox.ParseTier, joulebox.Tier(8))
	for _, bad := range []string{"S8", "S-1", "S", "2", "S00", "S02", "T2", "Sandbox"} {
		if v, err := joulebox.ParseTier(bad); err == nil {
			t.Errorf("%q became %v", bad, v)
		}
	}
	if got := joulebox.S2.Name(); got != "Sandbox" {
		t.Errorf("S2 is called %q, want Sandbox", got)
	}
	if joulebox.S0.Name() != "Bare" || joulebox.S7.Name() != "Sovereign" || joulebox.Tier(9).Name() != "S9" {
		t.Errorf("names: %q, %q, %q", joulebox.S0.Name(), joulebox.S7.Name(), joulebox.Tier(9).Name())
	}
	if !slices.IsSorted(joulebox.Tiers()) {
		t.Error("the ladder isn't in order")
	}
	var tier joulebox.Tier
	if err := json.Unmarshal([]byte(`"S5"`), &tier); err != nil || tier != joulebox.S5 {
		t.Errorf("got %v, %v, want S5", tier, err)
	}
	if err := json.Unmarshal([]byte(`5`), &tier); err == nil {
		t.Error("a bare number became a tier")
	}
}

func TestDeviceClasses(t *testing.T) {
	words := []string{"Cpu", "Simd", "Gpu", "Npu", "Tpu", "Lpu", "Photonic", "Quantum"}
	closedSet(t, words, joulebox.DeviceClasses(), joulebox.ParseDeviceClass, joulebox.DeviceClass(8))
	var list []joulebox.DeviceClass
	if err := json.Unmarshal([]byte(`["Cpu","Quantum"]`), &list); err != nil || !slices.Equal(list, []joulebox.DeviceClass{joulebox.CPU, joulebox.Quantum}) {
		t.Errorf("got %v, %v", list, err)
	}
	if err := json.Unmarshal([]byte(`["cpu"]`), &list); err == nil {
		t.Error("cpu in lower case was accepted")
	}
}

func TestMicrojoules(t *testing.T) {
	const most = joulebox.Microjoules(math.MaxUint64)
	for _, c := range []struct {
		a, b, sum joulebox.Microjoules
		ok        bool
	}{
		{0, 0, 0, true}, {1, 2, 3, true}, {most, 0, most, true}, {most - 1, 1, most, true}, {most, 1, 0, false}, {most, most, 0, false}, {1 << 63, 1 << 63, 0, false},
	} {
		if sum, err := c.a.Add(c.b); sum != c.sum || (err == nil) != c.ok {
			t.Errorf("%d + %d: got %d, %v, want %d, %v", c.a, c.b, sum, err, c.sum, c.ok)
		}
	}
}

func TestBreaches(t *testing.T) {
	budgets := []string{"energy_budget_uj", "cpu_time_ms", "memory_bytes"}
	tampering := []string{"grant_mutation", "image_mutation", "vm_escape", "privilege_escalation", "out_of_allocation_write", "journal_mismatch"}
	var got []string
	for _, b := range joulebox.Breaches() {
		got = append(got, string(b))
		if !b.Known() || b.Tampering() != slices.Contains(tampering, string(b)) {
			t.Errorf("%s: known %v, tampering %v", b, b.Known(), b.Tampering())
		}
	}
	if want := append(budgets, tampering...); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, b := range []joulebox.Breach{"", "Energy_budget_uj", "timeout"} {
		if b.Known() || b.Tampering() {
			t.Errorf("%q is taken for a breach", b)
		}
	}
}

func TestOutcomes(t *testing.T) {
	want := map[string]joulebox.Outcome{`"Completed"`: joulebox.Completed, `"Failed"`: joulebox.Failed}
	for _, b := range joulebox.Breaches() {
		want[`{"Terminated":{"breach":"`+string(b)+`"}}`] = joulebox.Terminated(b)
	}
	for text, o := range want {
		if out, err := json.Marshal(o); err != nil || string(out) != text {
			t.Errorf("%v: got %s, %v, want %s", o, out, err, text)
		}
		var back joulebox.Outcome
		if err := json.Unmarshal([]byte(text), &back); err != nil || back != o || !back.Valid() {
			t.Errorf("%s: got %v, %v", text, back, err)
		}
	}
	if s := joulebox.Terminated(joulebox.BreachTime).String(); s != "Terminated(cpu_time_ms)" {
		t.Errorf("got %q for people", s)
	}
}

func TestOutcomesRefused(t *testing.T) {
	for _, text := range []string{
		`null`, `""`, `"completed"`, `"Terminated"`, `0`, `[]`, `{}`, `{"Terminated":null}`, `{"Terminated":{}}`, `{"Terminated":{"breach":""}}`,
		`{"Terminated":{"breach":null}}`, `{"Terminated":{"breach":"timeout"}}`, `{"terminated":{"breach":"cpu_time_ms"}}`,
		`{"Terminated":{"breach":"cpu_time_ms","more":1}}`, `{"Terminated":{"breach":"cpu_time_ms"},"more":1}`,
		`{"Terminated":{"breach":"cpu_time_ms","breach":"cpu_time_ms"}}`, `{"Completed":{}}`,
	} {
		o := joulebox.Failed
		if err := json.Unmarshal([]byte(text), &o); err == nil || o != joulebox.Failed {
			t.Errorf("%s became %v, %v", text, o, err)
		}
	}
	for _, o := range []joulebox.Outcome{{}, joulebox.Terminated(""), joulebox.Terminated("timeout")} {
		if out, err := json.Marshal(o); err == nil || o.Valid() {
			t.Errorf("%v is written %s", o, out)
		}
	}
}

// FuzzOutcome: what parses re-encodes to the same outcome, and to the same text
// where that was compact.
func FuzzOutcome(f *testing.F) {
	f.Add([]byte(`"Completed"`))
	f.Add([]byte(`{"Terminated":{"breach":"vm_escape"}}`))
	f.Add([]byte(`{"Terminated":{"breach":"vm_escape"},"x":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var o joulebox.Outcome
		if json.Unmarshal(b, &o) != nil {
			return
		}
		out, err := json.Marshal(o)
		if err != nil || !o.Valid() {
			t.Fatalf("%s became %v, which is written %s, %v", b, o, out, err)
		}
		var back joulebox.Outcome
		if err := json.Unmarshal(out, &back); err != nil || back != o {
			t.Fatalf("%s became %v, then %v, %v", b, o, back, err)
		}
	})
}
