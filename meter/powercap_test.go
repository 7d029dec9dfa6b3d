package meter_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/joulebox/joulebox/meter"
)

// window runs one simulated second in which the run is a quarter of what is busy.
func window(t *testing.T, m *machine, change func()) (uj uint64, why error) {
	t.Helper()
	r := m.begin(t)
	m.pass(time.Second)
	m.busy += 400 * time.Millisecond
	r.cpu += 100 * time.Millisecond
	change()
	why = r.why(t)
	got, _ := r.read(t).Measured()
	if err := r.span.Close(); err != nil {
		t.Error(err)
	}
	return uint64(got), why
}

func TestPackagesAndMemoryAreSummedOnce(t *testing.T) {
	root := tree(t, socket("package-0", wide-900).withMemory(50), socket("package-1", 50).withMemory(10))
	uj, why := window(t, onTree(t, root), func() {
		set(t, root, "intel-rapl:0", 300)    // wrapped at its own range: 900+300
		set(t, root, "intel-rapl:1", 250)    // 200
		set(t, root, "intel-rapl:0:1", 150)  // 100 of memory
		set(t, root, "intel-rapl:1:1", 30)   // 20
		set(t, root, "intel-rapl:0:0", 9999) // cores are in the package
		set(t, root, "intel-rapl:2", 99999)  // psys holds all of it
	})
	if why != nil || uj != (1200+200+100+20)/4 {
		t.Errorf("got %d, %v, want a quarter of 1520", uj, why)
	}
}

func TestTreesOfAllKinds(t *testing.T) {
	narrow := zone{name: "package-0", span: "65532610987", energy: "5"}
	top := func(z ...zone) []zone { return z }
	for _, c := range []struct {
		name    string
		control string
		zones   []zone
		set     map[string]uint64
		want    uint64 // of the step, for all work
	}{
		{"one name for two sockets", "intel-rapl", top(socket("package-0", 5), socket("package-0", 5)), map[string]uint64{"intel-rapl:0": 105, "intel-rapl:1": 205}, 300},
		{"dies", "intel-rapl", top(socket("package-0-die-0", 5), socket("package-0-die-1", 5)), map[string]uint64{"intel-rapl:0": 105, "intel-rapl:1": 205}, 300},
		{"AMD, without memory", "intel-rapl", top(narrow), map[string]uint64{"intel-rapl:0": 405}, 400},
		{"memory beside the package", "intel-rapl", top(narrow, zone{name: "dram", span: "65712999613", energy: "5"}), map[string]uint64{"intel-rapl:0": 105, "intel-rapl:1": 105}, 200},
		{"psys comes first", "intel-rapl", top(zone{name: "psys", span: "65532610987", energy: "5"}, narrow), map[string]uint64{"intel-rapl:0": 9005, "intel-rapl:1": 405}, 400},
		{"MMIO alone", "intel-rapl-mmio", top(narrow), map[string]uint64{"intel-rapl-mmio:0": 405}, 400},
		{"no range, no wrap", "intel-rapl", top(zone{name: "package-0", energy: "5"}), map[string]uint64{"intel-rapl:0": 405}, 400},
		{"garbage for a range, no wrap", "intel-rapl", top(zone{"package-0", "many", "5", nil}), map[string]uint64{"intel-rapl:0": 405}, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := treeOf(t, c.control, c.zones)
			uj, why := window(t, onTree(t, root), func() {
				for z, v := range c.set {
					set(t, root, z, v)
				}
			})
			if why != nil || uj != c.want/4 {
				t.Errorf("got %d, %v, want a quarter of %d", uj, why, c.want)
			}
		})
	}
}

// The same package through registers and through memory is one package.
func TestTwoInterfacesToOnePackageAreNotSummed(t *testing.T) {
	root := t.TempDir()
	addZones(t, root, "intel-rapl", []zone{socket("package-0", 5)})
	addZones(t, root, "intel-rapl-mmio", []zone{socket("package-0", 5)})
	class := filepath.Join(root, "class", "powercap")
	uj, why := window(t, onTree(t, class), func() {
		set(t, class, "intel-rapl:0", 405)
		set(t, class, "intel-rapl-mmio:0", 405)
	})
	if why != nil || uj != 100 {
		t.Errorf("got %d, %v, want a quarter of 400", uj, why)
	}
}

