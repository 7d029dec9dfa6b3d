package meter_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/meter/metertest"
	"github.com/joulebox/joulebox/receipt"
)

// card makes one graphics device with a monitor, shaped as the kernel's.
func card(t *testing.T, root, name, driver string, device, monitor map[string]string) string {
	t.Helper()
	dir := filepath.Join(root, name, "device")
	drivers := filepath.Join(root, "drivers", driver)
	for _, d := range []string{filepath.Join(dir, "hwmon", "hwmon3"), drivers, filepath.Join(root, name+"-DP-1")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(drivers, filepath.Join(dir, "driver")); err != nil {
		t.Fatal(err)
	}
	for k, v := range device {
		write(t, filepath.Join(dir, k), v)
	}
	for k, v := range monitor {
		write(t, filepath.Join(dir, "hwmon", "hwmon3", k), v)
	}
	return filepath.Join(dir, "hwmon", "hwmon3")
}

func TestGPUsFromSysfs(t *testing.T) {
	root := t.TempDir()
	display := map[string]string{"class": "0x030000", "vendor": "0x8086", "device": "0x56a0"}
	card(t, root, "card0", "xe", display, map[string]string{
		"name": "xe", "energy1_label": "card", "energy1_input": "500", "energy2_label": "pkg", "energy2_input": "9", "power1_cap": "225000000",
	})
	card(t, root, "card1", "amdgpu", map[string]string{"class": "0x038000", "product_name": "AMD Instinct MI210"}, map[string]string{
		"name": "amdgpu", "power1_average": "40000000",
	})
	card(t, root, "card2", "ast", display, map[string]string{"name": "ast"})
	card(t, root, "card3", "amdgpu", display, map[string]string{"name": "amdgpu", "energy1_input": "?"})
	gpus := meter.GPUs(root)
	if len(gpus) != 4 {
		t.Fatalf("got %d devices, want 4, without their connectors", len(gpus))
	}
	for i, want := range []struct{ model, driver string }{{"PCI 8086:56a0", "xe, "}, {"AMD Instinct MI210", "amdgpu, "}} {
		id := gpus[i].Meter.Identity()
		if id.Class != joulebox.GPU || id.Model != want.model || !strings.HasPrefix(id.Driver, want.driver) || !strings.Contains(id.Driver, "hwmon") {
			t.Errorf("card%d: got %+v, want %+v", i, id, want)
		}
		t.Run(id.Model, func(t *testing.T) { metertest.Contract(t, gpus[i].Meter) })
	}
	for _, g := range gpus[2:] {
		if g.Meter != nil || !errors.Is(g.Why, meter.ErrNotMeasured) {
			t.Errorf("%+v has a meter, or no reason", g)
		}
	}
}

// What two runs that hold a device are given is what it drew, once.
func TestHoldersShareADevice(t *testing.T) {
	root := t.TempDir()
	dir := card(t, root, "card0", "xe", map[string]string{"class": "0x030000", "vendor": "0x8086", "device": "0x56a0"},
		map[string]string{"name": "xe", "energy1_label": "card", "energy1_input": "1000", "power1_cap": "225000000"})
	m := meter.GPUs(root)[0].Meter
	var spans []meter.Span
	for range 2 {
		s, err := m.Begin(t.Context(), func() meter.Counts { return meter.Counts{} })
		if err != nil {
			t.Fatal(err)
		}
		spans = append(spans, s)
	}
	time.Sleep(120 * time.Millisecond)
	write(t, filepath.Join(dir, "energy1_input"), "6001000")
	var sum joulebox.Microjoules
	for _, s := range spans {
		e, used, err := s.Read()
		uj, ok := e.Measured()
		if err != nil || !used || !ok || e.Provenance() != receipt.HwShunt || uj < 2_000_000 {
			t.Errorf("got %d of 6 J (measured %v, used %v), %v", uj, ok, used, err)
		}
		// 225 W for at least 120 ms
		if e.Estimated() < 27_000_000 {
			t.Errorf("the estimate is %d, less than the card may draw", e.Estimated())
		}
		sum += uj
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if sum > 6_000_000 || sum < 5_999_990 {
		t.Errorf("two runs are given %d of 6000000 microjoules", sum)
	}
}

// Power that is read now and then is a model's figure, never a measured one.
func TestIntegratedPowerIsModelBased(t *testing.T) {
	root := t.TempDir()
	card(t, root, "card0", "amdgpu", map[string]string{"class": "0x030000"}, map[string]string{"name": "amdgpu", "power1_average": "100000000"})
	s, err := meter.GPUs(root)[0].Meter.Begin(t.Context(), func() meter.Counts { return meter.Counts{} })
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	time.Sleep(150 * time.Millisecond)
	e, _, err := s.Read()
	took := time.Since(begun)
	if err != nil || e.Provenance() != receipt.ModelBased {
		t.Fatalf("got %v, %v, want ModelBased", e.Provenance(), err)
	}
	if _, measured := e.Measured(); measured {
		t.Error("integrated power is given as measured (§6.3)")
	}
	if got, most := e.Estimated(), joulebox.Microjoules(100*(took+20*time.Millisecond).Microseconds()); got < 14_900_000 || got > most {
		t.Errorf("got %d, want 100 W for 150 ms to %v", got, took)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
