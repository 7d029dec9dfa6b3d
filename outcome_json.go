package joulebox

import (
	"encoding/json/v2"
	"fmt"
)

// MarshalJSON writes the wire form of §7.1: a string, or an object for a breach.
func (o Outcome) MarshalJSON() ([]byte, error) {
	if !o.Valid() {
		return nil, fmt.Errorf("outcome: %q is not of the closed set", o.String())
	}
	if o.breach == breachNone {
		return json.Marshal(o.kind)
	}
	var t terminatedJSON
	t.Terminated.Breach = o.breach
	return json.Marshal(t)
}

// UnmarshalJSON reads the wire form and nothing else.
func (o *Outcome) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		v, err := ParseOutcome(s)
		if err == nil {
			*o = v
		}
		return err
	}
	var t terminatedJSON
	if err := json.Unmarshal(b, &t, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("outcome: %w", err)
	}
	if !t.Terminated.Breach.Known() {
		return fmt.Errorf("outcome: breach %q is not of the closed set", t.Terminated.Breach)
	}
	*o = Terminated(t.Terminated.Breach)
	return nil
}
