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
// # Units
//
// A unit is one executed instruction; block, loop, else, end and nop are free; a
// vector instruction is Options.SIMDWeight units; bulk instructions and growth
// are charged by the byte before they act (cost.go has the figures). Stretches
// without a branch are paid where they begin, so at each moment that anybody
// outside can see, the count is exact:
//
//   - when an exported function returns, and when the guest calls the host or
//     asks to grow, the count is the number of units executed, that call included;
//   - a run completes if and only if its units are within what tick gave out, and
//     no call of the host happens beyond that. Between two looks at the tank a
//     function runs at most some 1024 units, so what is executed in vain past the
//     end of the budget is short, the same on every machine, and seen by nobody;
//   - at a trap the count is that of the last of these moments: a call of the
//     host, a growth, a tick, the unreachable instruction or an overflow. What was
//     executed since, less than a slice, isn't in it. That too is the same on
//     every machine that gives out slices of the same size.
//
// The stack allowance is drawn, in words, by functions that can recurse; for the
// others Info.StaticStackWords is the most that a chain of them takes. Words are
// our own count of a frame (its values, and a share of its instructions for what
// compilers spill), not any machine's.
//
// # NaN
//
// A NaN that arithmetic makes has the canonical bits wherever bits can be seen;
// one that the guest moves keeps its own.
//
// # The seam
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
// refers to functions through hidden globals in place of ref.func, and exports
// the mutable i64 globals "joulebox.fuel" (what is left in the
// tank; zero at first), "joulebox.stack" (the stack allowance in words, to be set by the host)
// and, if the module uses v128, "joulebox.simd" (vector instructions so far). A
// start function is not run by itself but exported as "joulebox.start", and a
// mutable global of numbers that the guest keeps to itself as "joulebox.global."
// and its index, for who wants the guest's whole state.
// Names that begin with "joulebox." are refused in guests.
package rewrite
