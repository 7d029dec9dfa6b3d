//go:build nvml

package meter

import (
	"bytes"
	"fmt"

	"github.com/ebitengine/purego"

	"github.com/joulebox/joulebox"
)

// NVMLLibrary is what NVIDIA's driver comes with.
const NVMLLibrary = "libnvidia-ml.so.1"

// nvml is the library's interface, as far as it is used. Every function returns
// zero, or a code that errorString puts into words.
type nvml struct {
	initialise    func() int32
	errorString   func(int32) string
	driverVersion func(*byte, uint32) int32
	count         func(*uint32) int32
	handle        func(uint32, *uintptr) int32
	name          func(uintptr, *byte, uint32) int32
	energy        func(uintptr, *uint64) int32 // mJ since the driver was loaded
	power         func(uintptr, *uint32) int32 // mW
	limit         func(uintptr, *uint32) int32 // mW
}

// noFunction is the library's code for a function that it doesn't have.
const noFunction = 13

// NVML loads the library and finds its devices. The library stays loaded.
func NVML(library string) ([]GPU, error) {
	n, err := loadNVML(library)
	if err != nil {
		return nil, err
	}
	if err := n.check("nvmlInit", n.initialise()); err != nil {
		return nil, err
	}
	var count uint32
	if err := n.check("nvmlDeviceGetCount", n.count(&count)); err != nil {
		return nil, err
	}
	version, err := n.text("nvmlSystemGetDriverVersion", n.driverVersion)
	if err != nil {
		return nil, err
	}
	var list []GPU
	for i := range min(count, 1024) {
		list = append(list, n.gpu(i, version))
	}
	return list, nil
}

func loadNVML(library string) (*nvml, error) {
	lib, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, notMeasured("no NVML: %w", err)
	}
	n := &nvml{}
	for _, f := range []struct {
		name string
		to   any
	}{
		{"nvmlInit_v2", &n.initialise}, {"nvmlErrorString", &n.errorString},
		{"nvmlSystemGetDriverVersion", &n.driverVersion}, {"nvmlDeviceGetCount_v2", &n.count},
		{"nvmlDeviceGetHandleByIndex_v2", &n.handle}, {"nvmlDeviceGetName", &n.name},
		{"nvmlDeviceGetTotalEnergyConsumption", &n.energy},
		{"nvmlDeviceGetPowerUsage", &n.power}, {"nvmlDeviceGetEnforcedPowerLimit", &n.limit},
	} {
		at, err := purego.Dlsym(lib, f.name)
		if err != nil && f.to == any(&n.energy) {
			n.energy = func(uintptr, *uint64) int32 { return noFunction } // of an older driver
			continue
		}
		if err != nil {
			return nil, notMeasured("NVML of %s: %w", library, err)
		}
		purego.RegisterFunc(f.to, at)
	}
	return n, nil
}

func (n *nvml) check(what string, code int32) error {
	if code == 0 {
		return nil
	}
	return notMeasured("%s: %s (%d)", what, n.errorString(code), code)
}

func (n *nvml) text(what string, get func(*byte, uint32) int32) (string, error) {
	var b [96]byte // what the longest of these is documented to need
	if err := n.check(what, get(&b[0], uint32(len(b)))); err != nil {
		return "", err
	}
	s, _, _ := bytes.Cut(b[:], []byte{0})
	return string(s), nil
}

func (n *nvml) gpu(index uint32, version string) (g GPU) {
	g.Identity = Identity{Class: joulebox.GPU, Model: "unknown", Driver: version}
	var device uintptr
	if g.Why = n.check("nvmlDeviceGetHandleByIndex", n.handle(index, &device)); g.Why != nil {
		return g
	}
	g.Identity.Model, g.Why = n.text("nvmlDeviceGetName", func(b *byte, size uint32) int32 { return n.name(device, b, size) })
	if g.Why != nil {
		return g
	}
	g.Meter, g.Why = n.meter(index, device, g.Identity)
	return g
}

// meter reads the device's counter of energy, else integrates its power.
func (n *nvml) meter(index uint32, device uintptr, id Identity) (Meter, error) {
	c := &nvmlCounter{n, device, fmt.Sprintf("NVML energy of device %d", index)}
	power := &integral{name: fmt.Sprintf("NVML power of device %d, integrated", index), now: Now, watts: func() (uint64, error) {
		var mw uint32
		err := n.check("nvmlDeviceGetPowerUsage", n.power(device, &mw))
		return uint64(mw) * 1000, err
	}}
	estimate := held{id, acceleratorWatts, Now}
	var mw uint32
	if n.limit(device, &mw) == 0 && mw > 0 {
		estimate.watts = min(uint64(mw+999)/1000, acceleratorWatts)
	}
	if node, err := NewNode(NodeConfig{Counter: c}); err == nil {
		return node.Measured(estimate), nil
	}
	node, err := NewNode(NodeConfig{Counter: power})
	if err != nil {
		return nil, err
	}
	return node.modelled(estimate), nil
}

type nvmlCounter struct {
	n      *nvml
	device uintptr
	name   string
}

func (c *nvmlCounter) Name() string { return c.name }

func (c *nvmlCounter) Domains() []Domain {
	return []Domain{{Key: c.name, Name: "gpu", Watts: acceleratorWatts}}
}

func (c *nvmlCounter) Read() ([]uint64, error) {
	var mj uint64
	if err := c.n.check("nvmlDeviceGetTotalEnergyConsumption", c.n.energy(c.device, &mj)); err != nil {
		return nil, err
	}
	if mj > 1<<64/1000-1 {
		return nil, notMeasured("%s: %d mJ are more than 64 bits of microjoules", c.name, mj)
	}
	return []uint64{mj * 1000}, nil
}
