package meter

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
)

// BatteryRoot is where Linux shows batteries.
const BatteryRoot = "/sys/class/power_supply"

// BatteryPower is what the whole machine draws just now from its batteries, in
// microwatts, if it runs on them alone. It holds the screen, the disks and the
// radio, so no run's record is made of it; it bounds what the records may say.
func BatteryPower(root string) (microwatts uint64, err error) {
	supplies, _ := filepath.Glob(filepath.Join(root, "*"))
	slices.Sort(supplies)
	found := false
	for _, dir := range supplies {
		kind, err := readText(filepath.Join(dir, "type"))
		scope, _ := readText(filepath.Join(dir, "scope"))
		if err != nil || kind != "Battery" || scope == "Device" {
			continue // a mouse has one too
		}
		status, err := readText(filepath.Join(dir, "status"))
		if err != nil {
			return 0, err
		}
		if status != "Discharging" {
			return 0, notMeasured("%s: got status %q: on the mains a battery says nothing about the machine", dir, status)
		}
		uw, err := discharge(dir)
		if err != nil {
			return 0, err
		}
		microwatts, found = microwatts+uw, true
	}
	if !found {
		return 0, notMeasured("no battery below %s: %w", root, fs.ErrNotExist)
	}
	return microwatts, nil
}

// discharge is one battery's power: as it says, or current by voltage.
func discharge(dir string) (uint64, error) {
	uw, err := readCounter(filepath.Join(dir, "power_now"))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return uw, err
	}
	ua, err := readCounter(filepath.Join(dir, "current_now"))
	if err != nil {
		return 0, err
	}
	uv, err := readCounter(filepath.Join(dir, "voltage_now"))
	if err != nil {
		return 0, err
	}
	w, err := scaleDown(ua, uv, 1_000_000)
	return uint64(w), err
}
