package attestation_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json/v2"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/internal/jcs"
)

func testKey(n byte) ed25519.PrivateKey { return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, 32)) }

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

func id(s string) joulebox.ID { return joulebox.Sum([]byte(s)) }

// fields of a run at a tier, with all that the tier needs.
func fields(tier joulebox.Tier) attestation.Fields {
	f := attestation.Fields{
		ResultID: id("result"), UnitID: id("unit"), ImageID: id("image"), GrantsID: id("grants"), ReceiptID: id("receipt"),
		Tier:         tier,
		Devices:      []attestation.Device{{Class: joulebox.CPU, Model: "m", Driver: "d"}},
		Outcome:      joulebox.Completed,
		HostID:       attestation.KeyID(public(testKey(1))),
		StartedAtUS:  1_790_000_000_000_000,
		FinishedAtUS: 1_790_000_001_999_999,
	}
	if tier >= joulebox.S6 {
		f.TEE = &attestation.TEE{Kind: attestation.SevSnp, Measurement: strings.Repeat("0a", 48),
			TCB: map[string]uint64{"boot_loader": 1, "tee": 2, "snp": 3, "microcode": 4}}
	}
	if tier >= joulebox.S7 {
		f.Locality = &attestation.Locality{Region: "eu", Jurisdiction: "DE"}
		f.AuditPrev = new(joulebox.ID)
	}
	return f
}

