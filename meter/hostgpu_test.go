package meter

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestNVIDIADevicesAreNamedWithoutNVML(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"version":                       "NVRM version: NVIDIA UNIX x86_64 Kernel Module  560.35.03\nGCC version: 12\n",
		"gpus/0000:01:00.0/information": "Model: \t\t NVIDIA H200\nIRQ:   \t\t 155\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	why := errors.New("no library")
	list := nvidiaGPUs(root, why)
	if len(list) != 1 || list[0].Identity.Model != "NVIDIA H200" || list[0].Identity.Driver != "NVRM version: NVIDIA UNIX x86_64 Kernel Module  560.35.03" || list[0].Why != why || list[0].Meter != nil {
		t.Errorf("got %+v", list)
	}
	if list := nvidiaGPUs(t.TempDir(), why); list != nil {
		t.Errorf("got %+v of nothing", list)
	}
}