// The devices themselves, without the class that links to them, as a container may
// be given them.
func TestDevicesWithoutTheirClass(t *testing.T) {
	root := tree(t, socket("package-0", 5).withMemory(5))
	devices := filepath.Join(filepath.Dir(filepath.Dir(root)), "devices", "virtual", "powercap")
	uj, why := window(t, onTree(t, devices), func() {
		set(t, root, "intel-rapl:0", 205)
		set(t, root, "intel-rapl:0:1", 205)
	})
	if why != nil || uj != 100 {
		t.Errorf("got %d, %v, want a quarter of 400", uj, why)
	}
}

func TestNothingIsClaimedThatWasNotRead(t *testing.T) {
	file := func(root string) string { return filepath.Join(root, "intel-rapl:0", "energy_uj") }
	for _, c := range []struct {
		name   string
		zone   zone
		change func(t *testing.T, root string, m *machine)
		want   string
	}{
		{"removed", socket("package-0", 900), func(t *testing.T, root string, _ *machine) { os.RemoveAll(file(root)) }, "no such file"},
		{"garbage", socket("package-0", 900), func(t *testing.T, root string, _ *machine) { write(t, file(root), "n/a") }, "invalid syntax"},
		{"empty", socket("package-0", 900), func(t *testing.T, root string, _ *machine) { write(t, file(root), "") }, "invalid syntax"},
		{"negative", socket("package-0", 900), func(t *testing.T, root string, _ *machine) { write(t, file(root), "-4") }, "invalid syntax"},
		{"more than 64 bits", socket("package-0", 900), func(t *testing.T, root string, _ *machine) { write(t, file(root), strings.Repeat("9", 30)) }, "out of range"},
		{"a jump", socket("package-0", 900), func(t *testing.T, root string, _ *machine) { set(t, root, "intel-rapl:0", 2_000_000_000) }, "more than 1000 W"},
		{"a wrap that is a reset", socket("package-0", 150_000_000_000), func(t *testing.T, root string, _ *machine) { set(t, root, "intel-rapl:0", 5) }, "more than 1000 W"},
		{"beyond its range", zone{"package-0", "1000000000", "900", nil}, func(t *testing.T, root string, _ *machine) { set(t, root, "intel-rapl:0", 1_000_000_001) }, "with a range of"},
		{"back, without a range", zone{name: "package-0", energy: "900"}, func(t *testing.T, root string, _ *machine) { set(t, root, "intel-rapl:0", 899) }, "no range"},
		{"back, with a range of zero", zone{"package-0", "0", "900", nil}, func(t *testing.T, root string, _ *machine) { set(t, root, "intel-rapl:0", 0) }, "no range"},
		{"stuck", socket("package-0", 900), func(*testing.T, string, *machine) {}, "did not move"},
		{"memory is stuck", socket("package-0", 900).withMemory(5), func(t *testing.T, root string, _ *machine) { set(t, root, "intel-rapl:0", 1000) }, "did not move"},
		{"memory jumps", socket("package-0", 900).withMemory(5), func(t *testing.T, root string, _ *machine) {
			set(t, root, "intel-rapl:0", 1000)
			set(t, root, "intel-rapl:0:1", 200_000_005) // 200 W on one socket: a wrong unit
		}, "more than 150 W"},
		{"a sleep", socket("package-0", 900), func(t *testing.T, root string, m *machine) {
			set(t, root, "intel-rapl:0", 1000)
			m.at.Real += time.Minute
		}, "slept for 1m0s"},
		{"a gap in which it may have wrapped twice", socket("package-0", 900), func(t *testing.T, root string, m *machine) {
			set(t, root, "intel-rapl:0", 1000)
			m.pass(300 * time.Second)
		}, "wrapped twice"},
		{"a clock that goes back", socket("package-0", 900), func(t *testing.T, root string, m *machine) {
			set(t, root, "intel-rapl:0", 1000)
			m.pass(-2 * time.Second)
		}, "the clock went back"},
		{"busy time that goes back", socket("package-0", 900), func(t *testing.T, root string, m *machine) {
			set(t, root, "intel-rapl:0", 1000)
			m.busy = -1
		}, "busy time went back"},
		{"no busy time", socket("package-0", 900), func(t *testing.T, root string, m *machine) { m.err = errors.New("no stat") }, "no stat"},
		{"busier than the host", socket("package-0", 900), func(t *testing.T, root string, m *machine) {
			set(t, root, "intel-rapl:0", 1000)
			m.busy -= 390 * time.Millisecond
		}, "busier than its whole host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, c.zone)
			m := onTree(t, root)
			uj, why := window(t, m, func() { c.change(t, root, m) })
			if !errors.Is(why, meter.ErrNotMeasured) && !strings.Contains(fmt.Sprint(why), "no stat") || !strings.Contains(fmt.Sprint(why), c.want) || uj != 0 {
				t.Errorf("claims %d µJ; reason %v, want %q", uj, why, c.want)
			}
			balance(t, m)
		})
	}
}

