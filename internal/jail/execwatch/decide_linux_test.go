package execwatch

import (
	"testing"

	"github.com/joulebox/joulebox"
)

func TestAllowedRuns(t *testing.T) {
	everyWay(t, func(t *testing.T, u user, way string) {
		dir := folder(t)
		good, hash := program(t, dir, "good", tiny('g', 7, ""))
		answer, marks := order{Way: way, Args: []string{good}}.run(t, u)
		if marks != "g" || answer.Status.ExitStatus() != 7 {
			t.Errorf("got marks %q and status %#x, want \"g\" and exit 7", marks, uint32(answer.Status))
		}
		if len(answer.Records) != 1 || answer.Records[0].Hash != hash || !answer.Records[0].Entry || answer.Records[0].Path != good {
			t.Errorf("got records %+v, want one of %v", answer.Records, hash)
		}
	})
}

func TestDeniedDoesNotRun(t *testing.T) {
	everyWay(t, func(t *testing.T, u user, way string) {
		bad, hash := program(t, folder(t), "bad", tiny('b', 7, ""))
		answer, marks := order{Way: way, Args: []string{bad}, Deny: []joulebox.ID{hash}}.run(t, u)
		if marks != "" || answer.Status.ExitStatus() == 7 {
			t.Errorf("it ran: marks %q, status %#x", marks, uint32(answer.Status))
		}
		if len(answer.Records) != 1 || answer.Records[0].Allowed {
			t.Errorf("got records %+v, want one refusal", answer.Records)
		}
	})
}
