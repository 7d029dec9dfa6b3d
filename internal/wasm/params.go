package wasm

import "time"

// Params say what to run and within which bounds.
type Params struct {
	// Entry is the export to call. "run" is () -> i32 and its result is the exit
	// code; "_start" makes the module a WASI command; any other export is () -> ()
	// or () -> i32. Empty means "run" when the module has it, else "_start".
	Entry string

	// State is handed to host functions as Call.State.
	State any

	Limits Limits

	// Live, if any, is kept up to date while the run goes on.
	Live *Live

	// Watch, if any, is shown the run's state as it goes.
	Watch Watcher

	// Halt, if any, ends the run where another one was ended from outside. It needs
	// that run's Fuel and Slice.
	Halt *Halt

	// MeasureCPU asks for Exit.CPUTime, at the price of two system calls.
	MeasureCPU bool
}

// Limits bound one run.
type Limits struct {
	// Fuel is the most units the run may use, host calls included. A metered run
	// needs it above zero; an unmetered one ignores it.
	Fuel uint64

	// Slice is how many units pass between two looks at the clock and at the
	// context. Zero means DefaultSlice. It changes no count but that of a run that
	// trapped (see Exit), so it had better be the same everywhere.
	Slice uint64

	// MemoryBytes caps linear memory and tables together. Zero grants none.
	MemoryBytes uint64

	// StackWords is the call stack's allowance in 8-byte words. Zero means
	// DefaultStackWords.
	StackWords uint64

	// Deadline is when the run is ended, by the wall clock. A run is one goroutine,
	// so it never uses more CPU time than wall time and this bounds both. Zero
	// means none.
	Deadline time.Time

	// CPU is the most processor time that the run may use, to within a slice, for
	// runs whose energy is priced by it. Zero means no bound of its own.
	CPU time.Duration
}

// Defaults of Limits.
const (
	// DefaultSlice passes in less than a tenth of a millisecond: often enough to end
	// a run in time and to let Go's scheduler and collector in, which native code
	// shuts out; seldom enough to cost less than a hundredth.
	DefaultSlice = 1 << 16

	// DefaultStackWords lets small frames nest 160,000 deep. Native frames take
	// about 6 bytes for each word of the allowance, and 32 at the very most, so this
	// limit is met before the compiler's own (84 MB, with half as much again while
	// a stack is being grown), and at the same call on every machine.
	DefaultStackWords = 5 << 19
)
