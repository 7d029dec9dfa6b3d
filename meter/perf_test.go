package meter_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/meter"
)

// powerEvents is shaped as the kernel's: what an event is called, what a count is
// worth, and one CPU of each package.
func powerEvents(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "events"), 0o700); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"type": "23", "cpumask": "0,28"}
	for name, code := range map[string]string{"pkg": "0x02", "ram": "0x03", "cores": "0x01", "psys": "0x05"} {
		all["events/energy-"+name] = "event=" + code
		all["events/energy-"+name+".unit"] = "Joules"
		all["events/energy-"+name+".scale"] = "2.3283064365386962890625e-10"
	}
	for k, v := range files {
		all[k] = v
	}
	for k, v := range all {
		if v != "" {
			write(t, filepath.Join(root, k), v)
		}
	}
	return root
}

// counts are events that the test moves.
type counts map[meter.PerfEvent]map[int]uint64

func (c counts) open(e meter.PerfEvent, cpu int) (func() (uint64, error), error) {
	if c[e] == nil {
		c[e] = map[int]uint64{}
	}
	return func() (uint64, error) { return c[e][cpu], nil }, nil
}

func TestPerfSumsPackagesAndMemory(t *testing.T) {
	events := counts{}
	c, err := meter.Perf(powerEvents(t, nil), events.open)
	if err != nil {
		t.Fatal(err)
	}
	uj, why := window(t, newMachine(t, c, 0), func() {
		for _, code := range []uint64{2, 3} {
			for _, cpu := range []int{0, 28} {
				events[meter.PerfEvent{Type: 23, Config: code}][cpu] += code << 32 // 2 J a package, 3 J its memory
			}
		}
	})
	if why != nil || uj != 10_000_000/4 {
		t.Errorf("got %d, %v, want a quarter of 10 J", uj, why)
	}
	if len(events) != 2 {
		t.Errorf("opened %d events, want package and memory: cores are within the package, psys holds all", len(events))
	}
	if got := c.Name(); got != "perf power (2 package, 2 dram)" {
		t.Errorf("got %q", got)
	}
}

func TestPerfWithoutMemory(t *testing.T) {
	events := counts{}
	c, err := meter.Perf(powerEvents(t, map[string]string{"events/energy-ram": ""}), events.open)
	if err != nil || len(c.Domains()) != 2 {
		t.Errorf("got %v, %v, want two packages", c, err)
	}
}

func TestPerfRefuses(t *testing.T) {
	for _, c := range []struct{ file, value, want string }{
		{"type", "power", "invalid syntax"},
		{"cpumask", "", "no such file"},
		{"cpumask", "0-99999999", "cpumask"},
		{"cpumask", "3-1", "cpumask"},
		{"events/energy-pkg", "", "no such file"},
		{"events/energy-pkg", "umask=1", "want event=NUMBER"},
		{"events/energy-pkg.unit", "Watts", "want Joules"},
		{"events/energy-pkg.scale", "-1", "want a positive number"},
		{"events/energy-pkg.scale", "1e999999999", "want a positive number"},
		{"events/energy-pkg.scale", "NaN", "want a positive number"},
		{"events/energy-ram.scale", "0", "want a positive number"},
	} {
		_, err := meter.Perf(powerEvents(t, map[string]string{c.file: c.value}), counts{}.open)
		if !errors.Is(err, meter.ErrNotMeasured) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %q: got %v, want %q", c.file, c.value, err, c.want)
		}
	}
	denied := func(meter.PerfEvent, int) (func() (uint64, error), error) { return nil, os.ErrPermission }
	if _, err := meter.Perf(powerEvents(t, nil), denied); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "CAP_PERFMON") {
		t.Errorf("an ordinary user: got %v", err)
	}
}

func TestPerfThatFailsIsNotMeasured(t *testing.T) {
	gone := false
	c, err := meter.Perf(powerEvents(t, nil), func(meter.PerfEvent, int) (func() (uint64, error), error) {
		n := uint64(0)
		return func() (uint64, error) {
			if n += 1 << 32; gone {
				return 0, errors.New("the CPU went offline")
			}
			return n, nil
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	uj, why := window(t, newMachine(t, c, 0), func() { gone = true })
	if uj != 0 || why == nil || !strings.Contains(why.Error(), "offline") {
		t.Errorf("got %d, %v", uj, why)
	}
}

func FuzzPerfFiles(f *testing.F) {
	f.Add("0,28", "event=0x02", "2.3283064365386962890625e-10")
	f.Add("0-3", "event=2", "1e-6")
	f.Fuzz(func(t *testing.T, mask, event, scale string) {
		c, err := meter.Perf(powerEvents(t, map[string]string{"cpumask": mask, "events/energy-pkg": event, "events/energy-pkg.scale": scale}), counts{}.open)
		if err != nil {
			if !errors.Is(err, meter.ErrNotMeasured) {
				t.Errorf("got %v, want ErrNotMeasured", err)
			}
			return
		}
		if v, err := c.Read(); err != nil || len(v) != len(c.Domains()) {
			t.Errorf("got %v, %v", v, err)
		}
	})
}
