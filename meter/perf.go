package meter

import (
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PerfRoot is where Linux shows the energy events of its performance counters.
const PerfRoot = "/sys/bus/event_source/devices/power"

// PerfEvent names one event of a performance counter.
type PerfEvent struct {
	Type   uint32
	Config uint64
}

// PerfOpen opens an event on one CPU, for everything that runs there. What it
// returns reads the event's count.
type PerfOpen func(e PerfEvent, cpu int) (read func() (uint64, error), err error)

// perfEvents are the events that hold nothing of each other: cores and graphics
// are within pkg, and psys holds all.
var perfEvents = []struct {
	name, domain string
	watts        uint64
}{{"energy-pkg", "package", packageWatts}, {"energy-ram", "dram", memoryWatts}}

// Perf reads the package and memory events of the power counters below root. The
// kernel keeps 64 bits of each, so they don't wrap.
func Perf(root string, open PerfOpen) (Counter, error) {
	kind, err := readCounter(filepath.Join(root, "type"))
	if err != nil {
		return nil, err
	}
	mask, err := readText(filepath.Join(root, "cpumask"))
	if err != nil {
		return nil, err
	}
	cpus, err := cpuList(mask)
	if err != nil {
		return nil, err
	}
	p := &perf{}
	for _, e := range perfEvents {
		if _, err := os.Stat(filepath.Join(root, "events", e.name)); errors.Is(err, fs.ErrNotExist) && e.domain != "package" {
			continue
		}
		scale, config, err := perfEvent(root, e.name)
		if err != nil {
			return nil, err
		}
		for _, cpu := range cpus {
			read, err := open(PerfEvent{uint32(kind), config}, cpu)
			if errors.Is(err, fs.ErrPermission) {
				err = notMeasured("%s: as an ordinary user this needs CAP_PERFMON or kernel.perf_event_paranoid of 0 or less: %w", e.name, err)
			}
			if err != nil {
				return nil, notMeasured("%w", err)
			}
			p.domains = append(p.domains, Domain{Key: "power/" + e.name + " of cpu " + strconv.Itoa(cpu), Name: e.domain, Watts: e.watts})
			p.read, p.scale = append(p.read, read), append(p.scale, scale)
		}
	}
	return p, nil
}

// perfEvent reads what an event's counts are worth, in microjoules, and how it is
// named to the kernel.
func perfEvent(root, name string) (scale *big.Rat, config uint64, err error) {
	text := map[string]string{}
	for _, file := range []string{"", ".unit", ".scale"} {
		if text[file], err = readText(filepath.Join(root, "events", name+file)); err != nil {
			return nil, 0, err
		}
	}
	if text[".unit"] != "Joules" {
		return nil, 0, notMeasured("%s.unit: got %q, want Joules", name, text[".unit"])
	}
	code, found := strings.CutPrefix(text[""], "event=")
	config, err = strconv.ParseUint(code, 0, 64)
	if !found || err != nil {
		return nil, 0, notMeasured("%s: got %q, want event=NUMBER", name, text[""])
	}
	scale, ok := parseScale(text[".scale"])
	if !ok {
		return nil, 0, notMeasured("%s.scale: got %q, want a positive number", name, text[".scale"])
	}
	return scale.Mul(scale, big.NewRat(1_000_000, 1)), config, nil
}

// parseScale reads a decimal exactly. The bound of its length keeps an exponent
// from filling the memory.
func parseScale(s string) (*big.Rat, bool) {
	_, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	if len(s) > 64 || len(exponent) > 3 || strings.ContainsAny(s, "/_xXpPbBoO") {
		return nil, false
	}
	r, ok := new(big.Rat).SetString(s)
	return r, ok && r.Sign() > 0
}

// cpuList reads "0,28" and "0-3,8".
func cpuList(s string) (list []int, err error) {
	for _, part := range strings.Split(s, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		a, err := strconv.ParseUint(from, 10, 16)
		b, err2 := strconv.ParseUint(to, 10, 16)
		if err != nil || err2 != nil || b < a || len(list)+int(b-a) > 1024 {
			return nil, notMeasured("cpumask: got %q, want a list of CPUs", s)
		}
		for cpu := a; cpu <= b; cpu++ {
			list = append(list, int(cpu))
		}
	}
	return list, nil
}

type perf struct {
	domains []Domain
	read    []func() (uint64, error)
	scale   []*big.Rat
}

func (p *perf) Domains() []Domain { return p.domains }
func (p *perf) Name() string      { return "perf power (" + names(p.domains) + ")" }

func (p *perf) Read() ([]uint64, error) {
	values := make([]uint64, len(p.read))
	for i, read := range p.read {
		n, err := read()
		if err != nil {
			return nil, notMeasured("%s: %w", p.domains[i].Key, err)
		}
		uj := new(big.Int).SetUint64(n)
		uj.Quo(uj.Mul(uj, p.scale[i].Num()), p.scale[i].Denom())
		if !uj.IsUint64() {
			return nil, notMeasured("%s: %d counts are more than 64 bits of microjoules", p.domains[i].Key, n)
		}
		values[i] = uj.Uint64()
	}
	return values, nil
}
