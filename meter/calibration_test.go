package meter_test

import (
	"bytes"
	"crypto/ed25519"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/receipt"
)

// samples are runs on a machine of which all is known: pJ a unit, units a vector,
// watts, with some noise in thousandths.
func samples(unit, vector uint64, watts float64, noise float64) (list []meter.Sample) {
	random := rand.New(rand.NewPCG(1, 2))
	for i, mix := range []struct{ units, vectors uint64 }{{4e9, 0}, {3e9, 0}, {1e9, 1e9}, {5e8, 2e9}, {2e9, 5e8}} {
		uj := float64(mix.units+mix.vectors*vector) * float64(unit) / 1e6 * (1 + noise*(random.Float64()*2-1)/1000)
		list = append(list, meter.Sample{
			Work: string(rune('a' + i)), Units: mix.units, Vectors: mix.vectors,
			CPUTime: time.Duration(uj / watts * 1000), Energy: joulebox.Microjoules(uj),
		})
	}
	return list
}

func TestFitFindsTheMachine(t *testing.T) {
	for _, c := range []struct {
		unit, vector uint64
		watts, noise float64
	}{{1000, 2, 4.375, 0}, {730, 4, 12, 10}, {2500, 1, 3, 20}, {90, 9, 7.5, 5}} {
		got, err := meter.Fit(samples(c.unit, c.vector, c.watts, c.noise), meter.DefaultTable())
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		off := func(got uint64, want float64) float64 { return math.Abs(float64(got)-want) / want }
		bound := (c.noise+2)/1000 + 0.5/float64(c.unit)
		if off(got.PicojoulesPerUnit, float64(c.unit)) > bound || got.UnitsPerVector != c.vector || off(got.MicrojoulesPerCPUSecond, c.watts*1e6) > bound {
			t.Errorf("%+v: got %+v", c, got)
		}
		if got.Tolls != meter.DefaultTable().Tolls || got.MicrojoulesPerGiBSecond != meter.DefaultTable().MicrojoulesPerGiBSecond {
			t.Errorf("what no sample tells has changed: %+v", got)
		}
	}
}

func TestFitRefuses(t *testing.T) {
	good := samples(1000, 2, 4, 0)
	scalar := append(good[:2:2], good[0])
	for want, bad := range map[string][]meter.Sample{
		"tell vector work": scalar,
		"some of each":     good[:2],
		"no energy":        append(good[:4:4], meter.Sample{Work: "x", Units: 1, CPUTime: 1}),
		"no CPU time":      append(good[:4:4], meter.Sample{Work: "x", Units: 1, Energy: 1}),
		"energy back": {
			{Units: 4e9, CPUTime: time.Second, Energy: 4_000_000}, {Units: 3e9, CPUTime: time.Second, Energy: 3_000_000},
			{Units: 4e9, Vectors: 1e9, CPUTime: time.Second, Energy: 1_000_000},
		},
	} {
		if got, err := meter.Fit(bad, meter.DefaultTable()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %+v, %v, want %q", got, err, want)
		}
	}
}

func TestValidationSaysTheError(t *testing.T) {
	table := meter.Table{PicojoulesPerUnit: 1000, UnitsPerVector: 2}
	list, permille, err := meter.Validate(table, []meter.Sample{
		{Work: "low", Units: 900_000, Energy: 1000}, {Work: "high", Units: 1_000_000, Vectors: 120_000, Energy: 1000},
	})
	if err != nil || permille != 240 || list[0].EstimatedUJ != 900 || list[1].EstimatedUJ != 1240 {
		t.Errorf("got %+v, %d ‰, %v, want 240", list, permille, err)
	}
	if _, _, err := meter.Validate(table, nil); err == nil {
		t.Error("no validation run is no validation")
	}
}

func calibration(t *testing.T) *meter.Calibration {
	t.Helper()
	c := meter.NewCalibration("AMD EPYC 7763 64-Core Processor", meter.DefaultTable())
	c.Source, c.Reference, c.MadeAtUS, c.IdleMilliwatts, c.ErrorPermille = meter.SourceCounter, "powercap (package-0)", 1, 90_000, 41
	c.Validation = []meter.Validation{{Work: "mixed", MeasuredUJ: 1000, EstimatedUJ: 1041}}
	return &c
}

func TestCalibrationRoundTrips(t *testing.T) {
	c := calibration(t)
	core, err := c.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	again, err := meter.ParseCalibration(core)
	if err != nil || !reflect.DeepEqual(again, c) {
		t.Errorf("got %+v, %v, want %+v", again, err, c)
	}
	if id, err := c.ID(); err != nil || id != joulebox.Sum(core) {
		t.Errorf("got id %s, %v, want the core's address", id, err)
	}
	table := c.Table()
	if !table.Calibrated || table.IdleMilliwatts != 90_000 {
		t.Errorf("got %+v, want a calibrated table", table)
	}
}

