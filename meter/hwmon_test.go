package meter_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/meter"
)

// monitors makes hardware monitors: driver by folder, and their files.
func monitors(t *testing.T, all map[string]map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for dir, files := range all {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, value := range files {
			write(t, filepath.Join(root, dir, name), value)
		}
	}
	return root
}

func amdEnergy() map[string]map[string]string {
	files := map[string]string{"name": "amd_energy"}
	for i, label := range []string{"Ecore000", "Ecore001", "Esocket0", "Esocket1"} {
		n := strconv.Itoa(i + 1)
		files["energy"+n+"_label"], files["energy"+n+"_input"] = label, "5"
	}
	return map[string]map[string]string{"hwmon0": {"name": "coretemp", "energy1_input": "1"}, "hwmon1": files, "hwmon2": {}}
}

func TestAMDEnergySumsSockets(t *testing.T) {
	root := monitors(t, amdEnergy())
	c, err := meter.AMDEnergy(root)
	if err != nil {
		t.Fatal(err)
	}
	uj, why := window(t, newMachine(t, c, 0), func() {
		for n, v := range map[string]string{"1": "9000", "2": "9000", "3": "405", "4": "805"} {
			write(t, filepath.Join(root, "hwmon1", "energy"+n+"_input"), v)
		}
	})
	if why != nil || uj != 300 {
		t.Errorf("got %d, %v, want a quarter of 1200", uj, why)
	}
	uj, why = window(t, newMachine(t, c, 0), func() { write(t, filepath.Join(root, "hwmon1", "energy3_input"), "404") })
	if uj != 0 || why == nil {
		t.Errorf("a counter of 64 bits went back, and %d, %v", uj, why)
	}
}

func TestAMDEnergyRefuses(t *testing.T) {
	for name, change := range map[string]func(all map[string]map[string]string){
		"none": func(all map[string]map[string]string) { delete(all, "hwmon1") },
		"no sockets": func(all map[string]map[string]string) {
			all["hwmon1"] = map[string]string{"name": "amd_energy", "energy1_input": "5"}
		},
		"garbage":        func(all map[string]map[string]string) { all["hwmon1"]["energy4_input"] = "x" },
		"nothing at all": func(all map[string]map[string]string) { clear(all) },
		"socket unlabelled": func(all map[string]map[string]string) {
			all["hwmon1"]["energy3_label"], all["hwmon1"]["energy4_label"] = "", ""
		},
	} {
		all := amdEnergy()
		change(all)
		if _, err := meter.AMDEnergy(monitors(t, all)); !errors.Is(err, meter.ErrNotMeasured) {
			t.Errorf("%s: got %v, want ErrNotMeasured", name, err)
		}
	}
}

func TestAMDEnergyAsOrdinaryUser(t *testing.T) {
	root := monitors(t, amdEnergy())
	asOrdinaryUser(t, filepath.Join(root, "hwmon1", "energy3_input"))
	_, err := meter.AMDEnergy(root)
	if !errors.Is(err, os.ErrPermission) && !strings.Contains(err.Error(), "no hardware monitor") {
		t.Errorf("got %v, want ErrPermission", err)
	}
}
