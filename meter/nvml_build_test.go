//go:build !nvml

package meter_test

import (
	"bytes"
	"errors"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/meter"
)

func TestThisBuildLoadsNoLibrary(t *testing.T) {
	if _, err := meter.NVML(meter.NVMLLibrary); !errors.Is(err, meter.ErrNotMeasured) || !strings.Contains(err.Error(), "-tags nvml") {
		t.Errorf("got %v", err)
	}
	// What loads libraries has a dynamic loader of its own, and with it a program
	// isn't static any more.
	out, err := exec.Command("go", "list", "-deps", "github.com/joulebox/joulebox/cmd/joulebox").Output()
	if err != nil || bytes.Contains(out, []byte("purego")) || !bytes.Contains(out, []byte("joulebox/meter")) {
		t.Errorf("the default program loads libraries (%v)", err)
	}
}

// The tests of NVML need a build of their own.
func TestNVMLBuild(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("a second build is left out with -short")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no C compiler to build a stand-in of NVML with")
	}
	cmd := exec.Command("go", "test", "-tags", "nvml", "-count=1", "-run", "NVML", "-v", ".")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestNVML ")) {
		t.Errorf("%v: %s", err, out)
	}
}
