package receipt

import (
	"fmt"
	"slices"

	"github.com/joulebox/joulebox"
)

// Energy is one device class's record (§6.2): what the run cost there, in
// microjoules, and where the figure came from. Its fields are closed so that a
// provenance and its figures always fit (§6.3). The zero Energy is refused.
type Energy struct {
	class      joulebox.DeviceClass
	provenance Provenance
	hasMeasure bool
	measured   joulebox.Microjoules
	estimated  joulebox.Microjoules
}

// Measured is a record read from the class's own hardware energy interface,
// beside the estimate that every record carries.
func Measured(class joulebox.DeviceClass, measured, estimated joulebox.Microjoules) Energy {
	return Energy{class: class, provenance: HwShunt, hasMeasure: true, measured: measured, estimated: estimated}
}

// Modelled is a record from a calibrated model. We never put a measured figure
// beside it, though one may be read (§6.3).
func Modelled(class joulebox.DeviceClass, estimated joulebox.Microjoules) Energy {
	return Energy{class: class, provenance: ModelBased, estimated: estimated}
}

// Estimated is a record from a coarse constant.
func Estimated(class joulebox.DeviceClass, estimated joulebox.Microjoules) Energy {
	return Energy{class: class, provenance: Estimator, estimated: estimated}
}

// Class is the device class the record accounts for.
func (e Energy) Class() joulebox.DeviceClass { return e.class }

// Provenance says where the figure came from.
func (e Energy) Provenance() Provenance { return e.provenance }

// Measured is the figure of the hardware interface, and whether there is one.
func (e Energy) Measured() (joulebox.Microjoules, bool) { return e.measured, e.hasMeasure }

// Estimated is the estimate, which is always there.
func (e Energy) Estimated() joulebox.Microjoules { return e.estimated }

// Bound is the figure that the energy budget binds: the measured one where
// there is one, else the estimate.
func (e Energy) Bound() joulebox.Microjoules {
	if e.hasMeasure {
		return e.measured
	}
	return e.estimated
}

// check holds the coupling of §6.3. What the makers build always passes but for
// the class; what was read may not.
func (e Energy) check() error {
	switch {
	case e.class > joulebox.Quantum:
		return fmt.Errorf("class: got %d, want one of the eight device classes", uint8(e.class))
	case !e.provenance.known():
		return fmt.Errorf("provenance of %s: is absent; build the record with Measured, Modelled or Estimated", e.class)
	case e.provenance == HwShunt && !e.hasMeasure:
		return fmt.Errorf("measured_uj of %s: is absent, want one, since its provenance is HwShunt (§6.3)", e.class)
	case e.provenance == Estimator && e.hasMeasure:
		return fmt.Errorf("measured_uj of %s: got %d, want none, since its provenance is Estimator (§6.3)", e.class, e.measured)
	}
	return nil
}

// Total is the two-part sum over all records (§6.1).
type Total struct {
	// MeasuredUJ is the sum of the measured figures, in microjoules; it means
	// something only if HasMeasured.
	MeasuredUJ joulebox.Microjoules
	// HasMeasured reports that every record has a measured figure (§6.2).
	HasMeasured bool
	// EstimatedUJ is the sum of the estimates, in microjoules.
	EstimatedUJ joulebox.Microjoules
}

// Bound is the figure that the energy budget binds, in microjoules.
func (t Total) Bound() joulebox.Microjoules {
	if t.HasMeasured {
		return t.MeasuredUJ
	}
	return t.EstimatedUJ
}

// sum adds the records field by field. A sum that overflows 64 bits is an error.
func sum(devices []Energy) (t Total, err error) {
	for _, e := range devices {
		if t.EstimatedUJ, err = t.EstimatedUJ.Add(e.estimated); err != nil {
			return Total{}, fmt.Errorf("total.estimated_uj: %w", err)
		}
	}
	// One class without a measured figure and the total has none (§6.2).
	if slices.ContainsFunc(devices, func(e Energy) bool { return !e.hasMeasure }) {
		return t, nil
	}
	t.HasMeasured = true
	for _, e := range devices {
		if t.MeasuredUJ, err = t.MeasuredUJ.Add(e.measured); err != nil {
			return Total{}, fmt.Errorf("total.measured_uj: %w", err)
		}
	}
	return t, nil
}
