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

	"golang.org/x/sys/unix"
)

// limitIO bounds what goes to the devices beneath places, each device alone.
func (g *groups) limitIO(places []*os.File) error {
	disks, err := disksBeneath(places)
	if err != nil {
		return err
	}
	l := g.limits
	if g.isTwo(controlIO) {
		for _, d := range disks {
			text := d
			for name, n := range map[string]uint64{"riops": l.ReadIOPS, "wiops": l.WriteIOPS, "rbps": l.ReadBPS, "wbps": l.WriteBPS} {
				if n > 0 {
					text += " " + name + "=" + strconv.FormatUint(n, 10)
				}
			}
			if err := g.write(controlIO, "io.max", text); err != nil {
				return err
			}
		}
		return nil
	}
	for _, d := range disks {
		for name, n := range map[string]uint64{"read_iops": l.ReadIOPS, "write_iops": l.WriteIOPS, "read_bps": l.ReadBPS, "write_bps": l.WriteBPS} {
			if n == 0 {
				continue
			}
			if err := g.write(controlIO, "blkio.throttle."+name+"_device", d+" "+strconv.FormatUint(n, 10)); err != nil {
				return err
			}
		}
	}
	return nil
}

// disksBeneath are the numbers of the whole disks that files lie on, each once.
func disksBeneath(places []*os.File) (list []string, err error) {
	for _, f := range places {
		devices, err := deviceOf(f)
		if err != nil {
			return nil, err
		}
		for _, d := range devices {
			d = wholeDisk(d)
			if !slices.Contains(list, d) {
				list = append(list, d)
			}
		}
	}
	return list, nil
}

// deviceOf is the device that a file lies on, as major:minor; none if it lies in
// memory.
func deviceOf(f *os.File) ([]string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, os.NewSyscallError("fstat", err)
	}
	dev := uint64(st.Dev)
	if unix.Major(dev) != 0 {
		return []string{deviceName(dev)}, nil
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return nil, os.NewSyscallError("fstatfs", err)
	}
	if slices.Contains([]int64{unix.TMPFS_MAGIC, unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.RAMFS_MAGIC, devptsMagic}, int64(fs.Type)) {
		return nil, nil
	}
	return behind(deviceName(dev), f.Name())
}

const devptsMagic = 0x1cd1

func deviceName(dev uint64) string { return fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev)) }

// behind finds the devices of a filesystem that has no number of its own among
// them, by what is mounted: a volume manager's, or the layers of another one.
func behind(dev, name string) ([]string, error) {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(info)) {
		before, after, _ := strings.Cut(line, " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if len(fields) < 3 || fields[2] != dev || len(rest) < 3 {
			continue
		}
		if strings.HasPrefix(rest[1], "/dev/") {
			var st unix.Stat_t
			if err := unix.Stat(rest[1], &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFBLK {
				return []string{deviceName(uint64(st.Rdev))}, nil
			}
		}
		if rest[0] == "overlay" {
			return layers(rest[2])
		}
	}
	return nil, fmt.Errorf("%s: its filesystem doesn't say which device it is on, so what goes there can't be bounded; grant what is on a disk", name)
}

// layers are the devices that an overlay's layers are on.
func layers(options string) (list []string, err error) {
	for option := range strings.SplitSeq(options, ",") {
		name, value, _ := strings.Cut(option, "=")
		if name != "upperdir" && name != "lowerdir" {
			continue
		}
		for dir := range strings.SplitSeq(value, ":") {
			f, err := os.Open(dir)
			if err != nil {
				return nil, fmt.Errorf("a layer isn't in this process's view: %w", err)
			}
			devices, err := deviceOf(f)
			f.Close()
			if err != nil {
				return nil, err
			}
			list = append(list, devices...)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("an overlay without layers")
	}
	return list, nil
}

// wholeDisk is the disk that a partition is of: only disks can be bounded.
func wholeDisk(dev string) string {
	link := "/sys/dev/block/" + dev
	if _, err := os.Stat(link + "/partition"); err != nil {
		return dev
	}
	target, err := os.Readlink(link)
	if err != nil {
		return dev
	}
	b, err := os.ReadFile(path.Join("/sys/dev/block", path.Dir(target), "dev"))
	if err != nil {
		return dev
	}
	return strings.TrimSpace(string(b))
}
