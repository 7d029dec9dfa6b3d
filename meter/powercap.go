package meter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// PowercapRoot is where Linux shows RAPL zones.
const PowercapRoot = "/sys/class/powercap"

// ErrNotMeasured says that no hardware figure can be given, and why. The class
// is then estimated, never reported as measured (§6.3).
var ErrNotMeasured = errors.New("not measured")

// zone is one top-level RAPL package: a counter in microjoules that wraps at
// its own range. The name alone is no key: two sockets share it.
type zone struct {
	path string
	span uint64 // max_energy_range_uj
}

// powercapZones finds the packages below root. A package holds its cores, so
// the sub-zones are not summed with it, and psys holds everything, so it is left
// out.
func powercapZones(root string) ([]zone, error) {
	dirs, err := filepath.Glob(filepath.Join(root, "intel-rapl:*"))
	if err != nil || len(dirs) == 0 {
		return nil, fmt.Errorf("%w: no RAPL zone below %s", ErrNotMeasured, root)
	}
	slices.Sort(dirs)
	var zones []zone
	for _, dir := range dirs {
		if strings.Count(filepath.Base(dir), ":") != 1 {
			continue
		}
		name, err := os.ReadFile(filepath.Join(dir, "name"))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotMeasured, err)
		}
		if !strings.HasPrefix(strings.TrimSpace(string(name)), "package") {
			continue
		}
		span, err := readCounter(filepath.Join(dir, "max_energy_range_uj"))
		if err != nil {
			return nil, err
		}
		zones = append(zones, zone{dir, span})
	}
	if len(zones) == 0 {
		return nil, fmt.Errorf("%w: no package zone below %s", ErrNotMeasured, root)
	}
	_, err = readZones(zones) // energy_uj is readable by root alone on most hosts
	return zones, err
}

func readZones(zones []zone) ([]uint64, error) {
	values := make([]uint64, len(zones))
	for i, z := range zones {
		v, err := readCounter(filepath.Join(z.path, "energy_uj"))
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

func readCounter(path string) (uint64, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrPermission) {
		return 0, fmt.Errorf("%w: %s is readable by root only: run as root, or grant read on it", ErrNotMeasured, path)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotMeasured, err)
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrNotMeasured, path, err)
	}
	return v, nil
}

// drawn is the energy between two readings of one zone. A counter that went
// back has wrapped once; more than one wrap can't be seen from two readings, so
// the caller bounds the time between them.
func (z zone) drawn(before, after uint64) (uint64, error) {
	switch {
	case after >= before:
		return after - before, nil
	case before <= z.span && after <= z.span:
		return z.span - before + after, nil
	}
	return 0, fmt.Errorf("%w: %s read %d, then %d, with a range of %d", ErrNotMeasured, z.path, before, after, z.span)
}
