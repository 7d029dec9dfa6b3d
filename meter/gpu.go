package meter

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/joulebox/joulebox"
)

// DRMRoot is where Linux shows graphics devices.
const DRMRoot = "/sys/class/drm"

// GPU is one graphics device that was found, and its meter or why it has none.
type GPU struct {
	Identity Identity
	Meter    Meter // nil if it can't be metered
	Why      error
}

// GPUs are the graphics devices below root, with the meters that their drivers'
// monitors allow: a counter of energy (xe, i915, amdgpu where it has one), else
// power, integrated (amdgpu).
func GPUs(root string) []GPU {
	cards, _ := filepath.Glob(filepath.Join(root, "card*"))
	slices.Sort(cards)
	var list []GPU
	for _, card := range cards {
		if strings.Contains(filepath.Base(card), "-") {
			continue // a connector of a card
		}
		device := filepath.Join(card, "device")
		if class, err := readText(filepath.Join(device, "class")); err == nil && !strings.HasPrefix(class, "0x03") {
			continue
		}
		g := GPU{Identity: gpuIdentity(device)}
		g.Meter, g.Why = gpuMeter(device, g.Identity)
		list = append(list, g)
	}
	return list
}

func gpuIdentity(device string) Identity {
	id := Identity{Class: joulebox.GPU, Model: "unknown", Driver: "unknown"}
	if name, err := readText(filepath.Join(device, "product_name")); err == nil && name != "" {
		id.Model = name
	} else if vendor, err := readText(filepath.Join(device, "vendor")); err == nil {
		model, _ := readText(filepath.Join(device, "device"))
		id.Model = "PCI " + strings.TrimPrefix(vendor, "0x") + ":" + strings.TrimPrefix(model, "0x")
	}
	if driver, err := filepath.EvalSymlinks(filepath.Join(device, "driver")); err == nil {
		_, kernel := hostCPU()
		id.Driver = filepath.Base(driver) + ", " + kernel
	}
	return id
}

func gpuMeter(device string, id Identity) (Meter, error) {
	monitors, err := hwmons(filepath.Join(device, "hwmon"))
	if err != nil {
		return nil, err
	}
	estimate := held{id, acceleratorWatts, Now}
	var reasons []error
	for _, m := range monitors {
		if strings.Contains(m.driver, "_gt") {
			continue // a part of a card that has a monitor of its own
		}
		c, model, err := m.gpuCounter()
		if err != nil {
			reasons = append(reasons, err)
			continue
		}
		estimate.watts = m.mostWatts()
		node, err := NewNode(NodeConfig{Counter: c})
		if err != nil {
			return nil, err
		}
		if model {
			return node.modelled(estimate), nil
		}
		return node.Measured(estimate), nil
	}
	if reasons == nil {
		return nil, notMeasured("no monitor of the whole card below %s: %w", device, fs.ErrNotExist)
	}
	return nil, errors.Join(reasons...)
}

// gpuCounter is a monitor's counter of the whole card. Where there are several
// inputs the first is the card, which holds the others.
func (m monitor) gpuCounter() (c Counter, model bool, err error) {
	inputs, err := m.inputs("energy", "_input")
	if err != nil {
		return nil, false, err
	}
	for _, in := range inputs {
		if in.Name == "card" || in.Name == "energy1" {
			in.Watts = acceleratorWatts
			h := &hwmon{driver: m.driver + " hwmon", domains: []Domain{in}}
			_, err := h.Read()
			return h, false, err
		}
	}
	for _, file := range []string{"power1_average", "power1_input"} {
		path := filepath.Join(m.dir, file)
		if _, err := readCounter(path); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, true, err
		}
		return &integral{name: m.driver + " hwmon (" + file + ", integrated)", watts: func() (uint64, error) { return readCounter(path) }, now: Now}, true, nil
	}
	return nil, false, notMeasured("%s: the driver %s shows neither energy nor power", m.dir, m.driver)
}

// mostWatts is the most that a card is allowed to draw.
func (m monitor) mostWatts() uint64 {
	for _, file := range []string{"power1_cap", "power1_max", "power1_rated_max"} {
		uw, err := readCounter(filepath.Join(m.dir, file))
		if w := (uw + 999_999) / 1_000_000; err == nil && w > 0 && w <= acceleratorWatts {
			return w
		}
	}
	return acceleratorWatts
}
