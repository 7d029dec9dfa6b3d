package cli_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/internal/cli"
)

// The scripts run the real main, as a process of its own.
func TestMain(m *testing.M) {
	host.RunCompilerIfAsked()
	testscript.Main(m, map[string]func(){
		"joulebox": func() { os.Exit(cli.Main()) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		Setup:               setup,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                commands,
		Condition:           condition,
	})
}

// condition is what scripts ask of this machine.
func condition(name string) (bool, error) {
	if name != "partition" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	x, ok := host.S3().(host.Unavailable)
	return ok && x.Unavailable() == nil, nil
}
