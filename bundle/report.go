package bundle

// Status is what one check came to.
type Status string

// The statuses.
const (
	// Pass: the check holds.
	Pass Status = "pass"
	// Fail: it doesn't; the bundle is invalid.
	Fail Status = "fail"
	// Unknown: it couldn't be made, and trust needs it.
	Unknown Status = "unknown"
	// Skip: it doesn't apply to this bundle.
	Skip Status = "skip"
)

// Check is one line of a report. Names are stable.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"` // what was compared, what was wrong, what is missing
}

// Verdict is what the checks come to together.
type Verdict string

// The verdicts.
const (
	// Valid: every check that applies holds, under a pinned key.
	Valid Verdict = "valid"
	// Invalid: some check fails.
	Invalid Verdict = "invalid"
	// Incomplete: nothing fails, and something that trust needs is missing: the
	// signer isn't pinned, or evidence isn't there or wasn't verified.
	Incomplete Verdict = "incomplete"
)

// ExitCode is 0 for Valid, 1 for Invalid, 3 for Incomplete.
func (v Verdict) ExitCode() int {
	switch v {
	case Valid:
		return 0
	case Incomplete:
		return 3
	}
	return 1
}

// Report is all that Verify found, in a fixed order.
type Report struct {
	Verdict Verdict `json:"verdict"`
	Checks  []Check `json:"checks"`
	// Notes are limits of what was shown, for people: they change no verdict.
	Notes []string `json:"notes"`
}

// Failures are the checks that fail.
func (r Report) Failures() []Check { return r.with(Fail) }

// Missing are the checks that trust needs and that couldn't be made.
func (r Report) Missing() []Check { return r.with(Unknown) }

func (r Report) with(s Status) (out []Check) {
	for _, c := range r.Checks {
		if c.Status == s {
			out = append(out, c)
		}
	}
	return out
}

// settle draws the verdict: one failure spoils all, one gap leaves it open.
func (r *Report) settle() {
	switch {
	case len(r.Failures()) > 0:
		r.Verdict = Invalid
	case len(r.Missing()) > 0:
		r.Verdict = Incomplete
	default:
		r.Verdict = Valid
	}
}
