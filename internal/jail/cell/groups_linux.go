//go:build amd64 || arm64

package cell

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// The controllers, by their names in version 1.
const (
	controlCPU    = "cpu"
	controlTime   = "cpuacct" // every group of version 2 counts time
	controlMemory = "memory"
	controlPIDs   = "pids"
	controlIO     = "blkio" // "io" in version 2
	controlDevice = "devices"
)

// groups are a cell's control groups.
type groups struct {
	limits Limits
	two    string            // the group of version 2, or empty
	has    map[string]string // controllers to the directory that they are in
	made   []string          // directories, in the order of making
	// join are files by which the first process's thread goes where the unit is to be
	// born. What it built before the supervisor has asked for and pays for. To move a
	// thread that is one's own is cheap; to move another process stops all others.
	join []*os.File
	oom  *oomWatch
}

var cellNumber atomic.Uint64

// newGroups makes a cell's groups, with no limits yet.
func newGroups(l Limits) (g *groups, err error) {
	g = &groups{limits: l, has: map[string]string{}}
	paths, err := ownPaths()
	if err != nil {
		return nil, need(nameTime, err)
	}
	list, err := hierarchies()
	if err != nil {
		return nil, need(nameTime, err)
	}
	name := groupName(cellNumber.Add(1))
	for _, h := range list {
		if err == nil {
			err = g.make(h, paths, name)
		}
	}
	if err == nil {
		err = g.complete()
	}
	if err != nil {
		return nil, errors.Join(err, g.remove())
	}
	return g, nil
}

// wanted are the controllers that a cell needs, and what is missing without them.
func (g *groups) wanted() map[string]string {
	w := map[string]string{controlTime: nameTime}
	if g.limits.Memory > 0 {
		w[controlMemory] = nameMemory
	}
	if g.limits.Processes > 0 {
		w[controlPIDs] = nameProcesses
	}
	if g.limits.CPUs > 0 || g.limits.CPUWeight > 0 {
		w[controlCPU] = nameCPU
	}
	if g.limits.io() {
		w[controlIO] = nameIO
	}
	return w
}

// make makes the groups in one hierarchy.
func (g *groups) make(h hierarchy, paths map[string]string, name string) error {
	if h.two {
		return g.makeTwo(h, paths, name)
	}
	var ours []string
	for _, c := range []string{controlCPU, controlTime, controlMemory, controlPIDs, controlIO} {
		if slices.Contains(h.controllers, c) && g.has[c] == "" && (c != controlTime || g.two == "") {
			ours = append(ours, c)
		}
	}
	if len(ours) == 0 {
		return nil
	}
	base, err := h.own(paths)
	if err != nil {
		return nil // another hierarchy may have it
	}
	sweepOnce(base)
	dir := path.Join(base, name)
	if err := g.mkdir(dir); err != nil {
		w := g.wanted()
		for _, c := range ours {
			if m := w[c]; m != "" {
				return need(m, adviseOne(err))
			}
		}
		return nil
	}
	for _, c := range ours {
		g.has[c] = dir
	}
	return g.joinLater(dir + "/tasks")
}

func adviseOne(err error) error {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w; an ordinary user needs a control group that is theirs and that joulebox is started in", err)
	}
	return err
}

func (g *groups) joinLater(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return need(nameProcesses, err)
	}
	g.join = append(g.join, f)
	return nil
}

// twoNames are version 2's names.
var twoNames = map[string]string{controlCPU: "cpu", controlMemory: "memory", controlPIDs: "pids", controlIO: "io"}

func (g *groups) makeTwo(h hierarchy, paths map[string]string, name string) error {
	var names []string
	for _, n := range twoNames {
		names = append(names, n)
	}
	base, given, err := h.divisible(paths, names)
	if err != nil || len(given) == 0 && !twoOnly {
		return nil // then version 1 may have it
	}
	sweepOnce(base)
	dir := path.Join(base, name)
	if err := g.mkdir(dir); err != nil {
		return nil
	}
	g.two, g.has[controlTime] = dir, dir
	for one, two := range twoNames {
		if slices.Contains(given, two) {
			g.has[one] = dir
		}
	}
	if g.has[controlPIDs] != "" {
		return g.makeThreaded(dir)
	}
	return nil
}

// twoOnly is for tests: version 2 is used even where it can only count.
var twoOnly bool

// makeThreaded makes a group within a cell's for the unit's processes alone, which
// the thread that starts them can go to without the rest of the first process.
func (g *groups) makeThreaded(dir string) error {
	unit := dir + "/unit"
	if err := g.mkdir(unit); err != nil {
		return need(nameProcesses, err)
	}
	if err := errors.Join(writeFile(unit+"/cgroup.type", "threaded"), writeFile(dir+"/cgroup.subtree_control", "+pids")); err != nil {
		return need(nameProcesses, err)
	}
	g.has[controlPIDs] = unit
	return g.joinLater(unit + "/cgroup.threads")
}

func (g *groups) mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	g.made = append(g.made, dir)
	return nil
}

var errNoController = errors.New("no control group of this process has it; the kernel must have the controller and its hierarchy must be mounted and writable")

// complete says what is wanted and isn't there.
func (g *groups) complete() error {
	for c, mechanism := range g.wanted() {
		if g.has[c] == "" {
			return need(mechanism, fmt.Errorf("controller %s: %w", c, errNoController))
		}
	}
	return nil
}

// open opens the group of version 2 that the first process is born into, if there
// is one.
func (g *groups) open() (*os.File, error) {
	if g.two == "" {
		return nil, nil
	}
	return os.OpenFile(g.two, unix.O_PATH|unix.O_DIRECTORY, 0)
}

// remove takes the groups away. The kernel needs a moment to let go of who has just
// ended.
func (g *groups) remove() (err error) {
	g.oom.close()
	for _, f := range g.join {
		f.Close()
	}
	for _, dir := range slices.Backward(g.made) {
		for tries := 0; ; tries++ {
			e := unix.Rmdir(dir)
			if errors.Is(e, unix.EBUSY) && tries < 200 {
				time.Sleep(time.Duration(tries+1) * 100 * time.Microsecond)
				continue
			}
			if e != nil && !errors.Is(e, unix.ENOENT) {
				err = errors.Join(err, &os.PathError{Op: "rmdir", Path: dir, Err: fmt.Errorf("%w: %s", e, occupants(dir))})
			}
			break
		}
	}
	g.made = nil
	return err
}

func groupName(n uint64) string {
	return groupPrefix + strconv.Itoa(os.Getpid()) + "." + ownStart() + "." + strconv.FormatUint(n, 10)
}

// occupants says what keeps a group from being removed.
func occupants(dir string) string {
	b, _ := os.ReadFile(dir + "/tasks")
	if len(b) == 0 {
		b, _ = os.ReadFile(dir + "/cgroup.procs")
	}
	list := "there are"
	for pid := range strings.FieldsSeq(string(b)) {
		status, _ := os.ReadFile("/proc/" + pid + "/status")
		list += " " + pid + " " + statusLine("\n"+string(status), "Name") + " of " + statusLine(string(status), "Tgid") + " " + statusLine(string(status), "State") + ","
	}
	return strings.TrimSuffix(list, ",")
}
