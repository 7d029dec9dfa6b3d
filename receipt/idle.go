package receipt

import (
	"fmt"

	"github.com/joulebox/joulebox"
)

// WithIdle is the record with what kept state drew before the run, in
// microjoules (§13, §15). It is in the estimate: the measured figure is what the
// hardware measured while the run went on (§6.3).
func (e Energy) WithIdle(idle joulebox.Microjoules) (Energy, error) {
	sum, err := e.estimated.Add(idle)
	if err != nil {
		return Energy{}, fmt.Errorf("estimated_uj of %s: %w", e.class, err)
	}
	e.estimated = sum
	return e, nil
}
