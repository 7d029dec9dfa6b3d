//go:build !linux

package wasm

import (
	"os"
	"os/exec"
	"syscall"
)

// Elsewhere the child is held by its wall time and Go's own memory limit alone.

func selfPath() (string, error) { return os.Executable() }

func childAttr() *syscall.SysProcAttr { return nil }

func limitSelf(CompileLimits) error { return nil }

func closeInherited() {}

func endedByCPULimit(*exec.ExitError) bool { return false }
