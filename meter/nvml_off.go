//go:build !nvml || !linux

package meter

// NVMLLibrary is what NVIDIA's driver comes with.
const NVMLLibrary = "libnvidia-ml.so.1"

// NVML can't be loaded by this build: a program that loads a shared library needs
// the C library's loader, and this one needs nothing. Build with -tags nvml.
func NVML(string) ([]GPU, error) {
	return nil, notMeasured("this build loads no NVML: build with -tags nvml on Linux")
}
