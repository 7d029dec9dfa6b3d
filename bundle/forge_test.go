package bundle_test

import (
	"bytes"
	"crypto/ed25519"
	"slices"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/receipt"
	"github.com/joulebox/joulebox/unit"
)

func testKey(n byte) ed25519.PrivateKey { return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, 32)) }

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

func pinned(keys ...ed25519.PrivateKey) (o bundle.Options) {
	for _, k := range keys {
		o.Pinned = append(o.Pinned, bundle.Key{Name: "test", Public: public(k)})
	}
	return o
}

// run is all that a host decides about one run. Its bundle is signed by a host
// that may lie in any of it.
type run struct {
	key      ed25519.PrivateKey
	grants   grant.Set
	unit     unit.Unit
	tier     joulebox.Tier
	sequence uint64
	nonce    [16]byte
	energy   []receipt.Energy
	fields   attestation.Fields // ids are filled in
	result   bundle.Result
	image    *unit.Image
	manifest *bundle.Manifest
	journal  []byte
	evidence *bundle.Evidence

	late func(f *attestation.Fields) // edits after the ids are filled in
}

// honest is a run of an untrusted module at S2 that ended well.
func honest() *run {
	key := testKey(1)
	nothing := joulebox.Sum(nil)
	zero := uint32(0)
	return &run{
		key:      key,
		grants:   grant.Empty(grant.Compute{EnergyBudgetUJ: 5e6, CPUTimeMS: 1000, MemoryBytes: 1 << 26}),
		unit:     unit.Unit{ImageID: joulebox.Sum([]byte("module")), Entrypoint: []string{"run"}},
		tier:     joulebox.S2,
		sequence: 1,
		energy:   []receipt.Energy{receipt.Estimated(joulebox.CPU, 42)},
		fields: attestation.Fields{
			Devices:      []attestation.Device{{Class: joulebox.CPU, Model: "model", Driver: "driver"}},
			Outcome:      joulebox.Completed,
			HostID:       attestation.KeyID(public(key)),
			StartedAtUS:  1_790_000_000_000_000,
			FinishedAtUS: 1_790_000_000_000_420,
		},
		result: bundle.Result{ExitCode: &zero, Stdin: nothing, Stdout: nothing, Stderr: nothing, Usage: bundle.Usage{Instructions: 7}},
	}
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// parts builds what the run leaves behind, each naming the others as it should.
func (r *run) parts(t testing.TB) bundle.Parts {
	t.Helper()
	id, raw := must[joulebox.ID](t), must[[]byte](t)
	if r.image != nil {
		r.unit.ImageID = id(r.image.ID())
	}
	if r.unit.Grants == nil {
		r.unit.Grants = raw(r.grants.Canonical())
	}
	unitID := id(r.unit.ID())
	rc := must[*receipt.Receipt](t)(receipt.New(unitID, r.tier, r.sequence, r.nonce, r.energy))
	f := r.fields
	f.UnitID, f.ImageID, f.GrantsID, f.Tier = unitID, r.unit.ImageID, id(r.unit.GrantsID()), r.tier
	f.ReceiptID, f.ResultID = rc.ID(), id(r.result.ID())
	if r.late != nil {
		r.late(&f)
	}
	st := must[*attestation.Statement](t)(attestation.New(f))
	return bundle.Parts{Unit: r.unit, Receipt: rc, Statement: st, Result: r.result, Image: r.image, Manifest: r.manifest, Journal: r.journal, Evidence: r.evidence}
}

// bundle signs the run, and reads it back from its text, as a verifier would.
func (r *run) bundle(t testing.TB) *bundle.Bundle {
	t.Helper()
	made := must[*bundle.Bundle](t)(bundle.Assemble(r.key, r.parts(t)))
	read := must[*bundle.Bundle](t)(bundle.Parse(made.Marshal()))
	if !bytes.Equal(read.Marshal(), made.Marshal()) {
		t.Error("what was read isn't what was made")
	}
	return read
}

// status finds one check of a report.
func status(t testing.TB, r bundle.Report, name string) bundle.Check {
	t.Helper()
	i := slices.IndexFunc(r.Checks, func(c bundle.Check) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no check %q", name)
	}
	return r.Checks[i]
}

// wantFailures wants exactly these checks to fail, and so the verdict.
func wantFailures(t testing.TB, r bundle.Report, names ...string) {
	t.Helper()
	var got []string
	for _, c := range r.Failures() {
		got = append(got, c.Name)
	}
	if !slices.Equal(got, names) {
		t.Errorf("failing checks: got %q, want %q: %+v", got, names, r.Failures())
	}
	if want := len(names) > 0; (r.Verdict == bundle.Invalid) != want || (r.Verdict.ExitCode() == 1) != want {
		t.Errorf("verdict: got %s", r.Verdict)
	}
}

// swapIn replaces members of a bundle's text by those of another.
func swapIn(t testing.TB, into, from *bundle.Bundle, names ...string) *bundle.Bundle {
	t.Helper()
	a, b := members(t, into), members(t, from)
	for _, n := range names {
		a[n] = b[n]
	}
	return must[*bundle.Bundle](t)(bundle.Parse(must[[]byte](t)(marshalMembers(a))))
}
