package bundle

import (
	"bytes"
	"crypto/ed25519"
	"fmt"

	"github.com/joulebox/joulebox/attestation"
)

// Key is a public key that the relying party trusts, under a name of its own.
type Key struct {
	Name   string
	Public ed25519.PublicKey
}

// Options are what the relying party brings. The zero Options trust nobody.
type Options struct {
	// Pinned are the keys that trust rests on.
	Pinned []Key
	// Challenge is the freshness value that the relying party handed out before
	// the run; nil asks for none.
	Challenge []byte
	// MultiTenant says that the relying party knows the host to serve several
	// tenants. The tier that this raises to S3 is then required; otherwise it is
	// accepted, since a bundle doesn't say.
	MultiTenant bool
	// Evidence verifies hardware evidence down to its vendor's root, and that it
	// carries reportData (§7.6). It returns a check for each thing that it looked
	// at, and what genuine evidence says, nil when it isn't genuine. nil leaves
	// evidence unverified, which is said.
	Evidence func(e *Evidence, reportData [64]byte) (checks []Check, says *attestation.TEE)
	// Brief leaves out the words of checks that pass, and the notes. Nothing else is
	// different.
	Brief bool
}

// pinned finds the key among the pinned ones.
func (o *Options) pinned(pub ed25519.PublicKey) (Key, bool) {
	for _, k := range o.Pinned {
		if k.Public.Equal(pub) {
			return k, true
		}
	}
	return Key{}, false
}

// verifier is one Verify in progress.
type verifier struct {
	b      *Bundle
	o      *Options
	key    ed25519.PublicKey  // that the seal names
	fields attestation.Fields // of the statement
	report Report
}

// Verify makes every check that the file allows, in a fixed order, and says what
// it couldn't check. It recomputes every id from the bytes, and trusts nothing
// that the file says of itself but through a pinned key.
func (b *Bundle) Verify(o Options) Report {
	v := &verifier{b: b, o: &o, fields: b.statement.Fields()}
	v.report.Checks = make([]Check, 0, 32)
	v.signatures()
	v.ids()
	v.agreement()
	v.tier()
	v.devices()
	v.outcome()
	v.manifest()
	v.journal()
	v.evidence()
	v.freshness()
	v.energyNotes()
	v.report.settle()
	return v.report
}

func (v *verifier) add(name string, s Status, format string, args ...any) {
	if v.o.Brief && s == Pass {
		format, args = "", nil
	}
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	v.report.Checks = append(v.report.Checks, Check{Name: name, Status: s, Detail: format})
}

// check adds a pass with the detail, or a fail with the error.
func (v *verifier) check(name string, err error, detail string) {
	if err != nil {
		v.add(name, Fail, "%s", err.Error())
		return
	}
	v.add(name, Pass, "%s", detail)
}

func (v *verifier) note(format string, args ...any) {
	if v.o.Brief {
		return
	}
	v.report.Notes = append(v.report.Notes, fmt.Sprintf(format, args...))
}

// freshness compares the relying party's challenge with the unit's (§7.8).
func (v *verifier) freshness() {
	const name = "challenge"
	has := v.b.unit.Challenge
	switch {
	case v.o.Challenge == nil && len(has) == 0:
		v.add(name, Skip, "none was asked for, and the unit carries none")
		v.note("freshness isn't shown: the unit carries no challenge, and the EAT alone proves none")
	case v.o.Challenge == nil:
		v.add(name, Skip, "none was asked for; the unit carries %x", has)
		v.note("freshness isn't shown: the unit's challenge wasn't compared, and the EAT alone proves none")
	case bytes.Equal(v.o.Challenge, has):
		v.add(name, Pass, "the unit carries %x: it ran after the challenge was given out", has)
	default:
		v.add(name, Fail, "got %x in the unit, want %x: this isn't the run that was challenged", has, v.o.Challenge)
	}
}
