package attestation

import (
	"fmt"

	"github.com/joulebox/joulebox"
)

// AuditChain is the head of a host's append-only log of sovereign runs (§7.7):
// head' = BLAKE3(head ‖ attestation id), on raw digests. The zero AuditChain is
// the empty log, whose head is 32 zero bytes.
type AuditChain struct {
	head   joulebox.ID
	length uint64
}

// Resume continues a log from a head and a length that the caller trusts.
func Resume(head joulebox.ID, length uint64) AuditChain {
	return AuditChain{head: head, length: length}
}

// Head is what the next run's audit_prev states.
func (c AuditChain) Head() joulebox.ID { return c.head }

// Len is the number of runs so far.
func (c AuditChain) Len() uint64 { return c.length }

// Append advances the head over a run that was signed.
func (c *AuditChain) Append(attestationID joulebox.ID) {
	c.head = joulebox.Sum(append(c.head[:], attestationID[:]...))
	c.length++
}

// Extend is Append for a statement, and refuses one that doesn't state this
// head as its audit_prev: a reordered, removed or foreign entry.
func (c *AuditChain) Extend(s *Statement) error {
	prev := s.fields.AuditPrev
	if prev == nil {
		return fmt.Errorf("audit chain: entry %d: attestation %s is of tier %s and has no audit_prev, want S7", c.length, s.id, s.fields.Tier)
	}
	if *prev != c.head {
		return fmt.Errorf("audit chain: entry %d: audit_prev: got %s, want the head before it, %s", c.length, prev, c.head)
	}
	c.Append(s.id)
	return nil
}

// VerifyAudit checks a log from its beginning: that the entries, in order, lead
// to the head.
func VerifyAudit(attestationIDs []joulebox.ID, head joulebox.ID) error {
	var c AuditChain
	for _, id := range attestationIDs {
		c.Append(id)
	}
	if c.head != head {
		return fmt.Errorf("audit chain: %d entries lead to head %s, want %s: an entry was changed, moved, added or removed", c.length, c.head, head)
	}
	return nil
}
