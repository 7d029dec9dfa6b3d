package wasm

// Call is one run as a host function sees it. It lives as long as the run and is
// used by the run's own goroutine alone.
type Call struct {
	// State is what Params.State was: the embedder's own per-run state.
	State any

	run *run
}

// Memory is the guest's whole memory, or nil when it has none. The slice is
// valid during this host call only: never keep it, and never hand it to another
// goroutine that outlives the call. Its space is another run's soon after.
func (c *Call) Memory() []byte { return c.run.memory() }

// Charge draws units of host-call cost from the tank. When the fuel limit is
// spent it ends the run (it doesn't return) with the cause OutOfFuel.
func (c *Call) Charge(units uint64) { c.run.charge(units) }

// Exit ends the run with a code (proc_exit); it doesn't return.
func (c *Call) Exit(code uint32) { c.run.stop(stop{cause: Exited, code: code}) }

// Instructions is how many units have been counted so far, host-call charges
// included: a clock that is the same on every machine and in every run.
func (c *Call) Instructions() uint64 { return c.run.tank.used() }
