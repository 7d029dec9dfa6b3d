//go:build amd64 || arm64

package cell

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// hierarchy is one tree of control groups. In version 1 there are several, each
// with controllers of its own; in version 2 there is one.
type hierarchy struct {
	at          string // where it is mounted
	root        string // which group that is
	two         bool
	controllers []string // version 1
}

// hierarchies are those that are mounted, the second version's first.
var hierarchies = sync.OnceValues(func() ([]hierarchy, error) {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseHierarchies(info)
})

func parseHierarchies(info []byte) (list []hierarchy, err error) {
	for line := range bytes.Lines(info) {
		before, after, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 6 || len(kind) < 1 {
			return nil, fmt.Errorf("mountinfo: got %q, want a mount", line)
		}
		h := hierarchy{root: fields[3], at: fields[4]}
		switch kind[0] {
		case "cgroup2":
			h.two = true
			list = slices.Insert(list, 0, h)
		case "cgroup":
			h.controllers = strings.Split(kind[len(kind)-1], ",")
			list = append(list, h)
		}
	}
	return list, nil
}

// ownPaths are the groups that this process is in: by controllers, and the empty
// name for version 2.
func ownPaths() (map[string]string, error) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	list := map[string]string{}
	for line := range bytes.Lines(b) {
		parts := strings.SplitN(strings.TrimSuffix(string(line), "\n"), ":", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("/proc/self/cgroup: got %q, want number:controllers:path", line)
		}
		for _, c := range strings.Split(parts[1], ",") {
			list[c] = parts[2]
		}
	}
	return list, nil
}

// own is this process's group in the hierarchy, as a path.
func (h hierarchy) own(paths map[string]string) (string, error) {
	name := ""
	if !h.two {
		name = h.controllers[len(h.controllers)-1]
	}
	p, ok := paths[name]
	if !ok {
		return "", fmt.Errorf("this process is in no group of %s", h.at)
	}
	rest, ok := strings.CutPrefix(p, strings.TrimSuffix(h.root, "/"))
	if !ok {
		return "", fmt.Errorf("this process's group %s isn't beneath %s, which is what is mounted at %s", p, h.root, h.at)
	}
	return path.Join(h.at, rest), nil
}

// supervisorGroup is where this process goes when it is in the group that cells
// are to be made in: version 2 doesn't divide a group that has processes.
const supervisorGroup = "joulebox.supervisor"

// divisible is the group of version 2 that cells are made in, with what it can
// give them. What isn't enabled yet is.
func (h hierarchy) divisible(paths map[string]string, wanted []string) (base string, given []string, err error) {
	base, err = h.own(paths)
	if err != nil {
		return "", nil, err
	}
	if path.Base(base) == supervisorGroup {
		base = path.Dir(base)
	}
	b, err := os.ReadFile(base + "/cgroup.controllers")
	if err != nil {
		return "", nil, err
	}
	have := strings.Fields(string(b))
	var enable []string
	for _, c := range wanted {
		if slices.Contains(have, c) {
			given = append(given, c)
			enable = append(enable, "+"+c)
		}
	}
	if len(enable) == 0 {
		return base, nil, nil
	}
	b, err = os.ReadFile(base + "/cgroup.subtree_control")
	if err != nil {
		return "", nil, err
	}
	if enabled := strings.Fields(string(b)); !slices.ContainsFunc(given, func(c string) bool { return !slices.Contains(enabled, c) }) {
		return base, given, nil
	}
	order := strings.Join(enable, " ")
	err = writeFile(base+"/cgroup.subtree_control", order)
	if errors.Is(err, unix.EBUSY) {
		if err = stepAside(base); err == nil {
			err = writeFile(base+"/cgroup.subtree_control", order)
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("%w; run joulebox in a group of its own, with systemd-run --user --scope -p Delegate=yes, say", err)
	}
	return base, given, nil
}

// stepAside moves this process out of the group that is to be divided.
func stepAside(base string) error {
	aside := base + "/" + supervisorGroup
	if err := os.Mkdir(aside, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return writeFile(aside+"/cgroup.procs", "0")
}

func writeFile(name, text string) error {
	fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(text)); err != nil {
		return &os.PathError{Op: "write " + text + " to", Path: name, Err: err}
	}
	return nil
}
