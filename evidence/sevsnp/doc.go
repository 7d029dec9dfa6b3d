// Package sevsnp verifies attestation reports of AMD SEV-SNP: versions 2 to 5 of
// the report, signed by a chip's key (VCEK) or a cloud provider's (VLEK) of the
// Milan, Genoa and Turin lines, down to AMD's roots, which are built in.
//
// The layout is that of AMD's SEV-SNP firmware ABI specification (publication
// 56860, table "ATTESTATION_REPORT"), the certificates' that of its VCEK
// specification (publication 57230). Everything reserved must be zero.
package sevsnp