func statement(t testing.TB, f attestation.Fields) *attestation.Statement {
	t.Helper()
	s, err := attestation.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// At every tier, a statement reads back as it was made, the first of an audit
// chain included, whose audit_prev is 32 zero bytes.
func TestRoundTrip(t *testing.T) {
	for _, tier := range joulebox.Tiers() {
		f := fields(tier)
		f.JournalRoot, f.EnergyModel = id("journal"), id("model")
		f.Probing = attestation.Probes()
		made := statement(t, f)
		read, err := attestation.Parse(made.Core())
		if err != nil {
			t.Fatalf("%s: %v", tier, err)
		}
		if !bytes.Equal(read.Core(), made.Core()) || read.ID() != made.ID() || read.ID() != joulebox.Sum(read.Core()) {
			t.Errorf("%s: what was read isn't what was made", tier)
		}
	}
}

// Each rule of §7, broken, is refused when built and when read, by its member.
func TestRefusals(t *testing.T) {
	type edit = func(f *attestation.Fields)
	tee := func(e func(t *attestation.TEE)) edit { return func(f *attestation.Fields) { e(f.TEE) } }
	for _, c := range []struct {
		tier joulebox.Tier
		want string
		edit edit
	}{
		{joulebox.S2, "result_id", func(f *attestation.Fields) { f.ResultID = joulebox.ID{} }},
		{joulebox.S2, "unit_id", func(f *attestation.Fields) { f.UnitID = joulebox.ID{} }},
		{joulebox.S2, "image_id", func(f *attestation.Fields) { f.ImageID = joulebox.ID{} }},
		{joulebox.S2, "grants_id", func(f *attestation.Fields) { f.GrantsID = joulebox.ID{} }},
		{joulebox.S2, "receipt_id", func(f *attestation.Fields) { f.ReceiptID = joulebox.ID{} }},
		{joulebox.S2, "host_id", func(f *attestation.Fields) { f.HostID = joulebox.ID{} }},
		{joulebox.S2, "devices: got no identity", func(f *attestation.Fields) { f.Devices = nil }},
		{joulebox.S2, "devices[0]: got model", func(f *attestation.Fields) { f.Devices[0].Model = "" }},
		{joulebox.S2, "devices[0]: got model", func(f *attestation.Fields) { f.Devices[0].Driver = "" }},
		{joulebox.S2, "devices[1]: a second identity", func(f *attestation.Fields) { f.Devices = append(f.Devices, f.Devices[0]) }},
		{joulebox.S2, "finished_at_us", func(f *attestation.Fields) { f.StartedAtUS = f.FinishedAtUS + 1 }},
		{joulebox.S2, "finished_at_us", func(f *attestation.Fields) { f.FinishedAtUS = 1 << 53 }},
		{joulebox.S2, "probing[0]", func(f *attestation.Fields) { f.Probing = []attestation.Probe{"x"} }},
		{joulebox.S2, "probing[1]", func(f *attestation.Fields) {
			f.Probing = []attestation.Probe{attestation.ProbeHardware, attestation.ProbeHardware}
		}},
		{joulebox.S2, "tee: got present=true", func(f *attestation.Fields) { f.TEE = fields(joulebox.S6).TEE }},
		{joulebox.S6, "tee: got present=false", func(f *attestation.Fields) { f.TEE = nil }},
		{joulebox.S6, "locality: got present=true", func(f *attestation.Fields) { f.Locality = fields(joulebox.S7).Locality }},
		{joulebox.S6, "audit_prev: got present=true", func(f *attestation.Fields) { f.AuditPrev = new(joulebox.ID) }},
		{joulebox.S7, "locality: got present=false", func(f *attestation.Fields) { f.Locality = nil }},
		{joulebox.S7, "audit_prev: got present=false", func(f *attestation.Fields) { f.AuditPrev = nil }},
		{joulebox.S7, "locality: got region", func(f *attestation.Fields) { f.Locality.Region = "" }},
		{joulebox.S7, "locality: got region", func(f *attestation.Fields) { f.Locality.Jurisdiction = "" }},
		{joulebox.S6, "tee.kind", tee(func(t *attestation.TEE) { t.Kind = "Sgx" })},
		{joulebox.S6, "tee.measurement", tee(func(t *attestation.TEE) { t.Measurement = t.Measurement[2:] })},
		{joulebox.S6, "tee.measurement", tee(func(t *attestation.TEE) { t.Measurement = strings.ToUpper(t.Measurement) })},
		{joulebox.S6, "tee.tcb: is empty", tee(func(t *attestation.TEE) { t.TCB = map[string]uint64{} })},
		{joulebox.S6, "tee.tcb.snp", tee(func(t *attestation.TEE) { delete(t.TCB, "snp") })},
		{joulebox.S6, "tee.tcb: got parts", tee(func(t *attestation.TEE) { t.TCB["other"] = 1 })},
		{joulebox.S6, "tee.tcb: got a part", tee(func(t *attestation.TEE) { t.TCB["A"] = 1 })},
	} {
		f := fields(c.tier)
		c.edit(&f)
		_, err := attestation.New(f)
		wantError(t, "New", err, c.want)
		text, err := jcs.Marshal(f)
		if err != nil {
			continue // can't even be written
		}
		_, err = attestation.Parse(text)
		wantError(t, "Parse", err, c.want)
	}
	f := fields(joulebox.S2)
	f.Outcome = joulebox.Outcome{}
	_, err := attestation.New(f)
	wantError(t, "New", err, "outcome")
}

func wantError(t *testing.T, what string, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: got error %v, want it to say %q", what, err, text)
	}
}

func TestFmcIsAllowed(t *testing.T) {
	f := fields(joulebox.S6)
	f.TEE.TCB["fmc"] = 1
	statement(t, f)
	f = fields(joulebox.S6)
	f.TEE = &attestation.TEE{Kind: attestation.ArmCca, Measurement: strings.Repeat("0", 128), TCB: map[string]uint64{"lifecycle": 1}}
	statement(t, f)
}

