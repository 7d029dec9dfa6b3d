// Package evidencetest is the contract that every evidence.Verifier keeps: one
// suite, run by each vendor's tests with evidence of its own.
package evidencetest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
)

// Good is evidence that a verifier accepts.
type Good struct {
	Name       string
	Report     []byte
	Collateral evidence.Collateral
	Policy     evidence.Policy // under which it is Valid
	// Timeless says that this kind of evidence carries no time and no certificate:
	// whether it is fresh is for the challenge to show.
	Timeless bool
	// Unread reports whether a byte of the report isn't read by anybody, with the
	// reason in the format's words; nil means that every byte counts.
	Unread func(at int) bool
}

// Suite runs the contract.
func Suite(t *testing.T, v evidence.Verifier, all []Good) {
	if len(all) == 0 {
		t.Fatal("no evidence: the suite would prove nothing")
	}
	for _, g := range all {
		t.Run(g.Name, func(t *testing.T) {
			accepts(t, v, g)
			statesAndWaives(t, v, g)
			refusesOtherValues(t, v, g)
			if !g.Timeless {
				refusesOtherTimes(t, v, g)
			}
			refusesCuts(t, v, g)
		})
	}
	for _, junk := range [][]byte{nil, {}, {0}, []byte("{}"), bytes.Repeat([]byte{0xff}, 5000)} {
		if a := v.Verify(junk, all[0].Collateral, all[0].Policy); a.Verdict != bundle.Invalid || a.Claims != nil {
			t.Errorf("%d bytes of junk: got %s", len(junk), a.Verdict)
		}
	}
}

func accepts(t *testing.T, v evidence.Verifier, g Good) {
	t.Helper()
	report, certs := bytes.Clone(g.Report), fmt.Sprintf("%x", g.Collateral)
	a := v.Verify(g.Report, g.Collateral, g.Policy)
	if a.Verdict != bundle.Valid || a.Err() != nil || a.Claims == nil || a.Kind != v.Kind() {
		t.Fatalf("got %s: %v", a.Verdict, a.Err())
	}
	if !bytes.Equal(report, g.Report) || certs != fmt.Sprintf("%x", g.Collateral) {
		t.Error("verifying changed what was handed in")
	}
	seen := map[string]bool{}
	for _, c := range a.Checks {
		if seen[c.Name] || c.Detail == "" || c.Status == bundle.Pass && c.Reason != "" {
			t.Errorf("check %+v: want a name of its own, a detail and no reason", c)
		}
		seen[c.Name] = true
	}
	if b := v.Verify(g.Report, g.Collateral, g.Policy); !reflect.DeepEqual(a, b) {
		t.Errorf("twice: got %v and %v", a, b)
	}
	if tee := a.TEE(); tee != nil && (len(tee.TCB) == 0 || tee.Measurement == "") {
		t.Errorf("summary: got %+v, want a measurement and a TCB", tee)
	}
}

// What isn't stated is open, and what is waived isn't asked for.
func statesAndWaives(t *testing.T, v evidence.Verifier, g Good) {
	t.Helper()
	p := g.Policy
	p.ReportData, p.Waived = nil, without(p.Waived, evidence.AnyReportData)
	Want(t, "no report data stated", v.Verify(g.Report, g.Collateral, p), bundle.Incomplete, evidence.Unstated)
	p.Waived = append(p.Waived, evidence.AnyReportData)
	Want(t, "any report data", v.Verify(g.Report, g.Collateral, p), bundle.Valid, "")
	Want(t, "no policy", v.Verify(g.Report, g.Collateral, evidence.Policy{}), bundle.Invalid, evidence.Unmet)
	if _, tee := v.Kind().TEE(); !tee {
		return
	}
	p = g.Policy
	p.Measurements, p.Waived = nil, without(p.Waived, evidence.AnyMeasurement)
	Want(t, "no measurement stated", v.Verify(g.Report, g.Collateral, p), bundle.Incomplete, evidence.Unstated)
	p.Waived = append(p.Waived, evidence.AnyMeasurement)
	Want(t, "any measurement", v.Verify(g.Report, g.Collateral, p), bundle.Valid, "")
}

func refusesOtherValues(t *testing.T, v evidence.Verifier, g Good) {
	t.Helper()
	claims := v.Verify(g.Report, g.Collateral, g.Policy).Claims
	p := g.Policy
	p.ReportData = flipped(claims.ReportData, len(claims.ReportData)-1)
	a := v.Verify(g.Report, g.Collateral, p)
	if err := a.Err(); a.Verdict != bundle.Invalid || !errors.Is(err, evidence.ReportData) && !errors.Is(err, evidence.Nonce) {
		t.Errorf("other report data: got %s, %v", a.Verdict, err)
	}
	if len(claims.Measurement) > 0 {
		p = g.Policy
		p.Measurements = []evidence.Hex{flipped(claims.Measurement, 0)}
		Want(t, "another measurement", v.Verify(g.Report, g.Collateral, p), bundle.Invalid, evidence.Measurement)
	}
}

// The clock is the policy's: long before and long after, nothing is accepted.
func refusesOtherTimes(t *testing.T, v evidence.Verifier, g Good) {
	t.Helper()
	for _, at := range []time.Time{time.Unix(0, 0), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)} {
		p := g.Policy
		p.Now = at
		if a := v.Verify(g.Report, g.Collateral, p); a.Verdict == bundle.Valid {
			t.Errorf("at %s: accepted", at)
		}
	}
}

func refusesCuts(t *testing.T, v evidence.Verifier, g Good) {
	t.Helper()
	for n := 0; n < len(g.Report); n += 1 + n/64 {
		if g.Unread != nil && g.Unread(n) {
			continue
		}
		if a := v.Verify(g.Report[:n], g.Collateral, g.Policy); a.Verdict == bundle.Valid {
			t.Errorf("cut to %d bytes: accepted", n)
		}
	}
}

// Flip changes every byte of data in turn, a bit that walks with the place, and
// wants no change accepted. accepted judges the changed bytes.
func Flip(t *testing.T, what string, data []byte, skip func(at int) bool, accepted func(changed []byte) bool) {
	t.Helper()
	tried := 0
	for i := range data {
		if skip != nil && skip(i) {
			continue
		}
		tried++
		if changed := flipped(data, i); accepted(changed) {
			t.Errorf("%s: byte %d changed from %#x to %#x: accepted", what, i, data[i], changed[i])
		}
	}
	t.Logf("%s: %d of %d bytes changed, each in turn", what, tried, len(data))
	if tried < len(data)*9/10 {
		t.Errorf("%s: only %d of %d bytes were tried", what, tried, len(data))
	}
}

func flipped(data []byte, at int) []byte {
	changed := bytes.Clone(data)
	changed[at] ^= 1 << (at % 8)
	return changed
}

func without(all []evidence.Waiver, w evidence.Waiver) []evidence.Waiver {
	return slices.DeleteFunc(slices.Clone(all), func(has evidence.Waiver) bool { return has == w })
}

// Want checks an appraisal's verdict, and that the reason, unless empty, is among
// its own.
func Want(t *testing.T, name string, a *evidence.Appraisal, verdict bundle.Verdict, r evidence.Reason) {
	t.Helper()
	if a.Verdict != verdict || r != "" && !errors.Is(a.Err(), r) {
		t.Errorf("%s: got %s, %v, want %s for %q", name, a.Verdict, a.Err(), verdict, r)
	}
}