func TestSignedCalibration(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	pub := key.Public().(ed25519.PublicKey)
	file, err := calibration(t).Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := meter.OpenCalibration(file, pub); err != nil || !reflect.DeepEqual(got, calibration(t)) {
		t.Errorf("got %+v, %v", got, err)
	}
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32)).Public().(ed25519.PublicKey)
	if _, err := meter.OpenCalibration(file, other); err == nil {
		t.Error("another host's model is taken for this one's")
	}
	for i := range file {
		bent := bytes.Clone(file)
		bent[i] ^= 1
		if c, err := meter.OpenCalibration(bent, pub); err == nil && !reflect.DeepEqual(c, calibration(t)) {
			t.Fatalf("byte %d was changed, and the model is taken", i)
		}
	}
}

func TestCalibrationRefuses(t *testing.T) {
	for want, change := range map[string]func(*meter.Calibration){
		"schema":               func(c *meter.Calibration) { c.Schema = "joulebox.energy-model/2" },
		"cpu and reference":    func(c *meter.Calibration) { c.CPU = "" },
		"source":               func(c *meter.Calibration) { c.Source = "guess" },
		"validation":           func(c *meter.Calibration) { c.Validation = nil },
		"nothing was measured": func(c *meter.Calibration) { c.Source, c.Validation = meter.SourcePublic, nil },
		"picojoules_per_unit":  func(c *meter.Calibration) { c.PicojoulesPerUnit = 0 },
		"units_per_vector":     func(c *meter.Calibration) { c.UnitsPerVector = 1 << 11 },
		"tolls.connect":        func(c *meter.Calibration) { c.Tolls.Connect = 1 << 41 },
		"idle_milliwatts":      func(c *meter.Calibration) { c.IdleMilliwatts = 1 << 41 },
	} {
		c := calibration(t)
		change(c)
		if _, err := c.Canonical(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func FuzzParseCalibration(f *testing.F) {
	c := meter.NewCalibration("x", meter.DefaultTable())
	c.Source, c.Reference = meter.SourcePublic, "y"
	core, err := c.Canonical()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(core)
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := meter.ParseCalibration(src)
		if err != nil {
			return
		}
		core, err := c.Canonical()
		if err != nil {
			t.Fatalf("what was parsed doesn't encode: %v", err)
		}
		again, err := meter.ParseCalibration(core)
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Errorf("got %+v, %v, want %+v", again, err, c)
		}
	})
}

// A model is ModelBased only if it was made from this machine's counters.
func TestProvenanceFollowsCalibration(t *testing.T) {
	public := calibration(t)
	public.Source, public.Validation, public.ErrorPermille, public.IdleMilliwatts = meter.SourcePublic, nil, 0, 0
	for want, table := range map[receipt.Provenance]meter.Table{
		receipt.ModelBased: calibration(t).Table(), receipt.Estimator: public.Table(),
	} {
		for _, m := range []meter.Meter{meter.Instructions(cpu(), table), meter.Vectors(simd(), table), meter.CPUTime(cpu(), table)} {
			span, err := m.Begin(t.Context(), func() meter.Counts { return meter.Counts{Units: 5000, Vectors: 5000, CPUTime: time.Second} })
			if err != nil {
				t.Fatal(err)
			}
			e, _, err := span.Read()
			if _, measured := e.Measured(); err != nil || measured || e.Provenance() != want {
				t.Errorf("got %v (measured %v), %v, want %v", e.Provenance(), measured, err, want)
			}
		}
	}
}

func TestPublicFigures(t *testing.T) {
	for name, want := range map[string]meter.PublicCPU{
		"AMD EPYC 7763 64-Core Processor":                 {Name: "AMD EPYC 7763", Watts: 280, Cores: 64},
		"Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz":    {Name: "Intel Xeon Platinum 8358", Watts: 250, Cores: 32},
		"Intel Xeon Gold 6438Y+":                          {Name: "Intel Xeon Gold 6438Y+", Watts: 205, Cores: 32},
		"AMD EPYC 9654P 96-Core Processor               ": {Name: "AMD EPYC 9654P", Watts: 360, Cores: 96},
	} {
		if got, ok := meter.FindPublicCPU(name); !ok || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", name, got, ok, want)
		}
	}
	for _, name := range []string{"AMD EPYC", "AMD EPYC 776", "", "unknown", "Intel(R) Xeon(R) Processor @ 2.20GHz"} {
		if got, ok := meter.FindPublicCPU(name); ok {
			t.Errorf("%q is taken for %+v", name, got)
		}
	}
	p, _ := meter.FindPublicCPU("AMD EPYC 7763")
	timed := samples(1000, 2, 4.375, 0)
	for i := range timed {
		timed[i].Energy = 0
	}
	table, err := p.Table(timed, meter.DefaultTable())
	if err != nil || table.MicrojoulesPerCPUSecond != 4_375_000 || table.UnitsPerVector != 2 || table.PicojoulesPerUnit < 998 || table.PicojoulesPerUnit > 1002 {
		t.Errorf("got %+v, %v", table, err)
	}
}
