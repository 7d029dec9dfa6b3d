//go:build amd64 || arm64

package cell

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"
)

// usage reads what the groups have counted.
func (g *groups) usage() (u Usage, err error) {
	cpu, err := g.time()
	u.CPU = cpu
	for _, n := range []struct {
		controller string
		files      []string
		to         *uint64
	}{
		{controlMemory, []string{"memory.peak", "memory.memsw.max_usage_in_bytes", "memory.max_usage_in_bytes", "memory.current"}, &u.Memory},
		{controlPIDs, []string{"pids.current"}, &u.Processes},
	} {
		if g.has[n.controller] != "" {
			var e error
			*n.to, e = g.number(n.controller, n.files)
			err = errors.Join(err, e)
		}
	}
	u.Processes -= min(u.Processes, 1) // the unit's parent
	if most := g.limits.Memory; most > 0 {
		u.Memory = min(u.Memory, most) // a try that failed is counted too
	}
	if g.has[controlIO] != "" {
		err = errors.Join(err, g.io(&u))
	}
	return u, err
}

// number is what the first of the files that there is says.
func (g *groups) number(controller string, files []string) (uint64, error) {
	for _, f := range files {
		b, err := os.ReadFile(g.has[controller] + "/" + f)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		return strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	}
	return 0, nil
}

func (g *groups) time() (time.Duration, error) {
	if !g.isTwo(controlTime) {
		n, err := g.number(controlTime, []string{"cpuacct.usage"})
		return time.Duration(n), err
	}
	b, err := os.ReadFile(g.two + "/cpu.stat")
	return time.Duration(field(string(b), "usage_usec")) * time.Microsecond, err
}

// field is a number of a file of names and numbers.
func field(text, name string) (n uint64) {
	for line := range strings.Lines(text) {
		if k, v, _ := strings.Cut(strings.TrimSpace(line), " "); k == name {
			n, _ = strconv.ParseUint(v, 10, 64)
		}
	}
	return n
}

// io adds up what went to devices.
func (g *groups) io(u *Usage) error {
	if g.isTwo(controlIO) {
		b, err := os.ReadFile(g.two + "/io.stat")
		parts := map[string]*uint64{"rbytes": &u.ReadBytes, "wbytes": &u.WriteBytes, "rios": &u.Reads, "wios": &u.Writes}
		for word := range strings.FieldsSeq(string(b)) {
			k, v, _ := strings.Cut(word, "=")
			if to := parts[k]; to != nil {
				n, _ := strconv.ParseUint(v, 10, 64)
				*to += n
			}
		}
		return err
	}
	for file, to := range map[string]map[string]*uint64{
		"blkio.throttle.io_serviced":      {"Read": &u.Reads, "Write": &u.Writes},
		"blkio.throttle.io_service_bytes": {"Read": &u.ReadBytes, "Write": &u.WriteBytes},
	} {
		b, err := os.ReadFile(g.has[controlIO] + "/" + file)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(b)) {
			words := strings.Fields(line)
			if len(words) != 3 || to[words[1]] == nil {
				continue
			}
			n, _ := strconv.ParseUint(words[2], 10, 64)
			*to[words[1]] += n
		}
	}
	return nil
}

// final is the usage in the end, and whether memory ran out.
func (g *groups) final() (Usage, bool, error) {
	u, err := g.usage()
	u.Processes = 0
	if g.has[controlMemory] == "" {
		return u, false, err
	}
	file := "memory.oom_control"
	if g.isTwo(controlMemory) {
		file = "memory.events"
	}
	b, e := os.ReadFile(g.has[controlMemory] + "/" + file)
	return u, field(string(b), "oom_kill") > 0 || g.oom.fired(), errors.Join(err, e)
}
