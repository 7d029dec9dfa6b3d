package meter

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// PowercapRoot is where Linux shows RAPL zones.
const PowercapRoot = "/sys/class/powercap"

// controlTypes are the interfaces that show the same packages, the first that is
// there is read. Reading two would count every joule twice.
var controlTypes = []string{"intel-rapl", "intel-rapl-tpmi", "intel-rapl-mmio"}

// Powercap reads the package zones below root, and the memory zones, which no
// package zone holds. A package holds its cores and its graphics, so those aren't
// summed with it; the zone psys holds everything, so it never is.
func Powercap(root string) (Counter, error) {
	var first error
	for _, control := range controlTypes {
		p, err := powercapOf(root, control)
		if err == nil {
			return p, nil
		}
		if first == nil || !errors.Is(err, fs.ErrNotExist) {
			first = err
		}
	}
	return nil, first
}

func powercapOf(root, control string) (*powercap, error) {
	tops, err := zonesBelow(root, control, 1)
	if err != nil {
		return nil, err
	}
	subs, err := zonesBelow(root, control, 2)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p := &powercap{}
	for _, z := range tops {
		if strings.HasPrefix(z.Name, "package") {
			z.Watts = packageWatts
			p.zones = append(p.zones, z)
		}
	}
	if len(p.zones) == 0 {
		return nil, notMeasured("no package zone of %s below %s: %w", control, root, fs.ErrNotExist)
	}
	p.zones = append(p.zones, memoryZones(tops, subs)...)
	_, err = p.Read() // energy_uj is readable by root alone on most hosts
	return p, err
}

// memoryZones are the zones of memory: below the packages, or beside them where
// none is below.
func memoryZones(tops, subs []Domain) (list []Domain) {
	for _, zones := range [][]Domain{subs, tops} {
		for _, z := range zones {
			if z.Name == "dram" {
				z.Watts = memoryWatts
				list = append(list, z)
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// zonesBelow finds zones by their depth: 1 is "intel-rapl:0", 2 "intel-rapl:0:1".
// The kernel links every zone into the class's folder, and keeps zones within their
// control type's and sub-zones within their parent's; a zone is one, by however many
// ways it is reached.
func zonesBelow(root, control string, depth int) ([]Domain, error) {
	var dirs []string
	zone := control + ":*"
	for _, pattern := range [][]string{{zone}, {zone, zone}, {control, zone}, {control, zone, zone}} {
		found, err := filepath.Glob(filepath.Join(append([]string{root}, pattern...)...))
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, found...)
	}
	slices.Sort(dirs)
	var zones []Domain
	seen := map[string]bool{}
	for _, dir := range dirs {
		real, err := filepath.EvalSymlinks(dir)
		if strings.Count(filepath.Base(dir), ":") != depth || err == nil && seen[real] {
			continue
		}
		if err != nil {
			return nil, notMeasured("%w", err)
		}
		seen[real] = true
		name, err := readText(filepath.Join(real, "name"))
		if err != nil {
			return nil, err
		}
		// A range that isn't there or says nothing is unknown, not fatal.
		span, _ := readCounter(filepath.Join(real, "max_energy_range_uj"))
		zones = append(zones, Domain{Key: real, Name: name, Range: span})
	}
	if len(zones) == 0 {
		return nil, notMeasured("no zone of %s below %s: %w", control, root, fs.ErrNotExist)
	}
	return zones, nil
}

type powercap struct{ zones []Domain }

func (p *powercap) Domains() []Domain { return p.zones }
func (p *powercap) Name() string      { return "powercap (" + names(p.zones) + ")" }

func (p *powercap) Read() ([]uint64, error) {
	values := make([]uint64, len(p.zones))
	for i, z := range p.zones {
		v, err := readCounter(filepath.Join(z.Key, "energy_uj"))
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

// names are the domains in short, with how many share a name.
func names(domains []Domain) string {
	var list []string
	count := map[string]int{}
	for _, d := range domains {
		if count[d.Name]++; count[d.Name] == 1 {
			list = append(list, d.Name)
		}
	}
	for i, n := range list {
		if count[n] > 1 {
			list[i] = strconv.Itoa(count[n]) + " " + n
		}
	}
	return strings.Join(list, ", ")
}

func readText(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrPermission) {
		return "", notMeasured("%s is readable by root only: run as root, or grant read on it: %w", path, fs.ErrPermission)
	}
	if err != nil {
		return "", notMeasured("%w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

func readCounter(path string) (uint64, error) {
	s, err := readText(path)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, notMeasured("%s: %w", path, err)
	}
	return v, nil
}
