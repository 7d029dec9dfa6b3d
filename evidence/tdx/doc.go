// Package tdx verifies quotes of Intel TDX: versions 4 and 5, with the body of
// TDX 1.0 or 1.5, down to Intel's root, which is built in. Intel's statements
// about platforms (TCB info) and about its quoting enclave (QE identity) are
// checked and applied when they are handed in.
//
// The layouts are those of Intel's "Intel TDX DCAP Quoting Library API", the
// statements those of its provisioning certification service, version 4.
//
// Hosts hand quotes over in buffers of their own size, so zeros may follow a
// quote. Nothing else may: it would be bytes that nobody signed.
package tdx
