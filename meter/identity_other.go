//go:build !linux

package meter

import "runtime"

func hostCPU() (model, driver string) { return "unknown " + runtime.GOARCH, runtime.GOOS }
