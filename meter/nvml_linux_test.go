//go:build nvml

package meter_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/meter/metertest"
	"github.com/joulebox/joulebox/receipt"
)

// fakeNVML stands in for the driver's library, with the same signatures: device 0
// has a counter of energy, device 1 only power, device 2 neither.
const fakeNVML = `
#include <string.h>
#include <time.h>
static unsigned long long ms(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}
int nvmlInit_v2(void) { return FAKE_INIT; }
const char *nvmlErrorString(int code) { return code == 3 ? "Not Supported" : code == 9 ? "Driver Not Loaded" : "?"; }
int nvmlSystemGetDriverVersion(char *s, unsigned n) { strncpy(s, "560.35.03", n); return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 3; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { *h = (void *)(unsigned long)(i + 1); return 0; }
int nvmlDeviceGetName(void *h, char *s, unsigned n) { strncpy(s, "NVIDIA H200", n); return 0; }
int nvmlDeviceGetTotalEnergyConsumption(void *h, unsigned long long *mj) {
	if ((unsigned long)h != 1) return 3;
	*mj = ms() * 700; /* 700 W */
	return 0;
}
int nvmlDeviceGetPowerUsage(void *h, unsigned *mw) {
	if ((unsigned long)h == 3) return 3;
	*mw = 300000;
	return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void *h, unsigned *mw) { *mw = 700000; return 0; }
`

func buildNVML(t *testing.T, initCode, source string) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no C compiler to build a stand-in of NVML with")
	}
	dir := t.TempDir()
	c, lib := filepath.Join(dir, "nvml.c"), filepath.Join(dir, "libnvidia-ml.so.1")
	if err := os.WriteFile(c, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-DFAKE_INIT="+initCode, "-o", lib, c).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return lib
}

func TestNVML(t *testing.T) {
	gpus, err := meter.NVML(buildNVML(t, "0", fakeNVML))
	if err != nil || len(gpus) != 3 {
		t.Fatalf("got %d devices, %v", len(gpus), err)
	}
	if g := gpus[2]; g.Meter != nil || !errors.Is(g.Why, meter.ErrNotMeasured) || !strings.Contains(g.Why.Error(), "Not Supported") {
		t.Errorf("a device that shows nothing: %+v", g)
	}
	for i, want := range []receipt.Provenance{receipt.HwShunt, receipt.ModelBased} {
		m := gpus[i].Meter
		id := m.Identity()
		if id.Class != joulebox.GPU || id.Model != "NVIDIA H200" || !strings.HasPrefix(id.Driver, "560.35.03, NVML") {
			t.Errorf("got %+v", id)
		}
		t.Run(want.String(), func(t *testing.T) { metertest.Contract(t, m) })
		s, err := m.Begin(t.Context(), func() meter.Counts { return meter.Counts{} })
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		time.Sleep(200 * time.Millisecond)
		e, used, err := s.Read()
		took := joulebox.Microjoules(time.Since(begun).Microseconds())
		if err != nil || !used || e.Provenance() != want {
			t.Errorf("device %d: got %v (used %v), %v, want %v", i, e.Provenance(), used, err, want)
		}
		watts := joulebox.Microjoules([]uint64{700, 300}[i])
		if got := e.Bound(); got < watts*190_000 || got > watts*(took+20_000) {
			t.Errorf("device %d: got %d, want %d W for %d µs", i, got, watts, took)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestNVMLSaysWhyNot(t *testing.T) {
	other := strings.Replace(fakeNVML, "nvmlDeviceGetName", "somethingElse", 1)
	for want, lib := range map[string]string{
		"cannot open shared object": filepath.Join(t.TempDir(), "none.so"),
		"Driver Not Loaded (9)":     buildNVML(t, "9", fakeNVML),
		"nvmlDeviceGetName":         buildNVML(t, "0", other),
	} {
		if gpus, err := meter.NVML(lib); gpus != nil || !errors.Is(err, meter.ErrNotMeasured) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v, want %q", gpus, err, want)
		}
	}
}

// A driver from before there was a counter of energy has power all the same.
func TestNVMLOfAnOlderDriver(t *testing.T) {
	older := strings.Replace(fakeNVML, "nvmlDeviceGetTotalEnergyConsumption", "somethingElse", 1)
	gpus, err := meter.NVML(buildNVML(t, "0", older))
	if err != nil || len(gpus) != 3 || gpus[0].Meter == nil || !strings.Contains(gpus[0].Meter.Identity().Driver, "integrated") {
		t.Errorf("got %+v, %v, want integrated power", gpus, err)
	}
}
