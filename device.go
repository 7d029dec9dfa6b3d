package joulebox

import "fmt"

// DeviceClass is one class of the compute fabric (§2.3). The set is closed and
// ordered: canonical lists of classes are written in this order.
type DeviceClass uint8

// The eight device classes.
const (
	CPU DeviceClass = iota
	SIMD
	GPU
	NPU
	TPU
	LPU
	Photonic
	Quantum
)

var classNames = [...]string{"Cpu", "Simd", "Gpu", "Npu", "Tpu", "Lpu", "Photonic", "Quantum"}

// DeviceClasses lists the classes in the order of §2.3.
func DeviceClasses() []DeviceClass {
	return []DeviceClass{CPU, SIMD, GPU, NPU, TPU, LPU, Photonic, Quantum}
}

// String is the wire name, as in "Cpu".
func (c DeviceClass) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("DeviceClass(%d)", uint8(c))
}

// ParseDeviceClass reads a wire name; case matters.
func ParseDeviceClass(s string) (DeviceClass, error) {
	for i, n := range classNames {
		if n == s {
			return DeviceClass(i), nil
		}
	}
	return 0, fmt.Errorf("device class: got %q, want one of %v", s, classNames)
}

// MarshalText writes the wire name.
func (c DeviceClass) MarshalText() ([]byte, error) {
	if int(c) >= len(classNames) {
		return nil, fmt.Errorf("device class: %d is not one of the eight", uint8(c))
	}
	return []byte(classNames[c]), nil
}

// UnmarshalText reads a wire name.
func (c *DeviceClass) UnmarshalText(b []byte) error {
	v, err := ParseDeviceClass(string(b))
	if err == nil {
		*c = v
	}
	return err
}
