package partition

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// share is the partition's control groups: one folder in version 2, one for each
// controller in version 1.
type share struct {
	unified string            // of version 2; empty in version 1
	at      map[string]string // folder by controller, in version 1
	folders []string          // to remove
	own     groups            // where they were made
}

// controllers are those that a partition can't do without.
var controllers = []string{"memory", "cpu", "cpuacct", "pids", "blkio"}

var shares atomic.Uint64

func shareName() string {
	return fmt.Sprintf("joulebox-%d-%d", os.Getpid(), shares.Add(1))
}

// newShare makes the groups.
func newShare() (s *share, err error) {
	own, err := ownGroups()
	if err != nil {
		return nil, err
	}
	s = &share{at: map[string]string{}, own: own}
	defer func() {
		if err != nil {
			s.remove()
		}
	}()
	name := shareName()
	if own.unified != "" {
		s.unified = filepath.Join(own.unified, name)
		return s, s.make(s.unified)
	}
	for _, c := range controllers {
		s.at[c] = filepath.Join(own.at[c], name)
		if err := s.make(s.at[c]); err != nil {
			return s, err
		}
	}
	return s, nil
}

var swept sync.Once

// sweep removes what a process that was killed has left: its partitions have ended
// with it, their empty groups haven't.
func (g groups) sweep() {
	folders := []string{g.unified}
	for _, c := range controllers {
		folders = append(folders, g.at[c])
	}
	for _, f := range folders {
		if f == "" {
			continue
		}
		left, _ := filepath.Glob(filepath.Join(f, "joulebox-*-*"))
		for _, l := range left {
			var pid, n int
			if _, err := fmt.Sscanf(filepath.Base(l), "joulebox-%d-%d", &pid, &n); err != nil || unix.Kill(pid, 0) != unix.ESRCH {
				continue
			}
			_ = os.Remove(l) // one that isn't empty stays
		}
	}
}

func (s *share) make(folder string) error {
	if contains(s.folders, folder) {
		return nil // two controllers in one hierarchy
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return &MissingError{"control groups", err, "delegate a control group to this user (systemd-run --user --scope -p Delegate=yes), or run as root"}
	}
	s.folders = append(s.folders, folder)
	return nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// groups are where this process is.
type groups struct {
	unified string
	at      map[string]string
}

// ownGroups finds this process's groups. Version 2 is taken where it has all that
// is needed.
func ownGroups() (g groups, err error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return g, &MissingError{"control groups", err, "mount /proc"}
	}
	mounts, err := groupMounts()
	if err != nil {
		return g, err
	}
	g.at = map[string]string{}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[1] == "" && mounts[""] != "" {
			if folder := filepath.Join(mounts[""], parts[2]); unifiedHas(folder) {
				g.unified = folder
				return g, nil
			}
			continue
		}
		for _, c := range strings.Split(parts[1], ",") {
			if mounts[c] != "" {
				g.at[c] = existing(mounts[c], parts[2])
			}
		}
	}
	for _, c := range controllers {
		if g.at[c] == "" {
			return g, &MissingError{"control groups", fmt.Errorf("there is no %s controller", c),
				"mount the control groups, or have the container's own delegated to it"}
		}
	}
	return g, nil
}

// existing is the folder of a group, or the nearest above that can be seen here.
func existing(mount, path string) string {
	for ; path != "/" && path != "."; path = filepath.Dir(path) {
		if _, err := os.Stat(filepath.Join(mount, path)); err == nil {
			return filepath.Join(mount, path)
		}
	}
	return mount
}

// unifiedHas reports whether the controllers can be handed to a group beneath.
func unifiedHas(folder string) bool {
	text, err := os.ReadFile(filepath.Join(folder, "cgroup.subtree_control"))
	if err != nil {
		return false
	}
	have := strings.Fields(string(text))
	for _, c := range []string{"memory", "cpu", "pids", "io"} {
		if !contains(have, c) {
			return false
		}
	}
	return true
}

// groupMounts finds where each controller is mounted; "" is version 2.
func groupMounts() (map[string]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, &MissingError{"control groups", err, "mount /proc"}
	}
	at := map[string]string{}
	for line := range strings.Lines(string(text)) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		switch r[0] {
		case "cgroup2":
			at[""] = l[4]
		case "cgroup":
			for _, c := range strings.Split(r[2], ",") {
				at[c] = l[4]
			}
		}
	}
	return at, nil
}

// set writes a value; the controller's file in version 1 and in version 2, of which
// the one that doesn't exist is "".
func (s *share) set(controller, v1, v2, value string) error {
	name := filepath.Join(s.at[controller], v1)
	if s.unified != "" {
		name = filepath.Join(s.unified, v2)
	}
	if err := os.WriteFile(name, []byte(value), 0); err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	return nil
}

// bound sets what holds from the start.
func (s *share) bound(l Limits, mounts []Mount) error {
	if l.Tasks > 0 {
		if err := s.set("pids", "pids.max", "pids.max", strconv.FormatUint(l.Tasks, 10)); err != nil {
			return err
		}
	}
	for _, d := range disksOf(mounts) {
		if err := s.throttle(d, l); err != nil {
			return err
		}
	}
	return nil
}

func (s *share) throttle(disk string, l Limits) error {
	if s.unified != "" {
		line := disk
		for _, v := range []struct {
			name string
			most uint64
		}{{"rbps", l.ReadBPS}, {"wbps", l.WriteBPS}, {"riops", l.IOPS}, {"wiops", l.IOPS}} {
			if v.most > 0 {
				line += fmt.Sprintf(" %s=%d", v.name, v.most)
			}
		}
		if line == disk {
			return nil
		}
		return s.set("io", "", "io.max", line)
	}
	for _, v := range []struct {
		name string
		most uint64
	}{{"read_bps", l.ReadBPS}, {"write_bps", l.WriteBPS}, {"read_iops", l.IOPS}, {"write_iops", l.IOPS}} {
		if v.most > 0 {
			if err := s.set("blkio", "blkio.throttle."+v.name+"_device", "", fmt.Sprintf("%s %d", disk, v.most)); err != nil {
				return err
			}
		}
	}
	return nil
}

