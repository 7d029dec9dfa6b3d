//go:build !linux

package wasm

import (
	"os"
	"syscall"
)

// Elsewhere the child is held by its wall time and Go's own memory limit alone.

func selfPath() (string, error) { return os.Executable() }

func childAttr() *syscall.SysProcAttr { return nil }

func limitSelf(buildJob) error { return nil }

func closeInherited() {}
