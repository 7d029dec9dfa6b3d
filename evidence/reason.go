package evidence

import "fmt"

// Reason is why a check fails or couldn't be made: what callers branch on, by
// errors.Is. The texts beside it are for people.
type Reason string

// The reasons for which evidence is refused.
const (
	Malformed     Reason = "malformed"     // it isn't what its kind looks like
	Truncated     Reason = "truncated"     // it ends too early
	Trailing      Reason = "trailing"      // bytes follow that nobody signed
	Unsupported   Reason = "unsupported"   // another kind, version or layout
	Algorithm     Reason = "algorithm"     // another algorithm than the one that the kind is pinned to
	Signature     Reason = "signature"     // a signature doesn't fit
	Chain         Reason = "chain"         // the certificates don't lead to the vendor's root
	KeyMismatch   Reason = "key_mismatch"  // the key is another chip's, another TCB's or another kind's
	NotYetValid   Reason = "not_yet_valid" // by the clock that was handed in
	Expired       Reason = "expired"       // by the same
	Revoked       Reason = "revoked"       // a revocation list or a TCB status says so
	BadCollateral Reason = "collateral"    // collateral is malformed or wrongly signed
	Debug         Reason = "debug"         // what ran can be looked into from outside
	Measurement   Reason = "measurement"   // something else was launched
	TCB           Reason = "tcb"           // the platform's security version is too low
	ReportData    Reason = "report_data"   // it isn't bound to what the relying party asked for
	HostData      Reason = "host_data"     // the host launched it with other data
	Nonce         Reason = "nonce"         // it answers another challenge
	Result        Reason = "result"        // the vendor's own appraisal failed
	Unmet         Reason = "policy"        // another demand of the policy isn't met
	Summary       Reason = "summary"       // the attestation sums it up as something else
)

// The reasons for which trust stays open: nothing fails, something is missing.
const (
	Missing  Reason = "missing_collateral" // collateral that the policy needs wasn't given
	Stale    Reason = "stale_collateral"   // it was given, and isn't valid at this time
	Unstated Reason = "unstated"           // the policy doesn't say what is right
)

func (r Reason) Error() string { return string(r) }

// Open reports whether the reason leaves trust open and refuses nothing.
func (r Reason) Open() bool { return r == Missing || r == Stale || r == Unstated }

// Refusal is a reason and its details.
type Refusal struct {
	Reason Reason
	Detail string
}

// Refuse makes a Refusal.
func Refuse(r Reason, format string, args ...any) error {
	return &Refusal{Reason: r, Detail: fmt.Sprintf(format, args...)}
}

func (e *Refusal) Error() string { return e.Detail }
func (e *Refusal) Unwrap() error { return e.Reason }
