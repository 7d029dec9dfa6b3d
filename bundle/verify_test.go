package bundle_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/internal/dcbor"
	"github.com/joulebox/joulebox/internal/jcs"
	"github.com/joulebox/joulebox/internal/seal"
	"github.com/joulebox/joulebox/journal"
	"github.com/joulebox/joulebox/receipt"
	"github.com/joulebox/joulebox/unit"
)

func members(t testing.TB, b *bundle.Bundle) (m map[string]jsontext.Value) {
	t.Helper()
	if err := json.Unmarshal(b.Marshal(), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func marshalMembers(m map[string]jsontext.Value) ([]byte, error) { return json.Marshal(m) }

func TestHonestRunIsValid(t *testing.T) {
	r := honest()
	report := r.bundle(t).Verify(pinned(r.key))
	if report.Verdict != bundle.Valid || report.Verdict.ExitCode() != 0 {
		t.Errorf("got %+v", report)
	}
}

// A host that lies in one thing fails the one check that is about it.
func TestEachCheckFailsAlone(t *testing.T) {
	other := joulebox.Sum([]byte("other"))
	one := uint32(1)
	for name, lie := range map[string]func(r *run){
		"unit_id eat_nonce": func(r *run) {
			r.late = func(f *attestation.Fields) { f.UnitID = other }
		},
		"grants_id": func(r *run) {
			r.late = func(f *attestation.Fields) { f.GrantsID = other }
		},
		"image_id": func(r *run) {
			r.late = func(f *attestation.Fields) { f.ImageID = other }
		},
		"result_id": func(r *run) {
			r.late = func(f *attestation.Fields) { f.ResultID = other }
		},
		"receipt_id eat_nonce": func(r *run) {
			r.late = func(f *attestation.Fields) { f.ReceiptID = other }
		},
		"one_tier tier_required": func(r *run) {
			r.late = func(f *attestation.Fields) { f.Tier = joulebox.S1 }
		},
		"tier_required": func(r *run) { r.tier = joulebox.S3 },
		"devices_granted": func(r *run) {
			r.energy = append(r.energy, receipt.Estimated(joulebox.SIMD, 1))
			r.fields.Devices = append(r.fields.Devices, attestation.Device{Class: joulebox.SIMD, Model: "m", Driver: "d"})
		},
		"device_identities": func(r *run) {
			r.grants.Compute.Devices = append(r.grants.Compute.Devices, joulebox.SIMD)
			r.fields.Devices = append(r.fields.Devices, attestation.Device{Class: joulebox.SIMD, Model: "m", Driver: "d"})
		},
		"outcome": func(r *run) { r.result.ExitCode = &one },
		"untampered": func(r *run) {
			r.result.ExitCode = nil
			r.fields.Outcome = joulebox.Terminated(joulebox.VMEscape)
		},
		"manifest":     func(r *run) { r.unit.Manifest = other },
		"journal_root": func(r *run) { r.journal = sampleJournal(t) },
	} {
		t.Run(name, func(t *testing.T) {
			r := honest()
			lie(r)
			wantFailures(t, r.bundle(t).Verify(pinned(r.key)), strings.Fields(name)...)
		})
	}
}

// Signed members of another genuine run by the same key, one at a time.
func TestMembersOfAnotherRun(t *testing.T) {
	r, s := honest(), honest()
	s.sequence, s.unit.Entrypoint, s.result.Usage.Instructions = 2, []string{"other"}, 9
	a, b := r.bundle(t), s.bundle(t)
	for _, c := range []struct{ members, fails string }{
		{"receipt", "unit_id receipt_id eat_nonce"},
		{"eat", "receipt_id attestation_id eat_nonce eat_claims"},
		{"attestation seal", "unit_id result_id receipt_id attestation_id eat_claims"},
		{"unit", "unit_id eat_nonce"},
		{"result", "result_id"},
		{"seal", "attestation_signature"},
	} {
		mixed := swapIn(t, a, b, strings.Fields(c.members)...)
		wantFailures(t, mixed.Verify(pinned(r.key)), strings.Fields(c.fails)...)
	}
}

// One key must have signed all three: a member signed by another, though that is
// pinned too, fails.
func TestOneKeySignsAll(t *testing.T) {
	r, s := honest(), honest()
	s.key = testKey(2)
	s.fields.HostID = attestation.KeyID(public(s.key))
	a, b := r.bundle(t), s.bundle(t)
	o := pinned(r.key, s.key)
	wantFailures(t, swapIn(t, a, b, "receipt").Verify(o), "receipt_signature")
	wantFailures(t, swapIn(t, a, b, "eat").Verify(o), "eat_signature", "host_id", "attestation_id", "eat_claims")
	wantFailures(t, swapIn(t, a, b, "attestation", "seal").Verify(o), "receipt_signature", "eat_signature", "host_id", "attestation_id", "eat_claims")
}

func TestSignerMustBePinned(t *testing.T) {
	r := honest()
	got := r.bundle(t).Verify(pinned(testKey(9)))
	if c := status(t, got, "signer"); got.Verdict != bundle.Incomplete || c.Status != bundle.Unknown || got.Verdict.ExitCode() != 3 {
		t.Errorf("got %s, %+v", got.Verdict, c)
	}
}

func TestChallenge(t *testing.T) {
	r := honest()
	r.unit.Challenge = []byte("12345678")
	b := r.bundle(t)
	o := pinned(r.key)
	if got := b.Verify(o); got.Verdict != bundle.Valid || status(t, got, "challenge").Status != bundle.Skip {
		t.Errorf("not asked for: %+v", got)
	}
	o.Challenge = []byte("12345678")
	if got := b.Verify(o); status(t, got, "challenge").Status != bundle.Pass {
		t.Errorf("the right one: %+v", got)
	}
	o.Challenge = []byte("12345679")
	wantFailures(t, b.Verify(o), "challenge")
	wantFailures(t, honest().bundle(t).Verify(o), "challenge")
}

func sampleJournal(t testing.TB) (container []byte) {
	for _, v := range []any{make([]byte, journal.SaltSize), "clock", 7} {
		container = journal.AppendEntry(container, must[[]byte](t)(dcbor.Marshal(v)))
	}
	return container
}

func TestJournal(t *testing.T) {
	r := honest()
	r.journal = sampleJournal(t)
	root, _, err := journal.Root(r.journal)
	if err != nil {
		t.Fatal(err)
	}
	r.fields.JournalRoot = root
	b := r.bundle(t)
	if got := b.Verify(pinned(r.key)); got.Verdict != bundle.Valid || status(t, got, "journal_root").Status != bundle.Pass {
		t.Errorf("got %+v", got)
	}
	m := members(t, b)
	delete(m, "journal")
	without := must[*bundle.Bundle](t)(bundle.Parse(must[[]byte](t)(marshalMembers(m))))
	if got := without.Verify(pinned(r.key)); got.Verdict != bundle.Valid || status(t, got, "journal_root").Status != bundle.Skip {
		t.Errorf("without the journal: got %+v", got)
	}
	for i := range r.journal {
		r.journal[i] ^= 1
		wantFailures(t, r.bundle(t).Verify(pinned(r.key)), "journal_root")
		r.journal[i] ^= 1
	}
}

func TestManifest(t *testing.T) {
	core := must[[]byte](t)(jcs.Strict([]byte(`{"schema":"sandbox.env-manifest/1","image":"x"}`)))
	maker := testKey(3)
	r := honest()
	r.manifest = &bundle.Manifest{Core: core, Seal: must[attestation.Seal](t)(seal.Sign(maker, core))}
	wantFailures(t, r.bundle(t).Verify(pinned(r.key)), "manifest") // the unit names none
	r.unit.Manifest = joulebox.Sum(core)
	b := r.bundle(t)
	for _, c := range []struct {
		o    bundle.Options
		says string
	}{
		{pinned(r.key), "isn't pinned"},
		{pinned(r.key, maker), `pinned as "test"`},
	} {
		got := b.Verify(c.o)
		if m := status(t, got, "manifest"); m.Status != bundle.Pass || !strings.Contains(m.Detail, c.says) || got.Verdict != bundle.Valid {
			t.Errorf("got %+v, want it to say %q", m, c.says)
		}
	}
	r.manifest.Seal = must[attestation.Seal](t)(seal.Sign(maker, []byte("other")))
	wantFailures(t, r.bundle(t).Verify(pinned(r.key)), "manifest")
}

// sovereign is a run that claims S7, with evidence.
func sovereign() *run {
	r := honest()
	r.tier = joulebox.S7
	r.unit.Placement.Confidential = true
	r.unit.Placement.Locality = &unit.Locality{Region: "eu", Jurisdiction: "DE"}
	r.fields.Locality = &attestation.Locality{Region: "eu", Jurisdiction: "DE"}
	r.fields.AuditPrev = new(joulebox.ID)
	r.fields.TEE = &attestation.TEE{Kind: attestation.Tdx, Measurement: strings.Repeat("0a", 48), TCB: map[string]uint64{"svn": 3}}
	r.evidence = &bundle.Evidence{Kind: attestation.Tdx, Report: []byte("report"), Chain: [][]byte{[]byte("leaf"), []byte("root")}}
	return r
}

func TestEvidence(t *testing.T) {
	r := sovereign()
	b := r.bundle(t)
	o := pinned(r.key)
	if got := b.Verify(o); got.Verdict != bundle.Incomplete || len(got.Missing()) != 1 || got.Missing()[0].Name != "evidence" {
		t.Errorf("without a verifier: got %+v", got)
	}
	var gave [64]byte
	says := *r.fields.TEE
	found := []bundle.Check{{Name: "signature", Status: bundle.Pass, Detail: "fits"}}
	o.Evidence = func(_ *bundle.Evidence, data [64]byte) ([]bundle.Check, *attestation.TEE) {
		gave = data
		return found, &says
	}
	got := b.Verify(o)
	if c := status(t, got, "evidence_signature"); got.Verdict != bundle.Valid || c.Detail != "fits" {
		t.Errorf("verified: got %+v", got)
	}
	if want := bundle.ReportData(attestation.RunNonce(b.UnitID(), b.Receipt().ID()), public(r.key)); gave != want {
		t.Errorf("report data: got %x, want %x", gave, want)
	}
	for name, change := range map[string]func(){
		"kind":        func() { says.Kind = attestation.SevSnp },
		"measurement": func() { says.Measurement = strings.Repeat("0b", 48) },
		"tcb":         func() { says.TCB = map[string]uint64{"svn": 4} },
		"a part more": func() { says.TCB = map[string]uint64{"svn": 3, "pce_svn": 1} },
		"no part":     func() { says.TCB = nil },
	} {
		says = *r.fields.TEE
		change()
		t.Log(name)
		wantFailures(t, b.Verify(o), "evidence")
	}
	says = *r.fields.TEE
	found = []bundle.Check{{Name: "debug", Status: bundle.Fail, Detail: "on"}}
	wantFailures(t, b.Verify(o), "evidence_debug")
	found[0].Status = bundle.Unknown
	if got := b.Verify(o); got.Verdict != bundle.Incomplete || len(got.Missing()) != 1 {
		t.Errorf("open: got %+v", got)
	}
	o.Evidence = func(*bundle.Evidence, [64]byte) ([]bundle.Check, *attestation.TEE) { return nil, nil }
	wantFailures(t, b.Verify(o), "evidence")
	o.Evidence = func(*bundle.Evidence, [64]byte) ([]bundle.Check, *attestation.TEE) { return found, nil }
	if got := b.Verify(o); got.Verdict != bundle.Incomplete || status(t, got, "evidence").Status != bundle.Skip {
		t.Errorf("not shown: got %+v", got)
	}

	r = sovereign()
	r.evidence.Kind = attestation.ArmCca
	wantFailures(t, r.bundle(t).Verify(o), "evidence")
	r = sovereign()
	r.fields.Locality.Region = "us"
	o.Evidence = nil
	wantFailures(t, r.bundle(t).Verify(o), "locality")
	r = honest()
	r.evidence = sovereign().evidence
	wantFailures(t, r.bundle(t).Verify(o), "evidence")
}
