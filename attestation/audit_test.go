package attestation_test

import (
	"slices"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
)

// log is three sovereign runs, each after the other.
func log(t *testing.T) (runs []*attestation.Statement, c attestation.AuditChain) {
	for range 3 {
		f := fields(joulebox.S7)
		head := c.Head()
		f.AuditPrev = &head
		s := statement(t, f)
		if err := c.Extend(s); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, s)
	}
	return runs, c
}

func ids(runs []*attestation.Statement) (out []joulebox.ID) {
	for _, s := range runs {
		out = append(out, s.ID())
	}
	return out
}

func TestAuditChain(t *testing.T) {
	runs, c := log(t)
	var head joulebox.ID // the definition alone
	for _, s := range runs {
		h, next := s.ID(), append([]byte(nil), head[:]...)
		head = joulebox.Sum(append(next, h[:]...))
	}
	if c.Head() != head || c.Len() != 3 {
		t.Errorf("got %s of %d, want %s of 3", c.Head(), c.Len(), head)
	}
	if err := attestation.VerifyAudit(ids(runs), head); err != nil {
		t.Error(err)
	}
	resumed := attestation.Resume(c.Head(), c.Len())
	resumed.Append(id("next"))
	c.Append(id("next"))
	if resumed != c {
		t.Error("a resumed chain goes another way")
	}
}

// Reordering, removing, adding or changing any entry shows.
func TestAuditTampering(t *testing.T) {
	runs, c := log(t)
	list := ids(runs)
	for name, bad := range map[string][]joulebox.ID{
		"reordered": {list[1], list[0], list[2]},
		"first":     list[1:],
		"last":      list[:2],
		"middle":    {list[0], list[2]},
		"added":     slices.Concat(list, list[2:]),
		"changed":   {list[0], id("x"), list[2]},
		"none":      nil,
	} {
		if attestation.VerifyAudit(bad, c.Head()) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	var again attestation.AuditChain
	wantError(t, "Extend out of order", again.Extend(runs[1]), "audit_prev")
	wantError(t, "Extend below S7", again.Extend(statement(t, fields(joulebox.S2))), "has no audit_prev")
	if again.Len() != 0 || !again.Head().IsZero() {
		t.Error("a refused entry moved the head")
	}
}
