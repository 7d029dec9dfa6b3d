// Package nvgpu verifies what NVIDIA's attestation service says of GPUs: a
// detached EAT bundle, which is a signed token over all devices that holds the
// digest of a signed token for each. Tokens are JWTs under ES384 and nothing else.
//
// NVIDIA publishes its service's keys and no root for them, so the keys are the
// relying party's to hand in (Collateral.JWKS). Where a key comes with its
// certificates they must hold at the time to judge by, and lead to a root in
// Collateral.Roots if there is one.
//
// These tokens are statements by the service, which compares a GPU's report with
// NVIDIA's reference measurements. The GPU's own report isn't in them.
package nvgpu
