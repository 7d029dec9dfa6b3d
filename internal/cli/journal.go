package cli

import (
	"strings"

	"github.com/joulebox/joulebox/host"
)

// journaling is how a run is recorded; nil if it isn't. Variables that were handed
// on by their names alone are secrets: their values are on no command line, and
// don't come into the journal either.
func (f *runFlags) journaling() *host.JournalConfig {
	if !f.journal {
		return nil
	}
	j := &host.JournalConfig{}
	for _, e := range f.env {
		if !strings.Contains(e, "=") {
			j.Secrets = append(j.Secrets, e)
		}
	}
	return j
}
