package seal

import (
	"crypto"
	"fmt"
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
)

// HeadSchema marks a signed head of a chain.
const HeadSchema = "sandbox.head/1"

// The logs that have signed heads.
const (
	RunRecordLog = "run-record"
	LedgerLog    = "ledger"
	PoolLog      = "pool"
	AuditLog     = "audit"
)

// Head says how long a log was and where its chain stood. Who holds a signed one
// knows a log that was cut short or rewritten since.
type Head struct {
	Log    string
	Head   joulebox.ID // the zero id for an empty ledger, pool or audit log
	Length uint64
}

type headWire struct {
	Schema string `json:"schema"`
	Log    string `json:"log"`
	Head   string `json:"head"` // the zero id is a head like any other
	Length uint64 `json:"length"`
}

func (h Head) check() error {
	if logs := []string{RunRecordLog, LedgerLog, PoolLog, AuditLog}; !slices.Contains(logs, h.Log) {
		return fmt.Errorf("head: log: got %q, want one of %q", h.Log, logs)
	}
	return nil
}

// Canonical is the head's RFC 8785 form, which is signed.
func (h Head) Canonical() ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	return jcs.Marshal(headWire{HeadSchema, h.Log, h.Head.String(), h.Length})
}

// SignHead seals a head.
func SignHead(signer crypto.Signer, h Head) (Object, error) {
	core, err := h.Canonical()
	if err != nil {
		return Object{}, err
	}
	s, err := Sign(signer, core)
	return Object{core, s}, err
}

// ParseHead reads a signed head of one kind of log. It checks no signature.
func ParseHead(src []byte, log string) (Head, Object, error) {
	o, err := ParseObject(src)
	if err != nil {
		return Head{}, o, fmt.Errorf("head: %w", err)
	}
	var w headWire
	if err := jcs.Unmarshal(o.Core, &w); err != nil {
		return Head{}, o, fmt.Errorf("head: %w", err)
	}
	if w.Schema != HeadSchema || w.Log != log {
		return Head{}, o, fmt.Errorf("head: got schema %q and log %q, want %q and %q", w.Schema, w.Log, HeadSchema, log)
	}
	id, err := joulebox.ParseID(w.Head)
	if err != nil {
		return Head{}, o, fmt.Errorf("head: %w", err)
	}
	h := Head{w.Log, id, w.Length}
	return h, o, h.check()
}
