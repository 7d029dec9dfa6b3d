// Package rewrite reads WebAssembly modules that nobody vouches for, and makes
// them count what they do. It is pure: bytes in, bytes out.
//
// # Scan
//
// Scan decodes and validates a whole module (WebAssembly 2.0) in linear time,
// within stated Limits, before any engine sees it.
//
// # Meter
//
// Meter returns a module that behaves as the guest's, counts units as it runs
// and asks its host for more through a hook. The same module, input and grants
// give the same count on every machine.
//
// A unit is one executed instruction; block, loop, else, end and nop are free; a
// vector instruction is Options.SIMDWeight units; bulk instructions are charged
// by their length before they act (cost.go has the figures).
//
// After the guest's own imports, a metered module imports from
// "joulebox.meter":
//
//	tick (param i64) (result i64)   called with the tank when it is below zero;
//	                                returns it refilled to zero or more, or never returns
//	overflow ()                     called when the stack allowance is spent; never returns
//	grow (param i32)                called with the pages of each memory.grow that the
//	                                module's own maximum admits; never returns past the cap
//	table_grow (param i32 i32)      likewise with a table and the entries of a table.grow
//
// and exports the mutable i64 globals "joulebox.fuel" (what is left in the
// tank), "joulebox.stack" (the stack allowance in words, to be set by the host)
// and, if the module uses v128, "joulebox.simd" (vector instructions so far). A
// start function is not run by itself but exported as "joulebox.start".
// Names that begin with "joulebox." are refused in guests.
package rewrite