// New puts lists in order; a reader wants them so.
func TestOrder(t *testing.T) {
	f := fields(joulebox.S2)
	f.Devices = []attestation.Device{{Class: joulebox.GPU, Model: "g", Driver: "d"}, f.Devices[0]}
	f.Probing = []attestation.Probe{attestation.ProbeHardware, attestation.ProbeEnergy}
	text, err := jcs.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	_, err = attestation.Parse(text)
	wantError(t, "Parse", err, "devices[1]: Cpu after Gpu")
	got := statement(t, f).Fields()
	if got.Devices[0].Class != joulebox.CPU || got.Probing[0] != attestation.ProbeEnergy {
		t.Errorf("got %v and %v, want them sorted", got.Devices, got.Probing)
	}
	if f.Devices[0].Class != joulebox.GPU {
		t.Error("New sorted its caller's slice")
	}
	f.Devices, f.Probing = got.Devices, []attestation.Probe{attestation.ProbeHardware, attestation.ProbeEnergy}
	text, _ = jcs.Marshal(f)
	_, err = attestation.Parse(text)
	wantError(t, "Parse", err, "probing[1]")
}

// The members are a closed set: one less, one more, in another case or of
// another type is refused.
func TestClosedSet(t *testing.T) {
	f := fields(joulebox.S7)
	f.JournalRoot, f.EnergyModel, f.Probing = id("j"), id("m"), attestation.Probes()
	var whole map[string]any
	if err := json.Unmarshal(statement(t, f).Core(), &whole); err != nil {
		t.Fatal(err)
	}
	if len(whole) != 17 {
		t.Fatalf("got %d members, want all 17", len(whole))
	}
	optional := []string{"journal_root", "energy_model", "probing"}
	for name, v := range whole {
		for _, other := range []any{nil, 1.5, -1, "", []any{}, map[string]any{}} {
			refuse(t, whole, name, other)
		}
		m := maps.Clone(whole)
		delete(m, name)
		_, err := attestation.Parse(encode(t, m))
		if (err == nil) != slices.Contains(optional, name) {
			t.Errorf("without %s: got error %v", name, err)
		}
		m[strings.ToUpper(name)] = v
		if _, err := attestation.Parse(encode(t, m)); err == nil {
			t.Errorf("accepted %s", strings.ToUpper(name))
		}
	}
	refuse(t, whole, "extra", 1)
	refuse(t, whole, "journal_root", joulebox.ID{}.String())
}

func refuse(t *testing.T, whole map[string]any, name string, other any) {
	t.Helper()
	m := maps.Clone(whole)
	m[name] = other
	if _, err := attestation.Parse(encode(t, m)); err == nil {
		t.Errorf("accepted %s = %v", name, other)
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What a caller holds can't change the statement.
func TestStatementDoesNotAlias(t *testing.T) {
	f := fields(joulebox.S7)
	f.Probing = attestation.Probes()
	s := statement(t, f)
	for _, f := range []attestation.Fields{f, s.Fields()} {
		f.Devices[0].Model, f.Probing[0], f.TEE.TCB["snp"], f.TEE.Kind = "x", "x", 99, "x"
		f.Locality.Region, *f.AuditPrev = "x", id("x")
	}
	s.Core()[0] = 'x'
	got := s.Fields()
	if got.Devices[0].Model != "m" || got.Probing[0] == "x" || got.TEE.TCB["snp"] != 3 || got.TEE.Kind == "x" || got.Locality.Region != "eu" || !got.AuditPrev.IsZero() || s.Core()[0] != '{' {
		t.Errorf("a caller's write reached the statement: %+v", got)
	}
}

// FuzzStatement: what parses encodes to its strict canonical form, and New makes
// the same of its members.
func FuzzStatement(f *testing.F) {
	for _, tier := range []joulebox.Tier{joulebox.S2, joulebox.S6, joulebox.S7} {
		f.Add(statement(f, fields(tier)).Core())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := attestation.Parse(text)
		if err != nil {
			return
		}
		want, err := jcs.Strict(text)
		if err != nil || !bytes.Equal(s.Core(), want) {
			t.Errorf("core %q, want %q (%v)", s.Core(), want, err)
		}
		again, err := attestation.New(s.Fields())
		if err != nil || !bytes.Equal(again.Core(), want) {
			t.Errorf("made again: %v", err)
		}
	})
}
