package meter

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// HwmonRoot is where Linux shows hardware monitors.
const HwmonRoot = "/sys/class/hwmon"

// AMDEnergy reads the sockets of the amd_energy driver below root: its socket
// counters hold the cores', which aren't summed with them. The driver keeps 64
// bits of each, so they don't wrap.
func AMDEnergy(root string) (Counter, error) {
	devices, err := hwmons(root)
	if err != nil {
		return nil, err
	}
	h := &hwmon{driver: "amd_energy"}
	for _, d := range devices {
		if d.driver != h.driver {
			continue
		}
		inputs, err := d.inputs("energy", "_input")
		if err != nil {
			return nil, err
		}
		for _, in := range inputs {
			if strings.HasPrefix(in.Name, "Esocket") {
				in.Watts = packageWatts
				h.domains = append(h.domains, in)
			}
		}
	}
	if len(h.domains) == 0 {
		return nil, notMeasured("no socket of amd_energy below %s: %w", root, fs.ErrNotExist)
	}
	_, err = h.Read()
	return h, err
}

type hwmon struct {
	driver  string
	domains []Domain
}

func (h *hwmon) Domains() []Domain { return h.domains }
func (h *hwmon) Name() string      { return h.driver + " (" + names(h.domains) + ")" }

func (h *hwmon) Read() ([]uint64, error) {
	values := make([]uint64, len(h.domains))
	for i, d := range h.domains {
		v, err := readCounter(d.Key)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

// monitor is one hardware monitor.
type monitor struct{ dir, driver string }

func hwmons(root string) (list []monitor, err error) {
	dirs, err := filepath.Glob(filepath.Join(root, "hwmon*"))
	if err != nil || len(dirs) == 0 {
		return nil, notMeasured("no hardware monitor below %s: %w", root, fs.ErrNotExist)
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		driver, err := readText(filepath.Join(dir, "name"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has gone since
		}
		if err != nil {
			return nil, err
		}
		list = append(list, monitor{dir, driver})
	}
	return list, nil
}

// inputs are a monitor's files of one kind, "energy" or "power", by label.
func (m monitor) inputs(kind, suffix string) (list []Domain, err error) {
	files, err := filepath.Glob(filepath.Join(m.dir, kind+"*"+suffix))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	for _, file := range files {
		label, err := readText(strings.TrimSuffix(file, suffix) + "_label")
		if errors.Is(err, fs.ErrNotExist) {
			label, err = strings.TrimSuffix(filepath.Base(file), suffix), nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, Domain{Key: file, Name: label})
	}
	return list, nil
}
