package cli

import "errors"

// The exit codes of `joulebox run`. A unit's own code passes through, low eight
// bits; 128+N says that it was ended by signal N. The rest is ours, and the same
// fact is always in the JSON record, where no code of a unit can be mistaken for it.
const (
	exitTrap    = 128 + 6 // a trap: what an aborting native program gives (SIGABRT)
	exitMemory  = 128 + 9 // the memory budget was breached: what a memory killer gives (SIGKILL)
	exitBudget  = 124     // the time or the energy budget was breached, as timeout(1)
	exitDecline = 125     // joulebox could not start the unit, or declined to
	exitDenied  = 126     // the program may not be run: it can't be read, or needs what isn't granted
	exitMissing = 127     // the program was not found
)

// The exit codes of every other command.
const (
	exitOK      = 0
	exitFailed  = 1 // verify: a check failed
	exitUsage   = 2
	exitUnknown = 3 // verify: genuine, but something that trust needs is missing
)

// failure is an error with the code that the process exits with, and apart from
// it a hint: what to do about it.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(code int, err error, hint string) error {
	return &failure{code: code, err: err, hint: hint}
}

// quiet is a failure that has said all it has to say.
func quiet(code int) error {
	if code == exitOK {
		return nil
	}
	return &failure{code: code}
}

func asFailure(err error) (*failure, bool) {
	var f *failure
	ok := errors.As(err, &f)
	return f, ok
}
