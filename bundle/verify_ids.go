package bundle

import (
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/internal/cose"
)

// signatures checks all three under the one key that the seal names, and looks
// for that key among the pinned ones.
func (v *verifier) signatures() {
	var err error
	if v.key, err = v.b.seal.PublicKey(); err != nil {
		v.add("signer", Fail, "%s", err.Error())
		return
	}
	v.signer()
	id := attestation.KeyID(v.key)
	_, err = cose.Verify(v.b.raw.receipt, v.key)
	v.check("receipt_signature", err, "COSE_Sign1, EdDSA, by the signer's key")
	v.check("attestation_signature", v.b.seal.VerifyClaimed(v.b.statement.Core()), "Ed25519 over the canonical JSON, and its SHA-256")
	_, err = attestation.VerifyEAT(v.b.raw.eat, v.key)
	v.check("eat_signature", err, "CWT, EdDSA, by the signer's key; profile and ueid right")
	v.equal("host_id", id, named{"attestation", v.fields.HostID}, named{"eat ueid", v.b.eat.HostID})
}

func (v *verifier) signer() {
	if k, ok := v.o.pinned(v.key); ok {
		v.add("signer", Pass, "%x is pinned as %q", []byte(v.key), k.Name)
		return
	}
	v.add("signer", Unknown, "%x isn't among the %d pinned keys: anybody could have made this; pin the key if you know whose it is", []byte(v.key), len(v.o.Pinned))
}

// ids recomputes every content address from the bytes in the file and compares
// it with each place that states it.
func (v *verifier) ids() {
	b, f := v.b, &v.fields
	v.equal("unit_id", joulebox.Sum(b.raw.unit), named{"attestation", f.UnitID}, named{"receipt", b.receipt.UnitID()})
	v.equal("grants_id", joulebox.Sum(b.unit.Grants), named{"attestation", f.GrantsID}, named{"eat", b.eat.GrantsID})
	v.image()
	v.equal("result_id", joulebox.Sum(b.raw.result), named{"attestation", f.ResultID})
	v.equal("receipt_id", b.receipt.ID(), named{"attestation", f.ReceiptID}, named{"eat", b.eat.ReceiptID})
	v.equal("attestation_id", b.statement.ID(), named{"eat", b.eat.AttestationID})
}

// agreement checks that receipt, attestation and EAT speak of one run.
func (v *verifier) agreement() {
	b, f := v.b, &v.fields
	nonce := attestation.RunNonce(joulebox.Sum(b.raw.unit), b.receipt.ID())
	var err error
	if b.eat.Nonce != nonce {
		err = fmt.Errorf("got %x, want %x", b.eat.Nonce, nonce)
	}
	v.check("eat_nonce", err, "BLAKE3 of this unit's and this receipt's digests")
	v.check("eat_claims", b.eat.Matches(b.statement), "every claim is the attestation's")
	err = nil
	if b.receipt.Tier() != f.Tier || b.eat.Tier != f.Tier {
		err = fmt.Errorf("got %s in the receipt, %s in the attestation, %s in the EAT, want one", b.receipt.Tier(), f.Tier, b.eat.Tier)
	}
	v.check("one_tier", err, "receipt, attestation and EAT say "+f.Tier.String())
}

// image checks the image id of the attestation, the EAT and, where it is here,
// the image object against the unit's.
func (v *verifier) image() {
	const name = "image_id"
	b := v.b
	want := b.unit.ImageID
	if b.raw.image != nil {
		want = joulebox.Sum(b.raw.image)
	}
	places := []named{{"unit", b.unit.ImageID}, {"attestation", v.fields.ImageID}, {"eat", b.eat.ImageID}}
	if err := same(want, places); err != nil || b.raw.image != nil {
		v.check(name, err, want.String())
		return
	}
	// A path where a module has the name of an export: the object was left out.
	if e := b.unit.Entrypoint; len(e) > 0 && len(e[0]) > 0 && e[0][0] == '/' {
		v.add(name, Unknown, "no image object is here, and the entrypoint %q is a program's path and not an export: what the image holds can't be checked", e[0])
		return
	}
	v.add(name, Pass, "%s, taken for one module, since no image object is here", want)
}

type named struct {
	place string
	id    joulebox.ID
}

func same(want joulebox.ID, places []named) error {
	var errs []error
	for _, p := range places {
		if p.id != want {
			errs = append(errs, fmt.Errorf("got %s in the %s, want %s", p.id, p.place, want))
		}
	}
	return errors.Join(errs...)
}

func (v *verifier) equal(name string, want joulebox.ID, places ...named) {
	if err := same(want, places); err != nil {
		v.add(name, Fail, "%s", err.Error())
		return
	}
	v.add(name, Pass, "%s", want)
}
