// Package cca verifies attestation tokens of Arm's Confidential Compute
// Architecture: a collection of a platform token, signed by the platform's key,
// and a realm token, signed by a key whose digest the platform token holds. Both
// are COSE_Sign1 under ES256 or ES384, whichever the key is for.
//
// The forms are those of Arm's Realm Management Monitor specification (DEN0137,
// A7.2) and draft-ffm-rats-cca-token: the profiles of 2023, the one before them
// without a realm profile, under tag 399 or as a collection of messages under tag
// 907. The profiles of 2024 are refused as unsupported.
//
// There is no root over platforms' keys. They are the relying party's to hand in
// (Collateral.JWKS), each under the platform's instance id in hexadecimal as kid.
package cca
