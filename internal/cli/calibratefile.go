package cli

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/custody"
	"github.com/joulebox/joulebox/meter"
)

// modelFile is where a host's calibration lies.
func modelFile() (string, error) {
	state, err := custody.StateDir()
	return filepath.Join(state, "energy-model.json"), err
}

// mostModel bounds what is read of it.
const mostModel = 1 << 20

// hostModel is this host's calibration; nil without one. One that the host's key
// didn't seal, or that was made on another processor, is an error, and isn't used.
func hostModel(key ed25519.PublicKey) (*meter.Calibration, error) {
	path, err := modelFile()
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > mostModel {
		return nil, fmt.Errorf("%s: got %d bytes, want at most %d", path, info.Size(), mostModel)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := meter.OpenCalibration(file, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if got := meter.HostCPU(joulebox.CPU).Model; c.CPU != got {
		return nil, fmt.Errorf("%s: it was made for %q, and this host has %q", path, c.CPU, got)
	}
	return c, nil
}

// priced is the table that runs are priced by, and the id of the calibration that
// it is from. A calibration that can't be used is said to be, and the constants
// stand: figures from them are labelled as such.
func (c *console) priced(key ed25519.PublicKey) (meter.Table, joulebox.ID) {
	model, err := hostModel(key)
	if err == nil && model != nil {
		var id joulebox.ID
		if id, err = model.ID(); err == nil {
			return model.Table(), id
		}
	}
	if err != nil {
		c.note("the energy model isn't used: %v; joulebox calibrate makes one", err)
	}
	return meter.DefaultTable(), joulebox.ID{}
}

// signModel seals a calibration with this host's key and keeps it. Where there are
// records and no key, none is made.
func signModel(c *meter.Calibration) (path string, err error) {
	state, err := custody.StateDir()
	if err != nil {
		return "", err
	}
	key, _, err := custody.Ensure(custody.DefaultReference, exists(storeDir(state)))
	if err != nil {
		return "", err
	}
	defer key.Close()
	if err := key.Check(); err != nil {
		return "", err
	}
	return keepModel(c, key)
}

// keepModel writes a calibration in place of the one that was there, whole or not
// at all.
func keepModel(c *meter.Calibration, key *custody.Key) (path string, err error) {
	file, err := c.Sign(key)
	if err != nil {
		return "", err
	}
	if path, err = modelFile(); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".energy-model-")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name()) // gone already if all went well
	_, err = f.Write(file)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", err
	}
	return path, os.Rename(f.Name(), path)
}