// A fault costs the runs that it falls into their figure, not those that begin later.
func TestCountersComeBack(t *testing.T) {
	root := tree(t, socket("package-0", 900))
	m := onTree(t, root)
	file := filepath.Join(root, "intel-rapl:0", "energy_uj")
	if _, why := window(t, m, func() { write(t, file, "?") }); why == nil {
		t.Error("garbage was measured")
	}
	set(t, root, "intel-rapl:0", 1000)
	uj, why := window(t, m, func() { set(t, root, "intel-rapl:0", 1400) })
	if why != nil || uj != 100 {
		t.Errorf("got %d, %v, want a quarter of 400", uj, why)
	}
}

func TestUnavailableSaysWhy(t *testing.T) {
	missing := socket("package-0", 5).withMemory(5)
	missing.sub[1].energy = ""
	for name, root := range map[string]string{
		"absent":                    filepath.Join(t.TempDir(), "none"),
		"psys only":                 tree(t),
		"memory that can't be read": tree(t, missing),
	} {
		if _, err := meter.Powercap(root); !errors.Is(err, meter.ErrNotMeasured) {
			t.Errorf("%s: %v, want ErrNotMeasured", name, err)
		}
	}
	tiny, err := meter.Powercap(tree(t, zone{"package-0", "1000", "5", nil}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = meter.NewNode(meter.NodeConfig{Counter: tiny, Busy: meter.BusyCPU})
	if !errors.Is(err, meter.ErrNotMeasured) || !strings.Contains(err.Error(), "too fast") {
		t.Errorf("a range that is used up at once: %v", err)
	}
}

// Permission that goes away in mid-run is what an ordinary user meets when the
// counter's owner changes their mind.
func TestPermissionThatGoesAway(t *testing.T) {
	root := tree(t, socket("package-0", 900))
	m := onTree(t, root)
	file := filepath.Join(root, "intel-rapl:0", "energy_uj")
	uj, why := window(t, m, func() {
		set(t, root, "intel-rapl:0", 1000)
		asOrdinaryUser(t, file)
	})
	if uj != 0 || !errors.Is(why, os.ErrPermission) || !errors.Is(why, meter.ErrNotMeasured) {
		t.Errorf("got %d, %v, want ErrPermission", uj, why)
	}
}

// asOrdinaryUser takes the right to read a file from this process until the test
// ends. Root reads everything, so root becomes somebody else as far as files go.
func asOrdinaryUser(t *testing.T, file string) {
	t.Helper()
	if err := os.Chmod(file, 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		return
	}
	for dir := filepath.Dir(file); len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		_ = os.Chmod(dir, 0o755)
	}
	if err := syscall.Seteuid(65534); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Seteuid(0); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzPowercapFiles(f *testing.F) {
	f.Add("package-0", "262143328850", "5", "9")
	f.Add("dram", "", "-1", "99999999999999999999")
	f.Add("package", "0", "5\n", "0x5")
	f.Fuzz(func(t *testing.T, name, span, before, after string) {
		root := tree(t, socket("package-0", 900), zone{name, span, before, nil})
		c, err := meter.Powercap(root)
		if err != nil {
			return
		}
		node, err := meter.NewNode(meter.NodeConfig{Counter: c, Busy: func() (time.Duration, error) { return 0, nil }})
		if err != nil {
			return
		}
		m := newMachine(t, node.Counter(), 0)
		uj, why := window(t, m, func() {
			set(t, root, "intel-rapl:0", 1000)
			write(t, filepath.Join(root, "intel-rapl:1", "energy_uj"), after)
		})
		if uj > math.MaxUint64/2 || why != nil && uj != 0 {
			t.Errorf("got %d, %v", uj, why)
		}
		balance(t, m)
	})
}
