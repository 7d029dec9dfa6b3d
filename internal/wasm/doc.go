// Package wasm runs WebAssembly modules that nobody vouches for, within bounds.
//
// An Engine compiles an image and keeps what it made; a Module is run any number
// of times, at once too; a run ends in an Exit or, before anything of it has
// run, in a *RefusedError. Underneath is wazero.
//
//	image ── rewrite ──> metered module ── wazero, in a child ──> machine code
//	                          │                                       │
//	                          └── skeleton ──> sealed cache entry <───┘
//	                                                 │
//	                        Module <── load, here ───┘
//
// What bounds what:
//
//   - A hostile image is decoded and validated by package rewrite, and compiled,
//     in a child process with hard limits on time, processor time and memory. This
//     process only ever reads the skeleton: the module without its code.
//   - Instructions: the metered code calls back whenever its slice is spent. That
//     is where deadline, cancellation and fuel are looked at, and where Go gets its
//     thread back. One bulk instruction may run on for as long as its length takes.
//   - Memory: a reserved range that never moves, grown with leave; tables and
//     references count too. What a stack takes doesn't: 84 MB at the very most.
//   - Host calls: each settles what the guest owes before it acts, and is followed
//     by a look at the run's context.
package wasm
