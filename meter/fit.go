package meter

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/joulebox/joulebox"
)

// Sample is one run of which both the work and the energy are known.
type Sample struct {
	Work    string
	Units   uint64 // of scalar work
	Vectors uint64 // vector instructions
	CPUTime time.Duration
	Energy  joulebox.Microjoules // as a counter measured it
}

// Fit makes a table that explains the samples with the least relative error, each
// counting the same however long it ran. What samples can't tell, of host calls
// and of memory that is kept, stays as in base.
func Fit(samples []Sample, base Table) (Table, error) {
	unit, vector, err := fitClasses(samples)
	if err != nil {
		return base, err
	}
	t := base
	t.UnitsPerVector = uint64(max(1, math.Round(vector/unit)))
	if t.UnitsPerVector > mostPerVector {
		return base, fmt.Errorf("fit: a vector instruction seems to cost %d scalar ones: the samples don't fit a model of two classes", t.UnitsPerVector)
	}
	perUnit := fitLine(samples, func(s Sample) float64 { return float64(s.Units) + float64(s.Vectors)*float64(t.UnitsPerVector) })
	perSecond := fitLine(samples, func(s Sample) float64 { return s.CPUTime.Seconds() })
	t.PicojoulesPerUnit = uint64(math.Round(perUnit * picojoulesPerMicrojoule))
	t.MicrojoulesPerCPUSecond = uint64(math.Round(perSecond))
	if t.PicojoulesPerUnit == 0 || t.PicojoulesPerUnit > most || t.MicrojoulesPerCPUSecond == 0 || t.MicrojoulesPerCPUSecond > most {
		return base, fmt.Errorf("fit: %g µJ a unit and %g µJ a CPU second are no figures of a machine", perUnit, perSecond)
	}
	return t, nil
}

// fitClasses solves energy = unit × units + vector × vectors, in microjoules.
func fitClasses(samples []Sample) (unit, vector float64, err error) {
	var uu, uv, vv, u1, v1 float64
	for _, s := range samples {
		if s.Energy == 0 || s.CPUTime <= 0 {
			return 0, 0, fmt.Errorf("fit: sample %q has no energy or no CPU time", s.Work)
		}
		// By its own energy, every sample weighs the same.
		u, v := float64(s.Units)/float64(s.Energy), float64(s.Vectors)/float64(s.Energy)
		uu, uv, vv, u1, v1 = uu+u*u, uv+u*v, vv+v*v, u1+u, v1+v
	}
	det := uu*vv - uv*uv
	if len(samples) < 3 || det <= 1e-6*uu*vv {
		return 0, 0, errors.New("fit: the samples don't tell vector work from scalar work: want some of each")
	}
	unit, vector = (u1*vv-v1*uv)/det, (v1*uu-u1*uv)/det
	if unit <= 0 || vector <= 0 {
		return 0, 0, fmt.Errorf("fit: %g µJ a unit and %g µJ a vector instruction: work can't give energy back; is the machine busy with something else?", unit, vector)
	}
	return unit, vector, nil
}

// fitLine solves energy = k × work.
func fitLine(samples []Sample, work func(Sample) float64) float64 {
	var ww, w1 float64
	for _, s := range samples {
		w := work(s) / float64(s.Energy)
		ww, w1 = ww+w*w, w1+w
	}
	return w1 / ww
}

// Validate holds a table against samples that it was not made from, and gives the
// largest error in thousandths.
func Validate(t Table, samples []Sample) (list []Validation, permille uint64, err error) {
	if len(samples) == 0 {
		return nil, 0, errors.New("validation: there is no sample to hold the model against")
	}
	for _, s := range samples {
		estimate, err := t.Energy(s.Units + s.Vectors*t.UnitsPerVector)
		if err != nil || s.Energy == 0 {
			return nil, 0, fmt.Errorf("validation: sample %q: %d measured, %w", s.Work, s.Energy, err)
		}
		list = append(list, Validation{s.Work, s.Energy, estimate})
		permille = max(permille, apart(uint64(s.Energy), uint64(estimate)))
	}
	return list, permille, nil
}

// apart is how far an estimate is from what was measured, in thousandths of that,
// rounded up.
func apart(measured, estimated uint64) uint64 {
	hi, lo := bits.Mul64(max(measured, estimated)-min(measured, estimated), 1000)
	if hi >= measured {
		return most
	}
	q, r := bits.Div64(hi, lo, measured)
	return min(q+min(r, 1), most)
}
