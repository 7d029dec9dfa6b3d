package meter

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/joulebox/joulebox"
)

// nvidiaRoot is where NVIDIA's driver says which devices it has.
const nvidiaRoot = "/proc/driver/nvidia"

// HostGPUs are this machine's graphics devices, each with its meter or the reason
// for which it has none.
func HostGPUs() []GPU {
	list := GPUs(DRMRoot)
	nvidia, err := NVML(NVMLLibrary)
	if err != nil {
		nvidia = nvidiaGPUs(nvidiaRoot, err)
	}
	if len(nvidia) > 0 { // the kernel shows them as cards too, without a monitor
		list = slices.DeleteFunc(list, func(g GPU) bool { return strings.HasPrefix(g.Identity.Driver, "nvidia") })
	}
	return append(list, nvidia...)
}

// nvidiaGPUs are the devices that the driver shows by itself, which say what they
// are and not what they draw.
func nvidiaGPUs(root string, why error) (list []GPU) {
	files, _ := filepath.Glob(filepath.Join(root, "gpus", "*", "information"))
	version, err := readText(filepath.Join(root, "version"))
	if err != nil {
		version = "unknown"
	}
	version, _, _ = strings.Cut(version, "\n")
	for _, file := range files {
		g := GPU{Identity: Identity{Class: joulebox.GPU, Model: "unknown", Driver: version}, Why: why}
		text, _ := readText(file)
		for line := range strings.Lines(text) {
			if model, ok := strings.CutPrefix(line, "Model:"); ok {
				g.Identity.Model = strings.TrimSpace(model)
			}
		}
		list = append(list, g)
	}
	return list
}
