// Package bundle is the one file that a verifier needs: a unit's descriptor, its
// receipt, attestation and EAT, the result, and what else was asked for. Parse is
// strict and Verify is pure: no clock, no disk, no network (§1.4).
//
// The file is JSON in any layout:
//
//	{ "schema":      "joulebox.bundle/1",
//	  "unit":        the unit descriptor
//	  "receipt":     the receipt's COSE_Sign1 envelope, base64url without padding
//	  "attestation": the statement
//	  "seal":        content_sha256_hex, signature_hex, public_key_hex over the statement
//	  "eat":         the token, base64url without padding
//	  "result":      exit, cause, streams, usage
//	  "image":       the image object, unless the image is one module
//	  "manifest":    core and seal, when the unit names one
//	  "journal":     the replay journal, base64url without padding, only when asked for
//	  "evidence":    kind, report and chain, from S6 on }
//
// Unknown, doubled and missing members are refused, and so is every value with a
// second spelling: what parses has exactly one canonical form, which Marshal
// gives.
package bundle