// disksOf are the disks that the host's root and the mounts are on, as the kernel
// numbers them. A file system without a disk of its own is bounded by its makers.
func disksOf(mounts []Mount) (disks []string) {
	for _, p := range append([]Mount{{Source: "/usr"}}, mounts...) {
		var st unix.Stat_t
		if unix.Stat(p.Source, &st) != nil || unix.Major(st.Dev) == 0 {
			continue
		}
		if d := wholeDisk(st.Dev); !contains(disks, d) {
			disks = append(disks, d)
		}
	}
	return disks
}

// wholeDisk is the disk of a partition of one, which is what can be throttled.
func wholeDisk(dev uint64) string {
	name := fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev))
	folder, err := filepath.EvalSymlinks("/sys/dev/block/" + name)
	if err != nil {
		return name
	}
	if _, err := os.Stat(filepath.Join(folder, "partition")); err != nil {
		return name
	}
	whole, err := os.ReadFile(filepath.Join(filepath.Dir(folder), "dev"))
	if err != nil {
		return name
	}
	return strings.TrimSpace(string(whole))
}

// capMemory bounds memory at so much above what the first process uses already.
func (s *share) capMemory(most uint64) error {
	if most == 0 {
		return nil
	}
	used, err := s.number("memory", "memory.usage_in_bytes", "memory.current")
	if err != nil {
		return err
	}
	limit := strconv.FormatUint(used+most, 10)
	if err := s.set("memory", "memory.limit_in_bytes", "memory.max", limit); err != nil {
		return err
	}
	if s.unified != "" {
		return errors.Join(os.WriteFile(filepath.Join(s.unified, "memory.oom.group"), []byte("0"), 0), noSwap(s.set("memory", "", "memory.swap.max", "0")))
	}
	return noSwap(s.set("memory", "memory.memsw.limit_in_bytes", "", limit))
}

// noSwap forgives a host that has no accounting of swap: without swap there is
// nothing to account for.
func noSwap(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func (s *share) add(pid int) error {
	for _, f := range s.folders {
		if err := os.WriteFile(filepath.Join(f, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("control group: %w", err)
		}
	}
	return nil
}

func (s *share) number(controller, v1, v2 string) (uint64, error) {
	name := filepath.Join(s.at[controller], v1)
	if s.unified != "" {
		name = filepath.Join(s.unified, v2)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, fmt.Errorf("control group: %w", err)
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

// field reads "name value" lines.
func field(folder, file, name string) (uint64, error) {
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return 0, fmt.Errorf("control group: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok && k == name {
			return strconv.ParseUint(v, 10, 64)
		}
	}
	return 0, fmt.Errorf("control group: %s has no %s", file, name)
}

func (s *share) cpuTime() (time.Duration, error) {
	if s.unified != "" {
		us, err := field(s.unified, "cpu.stat", "usage_usec")
		return time.Duration(us) * time.Microsecond, err
	}
	ns, err := s.number("cpuacct", "cpuacct.usage", "")
	return time.Duration(ns), err
}

// killedForMemory is how many processes the kernel has ended for want of memory.
func (s *share) killedForMemory() (uint64, error) {
	if s.unified != "" {
		return field(s.unified, "memory.events", "oom_kill")
	}
	return field(s.at["memory"], "memory.oom_control", "oom_kill")
}

func (s *share) usage() (u Usage, err error) {
	if u.CPUTime, err = s.cpuTime(); err != nil {
		return u, err
	}
	u.PeakMemory, _ = s.number("memory", "memory.max_usage_in_bytes", "memory.peak") // older kernels have no peak
	if s.unified != "" {
		u.addUnified(filepath.Join(s.unified, "io.stat"))
	} else {
		u.addV1(filepath.Join(s.at["blkio"], "blkio.throttle.io_serviced"), &u.Reads, &u.Writes)
		u.addV1(filepath.Join(s.at["blkio"], "blkio.throttle.io_service_bytes"), &u.ReadBytes, &u.WrittenBytes)
	}
	return u, nil
}

func (u *Usage) addUnified(file string) {
	text, _ := os.ReadFile(file)
	for _, word := range strings.Fields(string(text)) {
		k, v, _ := strings.Cut(word, "=")
		n, _ := strconv.ParseUint(v, 10, 64)
		switch k {
		case "rbytes":
			u.ReadBytes += n
		case "wbytes":
			u.WrittenBytes += n
		case "rios":
			u.Reads += n
		case "wios":
			u.Writes += n
		}
	}
}

func (u *Usage) addV1(file string, reads, writes *uint64) {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue
		}
		n, _ := strconv.ParseUint(words[2], 10, 64)
		switch words[1] {
		case "Read":
			*reads += n
		case "Write":
			*writes += n
		}
	}
}

// remove removes the groups of a partition that has ended. What has just died can
// hold them for a moment.
func (s *share) remove() {
	for _, f := range s.folders {
		for wait := time.Millisecond; wait < time.Second; wait *= 2 {
			if err := os.Remove(f); err == nil || errors.Is(err, os.ErrNotExist) {
				break
			}
			time.Sleep(wait)
		}
	}
	swept.Do(s.own.sweep)
}

// processes counts them, threads not.
func (s *share) processes() (int, error) {
	text, err := os.ReadFile(filepath.Join(s.folders[0], "cgroup.procs"))
	return strings.Count(string(text), "\n"), err
}
