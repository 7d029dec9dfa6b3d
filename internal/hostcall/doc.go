// Package hostcall is the "sandbox" host interface (§11, docs/abi.md): the
// capabilities of the standard as a few functions over byte buffers, for units
// that aren't WASI programs and for what WASI has no word for. A denial is an
// error code and never the end of the run.
package hostcall
