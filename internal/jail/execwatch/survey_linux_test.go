package execwatch

import (
	"os"
	"testing"
)

func TestSurvey(t *testing.T) {
	for _, o := range Survey() {
		t.Logf("%s: %v", o.Mechanism, o.Missing)
		if o.Mechanism == Fanotify && os.Geteuid() != 0 {
			if o.Missing == nil {
				t.Error("fanotify without the superuser's rights")
			}
			continue
		}
		if o.Missing != nil {
			t.Errorf("%s: %v", o.Mechanism, o.Missing)
		}
	}
}
