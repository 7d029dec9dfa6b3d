package evidence

import (
	"errors"
	"fmt"

	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
)

// Check is one line of an Appraisal. Names and reasons are stable.
type Check struct {
	Name   string        `json:"name"`
	Status bundle.Status `json:"status"`
	Reason Reason        `json:"reason,omitempty"` // unless it passes
	Detail string        `json:"detail"`
}

// Claims is what genuine evidence says, whatever the policy thinks of it.
type Claims struct {
	// Measurement is the launch measurement; empty where the kind has none.
	Measurement Hex `json:"measurement,omitempty"`
	// ReportData is the value that the guest put in: report data, challenge or nonce.
	ReportData Hex `json:"report_data"`
	// Debug says that what ran can be looked into from outside.
	Debug bool `json:"debug"`
	// TCB is the platform's security versions, part by part.
	TCB map[string]uint64 `json:"tcb,omitempty"`
	// Details are the other fields, under their vendor's names, as text.
	Details map[string]string `json:"details"`
}

// Appraisal is all that a verifier found, in a fixed order.
type Appraisal struct {
	Kind    Kind           `json:"kind"`
	Verdict bundle.Verdict `json:"verdict"`
	Checks  []Check        `json:"checks"`
	// Notes are limits of what was shown, for people: they change no verdict.
	Notes []string `json:"notes"`
	// Claims is nil until signature and chain hold.
	Claims *Claims `json:"claims,omitempty"`
}

// NewAppraisal is one without a check, which is Invalid: nothing was shown.
func NewAppraisal(k Kind) *Appraisal {
	return &Appraisal{Kind: k, Verdict: bundle.Invalid, Checks: make([]Check, 0, 16), Notes: []string{}}
}

// Check adds a line that passes without an error, is unknown when the error's
// reason leaves trust open, and fails otherwise. It reports whether it passes.
func (a *Appraisal) Check(name string, err error, format string, args ...any) bool {
	if err == nil {
		a.add(Check{Name: name, Status: bundle.Pass, Detail: fmt.Sprintf(format, args...)})
		return true
	}
	c := Check{Name: name, Status: bundle.Fail, Reason: Malformed, Detail: err.Error()}
	if r, ok := errors.AsType[*Refusal](err); ok {
		c.Reason = r.Reason
	}
	if c.Reason.Open() {
		c.Status = bundle.Unknown
	}
	a.add(c)
	return false
}

// Skip adds a line for what doesn't apply, or wasn't asked for.
func (a *Appraisal) Skip(name, format string, args ...any) {
	a.add(Check{Name: name, Status: bundle.Skip, Detail: fmt.Sprintf(format, args...)})
}

// Note adds a note.
func (a *Appraisal) Note(format string, args ...any) {
	a.Notes = append(a.Notes, fmt.Sprintf(format, args...))
}

func (a *Appraisal) add(c Check) {
	first := len(a.Checks) == 0
	a.Checks = append(a.Checks, c)
	switch {
	case first:
		a.Verdict = bundle.Valid
	case a.Verdict == bundle.Invalid:
		return
	}
	switch c.Status {
	case bundle.Fail:
		a.Verdict = bundle.Invalid
	case bundle.Unknown:
		a.Verdict = bundle.Incomplete
	}
}

// Err is nil for a Valid appraisal, else every check that fails, or, when none
// does, every one that couldn't be made. errors.Is finds their reasons.
func (a *Appraisal) Err() error {
	want := map[bundle.Verdict]bundle.Status{bundle.Invalid: bundle.Fail, bundle.Incomplete: bundle.Unknown}[a.Verdict]
	var all []error
	for _, c := range a.Checks {
		if c.Status == want {
			all = append(all, fmt.Errorf("%s: %w", c.Name, &Refusal{Reason: c.Reason, Detail: c.Detail}))
		}
	}
	if a.Verdict != bundle.Valid && all == nil {
		return errors.New("nothing was checked")
	}
	return errors.Join(all...)
}

// TEE is the claims as an attestation sums them up (§7.6), nil for kinds that no
// attestation sums up and for evidence that isn't genuine.
func (a *Appraisal) TEE() *attestation.TEE {
	kind, ok := a.Kind.TEE()
	if !ok || a.Claims == nil {
		return nil
	}
	return &attestation.TEE{Kind: kind, Measurement: a.Claims.Measurement.String(), TCB: a.Claims.TCB}
}
