package joulebox

import (
	"fmt"
	"math/bits"
	"slices"
)

// Microjoules is energy as the standard counts it: integer microjoules (§4).
type Microjoules uint64

// Add sums two energies; an overflow of 64 bits is an error, never a wrap.
func (a Microjoules) Add(b Microjoules) (Microjoules, error) {
	sum, carry := bits.Add64(uint64(a), uint64(b), 0)
	if carry != 0 {
		return 0, fmt.Errorf("energy: %d + %d microjoules overflow 64 bits", a, b)
	}
	return Microjoules(sum), nil
}

// Breach is why a run was terminated (§7.1): a hard budget of the grant, or
// tampering. The set is closed.
type Breach string

// The breaches. The first three are budgets (§5.1), the rest is tampering (§7.5).
const (
	BreachEnergy     Breach = "energy_budget_uj"
	BreachTime       Breach = "cpu_time_ms"
	BreachMemory     Breach = "memory_bytes"
	GrantMutation    Breach = "grant_mutation"
	ImageMutation    Breach = "image_mutation"
	VMEscape         Breach = "vm_escape"
	PrivilegeEscal   Breach = "privilege_escalation"
	OutOfAllocation  Breach = "out_of_allocation_write"
	JournalMismatch  Breach = "journal_mismatch"
	breachNone       Breach = ""
	numberOfBudgets         = 3
	outcomeCompleted        = "Completed"
	outcomeFailed           = "Failed"
)

// Breaches lists the closed set, budgets first.
func Breaches() []Breach {
	return []Breach{BreachEnergy, BreachTime, BreachMemory, GrantMutation, ImageMutation, VMEscape, PrivilegeEscal, OutOfAllocation, JournalMismatch}
}

// Known reports whether b is in the closed set.
func (b Breach) Known() bool { return slices.Contains(Breaches(), b) }

// Tampering reports whether the breach makes the whole run invalid (§7.5).
func (b Breach) Tampering() bool { return slices.Contains(Breaches()[numberOfBudgets:], b) }

// Outcome is how a run ended (§7.1): Completed, Failed, or Terminated with the
// breach. The zero Outcome is no outcome and is refused where one is needed.
type Outcome struct {
	kind   string
	breach Breach
}

// The outcomes without a breach.
var (
	Completed = Outcome{kind: outcomeCompleted}
	Failed    = Outcome{kind: outcomeFailed}
)

// Terminated is the outcome of a run that was ended for a breach.
func Terminated(b Breach) Outcome { return Outcome{kind: "Terminated", breach: b} }

// ParseOutcome reads one of the two plain outcomes.
func ParseOutcome(s string) (Outcome, error) {
	switch s {
	case outcomeCompleted:
		return Completed, nil
	case outcomeFailed:
		return Failed, nil
	}
	return Outcome{}, fmt.Errorf(`outcome: got %q, want "Completed", "Failed" or {"Terminated":{"breach":…}}`, s)
}

// Breach is the breach of a terminated run, else empty.
func (o Outcome) Breach() Breach { return o.breach }

// Valid reports whether o is one of the closed set.
func (o Outcome) Valid() bool {
	if o.kind == "Terminated" {
		return o.breach.Known()
	}
	return (o == Completed || o == Failed) && o.breach == breachNone
}

// String is for people: "Completed", "Failed", "Terminated(cpu_time_ms)".
func (o Outcome) String() string {
	if o.breach != breachNone {
		return o.kind + "(" + string(o.breach) + ")"
	}
	return o.kind
}

type terminatedJSON struct {
	Terminated struct {
		Breach Breach `json:"breach"`
	} `json:"Terminated"`
}
