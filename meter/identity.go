package meter

import "github.com/joulebox/joulebox"

// HostCPU names the processor that serves the Cpu and Simd classes.
func HostCPU(class joulebox.DeviceClass) Identity {
	model, driver := hostCPU()
	return Identity{Class: class, Model: model, Driver: driver}
}
