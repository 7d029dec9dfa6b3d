// Package early begins to start a host process while the program still initialises
// its packages, when its command line is sure to need one: the process takes about
// as long to come up as all that has to be done before the unit runs.
package early

import (
	"os"

	"github.com/joulebox/joulebox/internal/hostspawn"
)

// begun is evaluated as soon as the packages that this one imports are ready, which
// is long before main. They are few, and early ones: os, syscall, sync and fmt.
var begun = begin(os.Args)

func begin(args []string) func() (hostspawn.Process, error) {
	if !needed(args) {
		return nil
	}
	return hostspawn.Begin()
}

// needed reports that the command line runs a unit and nowhere speaks of running
// it in this process, be it in the arguments of the unit.
func needed(args []string) bool {
	if len(args) < 3 || args[1] != "run" {
		return false
	}
	for i, a := range args {
		if contains(a, "in-process") || a == "--" && i+1 < len(args) && native(args[i+1]) {
			return false
		}
	}
	return true
}

// native reports that a word after -- is no module: a name to be looked for, as
// programs have it, not modules and scripts.
func native(word string) bool { return !contains(word, ".") && !contains(word, "/") }

// Take hands over the process on its way, once; nil if there is none.
func Take() func() (hostspawn.Process, error) {
	taken := begun
	begun = nil
	return taken
}

// contains is strings.Contains without package strings, which is ready only after
// many others: here a millisecond is won by depending on next to nothing.
func contains(s, part string) bool {
	for i := 0; i+len(part) <= len(s); i++ {
		if s[i:i+len(part)] == part {
			return true
		}
	}
	return false
}
