//go:build amd64 || arm64

package cell

import (
	"testing"

	"github.com/joulebox/joulebox/internal/jail"
)

func TestSurvey(t *testing.T) {
	run(t, shell("exit 0")) // skips where there are no cells
	list := Survey()
	if err := jail.Missing(list, true); err != nil {
		t.Error(err)
	}
	if err := Unavailable(); err != nil {
		t.Error(err)
	}
	for _, m := range list {
		t.Logf("%s: %s", m.Name, m.Detail)
	}
}
