package bundle

import (
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/receipt"
	"github.com/joulebox/joulebox/unit"
)

// Schema is the value of the member "schema".
const Schema = "joulebox.bundle/1"

// Bundle is one parsed or assembled file. Its members are well formed each for
// itself; whether they belong together, and who signed them, is for Verify to
// say. It doesn't change once made: what its methods return shares memory with
// it, and is to be read and not written.
type Bundle struct {
	raw raw // every member as bytes, canonical where it is JSON

	unit      unit.Unit
	grants    grant.Set
	receipt   *receipt.Receipt
	statement *attestation.Statement
	seal      attestation.Seal
	eat       attestation.EAT
	result    Result
	image     *unit.Image
	manifest  *Manifest
	evidence  *Evidence
}

// Manifest is the signed environment manifest: canonical JSON, and the seal of
// whoever made it.
type Manifest struct {
	Core []byte
	Seal attestation.Seal
}

// Evidence is a hardware attestation report and the certificates that lead to
// its vendor's root, as the platform gave them (§7.6).
type Evidence struct {
	Kind   attestation.TEEKind
	Report []byte
	Chain  [][]byte
}

// Unit is the descriptor of what ran.
func (b *Bundle) Unit() unit.Unit { return b.unit }

// UnitID is the content address of the descriptor.
func (b *Bundle) UnitID() joulebox.ID { return joulebox.Sum(b.raw.unit) }

// Grants is the grant set within the descriptor.
func (b *Bundle) Grants() grant.Set { return b.grants }

// Receipt is the receipt within the envelope. Verify says whether its signature
// holds.
func (b *Bundle) Receipt() *receipt.Receipt { return b.receipt }

// Statement is the attestation. Verify says whether its seal holds.
func (b *Bundle) Statement() *attestation.Statement { return b.statement }

// Seal is the statement's seal. Its key is whoever claims to have signed.
func (b *Bundle) Seal() attestation.Seal { return b.seal }

// EAT is the token's claims. Verify says whether its signature holds.
func (b *Bundle) EAT() attestation.EAT { return b.eat }

// Result is how the run ended.
func (b *Bundle) Result() Result { return b.result }

// Image is the image object, nil when the image is one module.
func (b *Bundle) Image() *unit.Image { return b.image }

// Manifest is the environment manifest, nil when the unit names none.
func (b *Bundle) Manifest() *Manifest { return b.manifest }

// Evidence is the hardware evidence, nil when there is none.
func (b *Bundle) Evidence() *Evidence { return b.evidence }

// Journal is the replay journal's container, nil when it wasn't asked for.
func (b *Bundle) Journal() []byte { return slices.Clone(b.raw.journal) }

// ReceiptEnvelope is the receipt's COSE_Sign1 message.
func (b *Bundle) ReceiptEnvelope() []byte { return slices.Clone(b.raw.receipt) }

// EATToken is the signed token.
func (b *Bundle) EATToken() []byte { return slices.Clone(b.raw.eat) }
