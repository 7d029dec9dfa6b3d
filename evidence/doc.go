// Package evidence is the seam to what hardware says of itself (§7.6): reports,
// quotes and tokens, verified down to their vendor's root and then held against
// a relying party's policy. Each vendor has a package below that implements
// Verifier; evidence/appraise has them all in one place.
//
// Verification is pure: bytes and a clock reading in, an Appraisal out. Nothing
// is fetched; certificates, revocation lists and the vendors' statements about
// security versions are handed in as Collateral. Nothing here makes evidence.
package evidence

// Verifier verifies one kind of evidence.
type Verifier interface {
	// Kind is the kind that it verifies.
	Kind() Kind
	// Verify makes every check in a fixed order and says what it couldn't check.
	// The order is form, signatures, the chain to the vendor's root, revocation,
	// and then the policy. What isn't genuine isn't held against the policy: an
	// Appraisal carries Claims only once signature and chain hold.
	Verify(report []byte, c Collateral, p Policy) *Appraisal
}

// Collateral is what a verifier needs beside the report. All of it but the keys
// in JWKS and Roots is untrusted: it counts for what its signatures are worth.
// Those two are the relying party's own anchors, for kinds whose vendors publish
// no root.
type Collateral struct {
	// Certificates are DER, in any order: the key that signed the report, and
	// those between it and the vendor's root.
	Certificates [][]byte
	// CRLs are certificate revocation lists, DER.
	CRLs [][]byte
	// TCBInfo and QEIdentity are Intel's signed statements, as it serves them.
	TCBInfo, QEIdentity []byte
	// JWKS are the public keys that tokens are signed with (RFC 7517).
	JWKS []byte
	// Roots are certificates, DER, that the relying party trusts to certify the
	// keys of services whose vendors publish no root.
	Roots [][]byte
}
