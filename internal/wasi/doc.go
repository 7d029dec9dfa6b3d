// Package wasi is WASI preview 1, as both "wasi_snapshot_preview1" and its
// elder "wasi_unstable", over the small interfaces of system.go. The numbers
// that a guest hands over are hostile: every address is checked in 64 bits,
// every count before anything is allocated by it, and no call copies more than
// it was charged for.
//
// What can be reached is for the System to decide; this package keeps the
// descriptor table and WASI's own rights, which can only ever narrow that.
package wasi
