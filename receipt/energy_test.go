package receipt

import (
	"cmp"
	"math"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
)

var unitID = joulebox.Sum([]byte("unit"))

const most = math.MaxUint64

// Each wrong combination of §6 is refused twice: when built, where the types
// don't rule that out already, and when read.
func TestWrongCombinationsAreRefused(t *testing.T) {
	cpu, gpu := Estimated(joulebox.CPU, 3), Measured(joulebox.GPU, 5, 7)
	for _, c := range []struct {
		name    string
		devices []Energy
		want    string
		read    string // what the reader says, where it meets another fault first
	}{
		{"none", nil, "no record", ""},
		{"zero record", []Energy{{}}, "provenance of Cpu: is absent", `provenance: got "Provenance(0)"`},
		{"class past the last", []Energy{Estimated(joulebox.Quantum+1, 1)}, "one of the eight", `device class: got "DeviceClass(8)"`},
		{"HwShunt without a measured figure", []Energy{{class: joulebox.CPU, provenance: HwShunt, estimated: 1}}, "measured_uj of Cpu: is absent", ""},
		{"Estimator with a measured figure", []Energy{{class: joulebox.CPU, provenance: Estimator, hasMeasure: true, measured: 1}}, "measured_uj of Cpu: got 1, want none", ""},
		{"two of one class", []Energy{cpu, gpu, cpu}, "a second record for Cpu", "Cpu after Gpu"},
		{"estimates that overflow", []Energy{Estimated(joulebox.CPU, most), Estimated(joulebox.SIMD, 1)}, "total.estimated_uj", ""},
		{"measurements that overflow", []Energy{Measured(joulebox.CPU, most, 0), Measured(joulebox.GPU, 1, 0)}, "total.measured_uj", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(unitID, joulebox.S2, 1, [NonceSize]byte{}, c.devices)
			wantError(t, "New", err, c.want)
			_, err = ParseCore(unchecked(t, c.devices))
			wantError(t, "ParseCore", err, cmp.Or(c.read, c.want))
		})
	}
}

// unchecked encodes records without New's checks, with the total as it comes.
func unchecked(t *testing.T, devices []Energy) []byte {
	t.Helper()
	total, _ := sum(devices)
	return mustMarshal(t, wireOf(&Receipt{unitID: unitID, tier: joulebox.S2, devices: devices, total: total}))
}

func wantError(t *testing.T, what string, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: got error %v, want it to say %q", what, err, text)
	}
}

func TestNewSorts(t *testing.T) {
	in := []Energy{Measured(joulebox.GPU, 5, 7), Modelled(joulebox.CPU, 3), Estimated(joulebox.SIMD, 2)}
	r, err := New(unitID, joulebox.S2, most, [NonceSize]byte{1}, in)
	if err != nil {
		t.Fatal(err)
	}
	got := r.Devices()
	for i, want := range []joulebox.DeviceClass{joulebox.CPU, joulebox.SIMD, joulebox.GPU} {
		if got[i].Class() != want {
			t.Errorf("devices[%d]: got %s, want %s", i, got[i].Class(), want)
		}
	}
	if in[0].Class() != joulebox.GPU {
		t.Error("New sorted its caller's slice")
	}
	if want := (Total{EstimatedUJ: 12}); r.Total() != want {
		t.Errorf("total: got %+v, want %+v: one class without a measured figure and the total has none", r.Total(), want)
	}
	if r.Total().Bound() != 12 || got[2].Bound() != 5 || got[0].Bound() != 3 {
		t.Error("Bound: want the measured figure where there is one, else the estimate")
	}
}

func TestTotalOverMeasured(t *testing.T) {
	r, err := New(unitID, joulebox.S5, 1, [NonceSize]byte{}, []Energy{Measured(joulebox.CPU, 1, 2), Measured(joulebox.GPU, 10, 20)})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Total{MeasuredUJ: 11, HasMeasured: true, EstimatedUJ: 22}); r.Total() != want {
		t.Errorf("total: got %+v, want %+v", r.Total(), want)
	}
}

// ModelBased may come with a measured figure when read (§6.3), though no maker
// writes one, and it counts into the total.
func TestModelBasedWithMeasuredIsRead(t *testing.T) {
	devices := []Energy{{class: joulebox.CPU, provenance: ModelBased, hasMeasure: true, measured: 4, estimated: 5}}
	r, err := ParseCore(unchecked(t, devices))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Total{MeasuredUJ: 4, HasMeasured: true, EstimatedUJ: 5}); r.Total() != want {
		t.Errorf("total: got %+v, want %+v", r.Total(), want)
	}
}

// What is measured of some classes only may exceed 64 bits: it isn't summed.
func TestPartlyMeasuredIsNotSummed(t *testing.T) {
	odd := Energy{class: joulebox.CPU, provenance: ModelBased, hasMeasure: true, measured: most}
	if _, err := New(unitID, joulebox.S2, 1, [NonceSize]byte{}, []Energy{odd, Measured(joulebox.GPU, most, 0), Estimated(joulebox.NPU, 1)}); err != nil {
		t.Error(err)
	}
}

func TestNewRefusesTheRest(t *testing.T) {
	ok := []Energy{Estimated(joulebox.CPU, 1)}
	_, err := New(joulebox.ID{}, joulebox.S2, 1, [NonceSize]byte{}, ok)
	wantError(t, "zero unit", err, "unit_id")
	_, err = New(unitID, joulebox.S7+1, 1, [NonceSize]byte{}, ok)
	wantError(t, "tier", err, "tier: got 8")
}
