package ledger

import (
	"crypto"
	"crypto/ed25519"
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/seal"
)

// Seal is the detached signature over a receipt's canonical form (§7.3).
type Seal = seal.Seal

// Signed is a build receipt and the seal of the host that ran the build.
type Signed struct {
	Build Build
	Seal  Seal
}

// Sign seals a build receipt.
func Sign(signer crypto.Signer, b Build) (Signed, error) {
	core, err := b.Canonical()
	if err != nil {
		return Signed{}, err
	}
	s, err := seal.Sign(signer, core)
	if err != nil {
		return Signed{}, fmt.Errorf("build receipt: %w", err)
	}
	return Signed{b, s}, nil
}

// ParseSigned reads {"core", "seal"}. It checks no signature: see Verify.
func ParseSigned(src []byte) (Signed, error) {
	o, err := seal.ParseObject(src)
	if err != nil {
		return Signed{}, fmt.Errorf("build receipt: %w", err)
	}
	b, err := Parse(o.Core)
	return Signed{b, o.Seal}, err
}

// Canonical is the sealed receipt's RFC 8785 form: what the ledger chains.
func (s Signed) Canonical() ([]byte, error) {
	core, err := s.Build.Canonical()
	if err != nil {
		return nil, err
	}
	return seal.Object{Core: core, Seal: s.Seal}.Canonical()
}

// Verify checks the seal under a key that the caller trusts.
func (s Signed) Verify(pinned ed25519.PublicKey) error {
	return s.verify(func(core []byte) error { return s.Seal.Verify(core, pinned) })
}

// VerifyClaimed checks the seal under the key that it names itself. It shows that
// the receipt is whole, and nothing about who signed it.
func (s Signed) VerifyClaimed() error { return s.verify(s.Seal.VerifyClaimed) }

func (s Signed) verify(check func([]byte) error) error {
	core, err := s.Build.Canonical()
	if err != nil {
		return err
	}
	if err := check(core); err != nil {
		return fmt.Errorf("build receipt: %w", err)
	}
	return nil
}

// Chain is where a ledger stands. The zero Chain is the empty ledger, whose head is
// 32 zero bytes.
type Chain struct {
	head   joulebox.ID
	length uint64
	prev   joulebox.ID
}

const chainDomain = "sandbox.ledger/1"

// Head is the chain's head.
func (c Chain) Head() joulebox.ID { return c.head }

// Len is the number of receipts.
func (c Chain) Len() uint64 { return c.length }

// Prev is the id of the last build, which the next receipt states; zero at first.
func (c Chain) Prev() joulebox.ID { return c.prev }

// Append takes the next receipt in. One that states another build before it was
// moved, or one was taken out.
func (c *Chain) Append(s Signed) error {
	if s.Build.Prev != c.prev {
		return fmt.Errorf("ledger: receipt %d: prev: got %s, want %s, the build before it: a receipt was moved or taken out", c.length, s.Build.Prev, c.prev)
	}
	text, err := s.Canonical()
	if err != nil {
		return err
	}
	c.head, c.prev = next(c.head, joulebox.Sum(text)), s.Build.ID()
	c.length++
	return nil
}

func next(head, receipt joulebox.ID) joulebox.ID {
	h := joulebox.NewHasher()
	_, _ = h.Write([]byte(chainDomain))
	_, _ = h.Write(head[:])
	_, _ = h.Write(receipt[:])
	return h.ID()
}

// SignHead seals where the ledger stands.
func (c Chain) SignHead(signer crypto.Signer) ([]byte, error) {
	o, err := seal.SignHead(signer, seal.Head{Log: seal.LedgerLog, Head: c.head, Length: c.length})
	if err != nil {
		return nil, err
	}
	return o.Canonical()
}

// SignedHead is a head that someone signed.
type SignedHead struct {
	Head   joulebox.ID
	Length uint64
	object seal.Object
}

// ParseHead reads a signed head of a ledger. It checks no signature.
func ParseHead(src []byte) (SignedHead, error) {
	h, o, err := seal.ParseHead(src, seal.LedgerLog)
	if err != nil {
		return SignedHead{}, fmt.Errorf("ledger: %w", err)
	}
	return SignedHead{h.Head, h.Length, o}, nil
}

// Seal is the head's seal.
func (h SignedHead) Seal() Seal { return h.object.Seal }

// VerifyClaimed checks the seal under the key that it names itself.
func (h SignedHead) VerifyClaimed() error {
	if err := h.object.Seal.VerifyClaimed(h.object.Core); err != nil {
		return fmt.Errorf("ledger: head: %w", err)
	}
	return nil
}
