package partition

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/jail"
)

// view is the files that the partition sees.
type view struct {
	order *order
	kept  []jail.Place
}

// hostParts are what a host's own file system shows: programs and their libraries.
var hostParts = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// hostSettings are the parts of /etc that programs need and that are no secret.
var hostSettings = []string{
	"alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "debian_version", "fonts", "java", "java-17-openjdk",
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "magic", "mime.types", "perl", "pki", "protocols", "python3", "python3.11", "python3.12",
	"python3.13", "services", "ssl", "terminfo", "vim", "xml", "os-release", "inputrc", "bash_completion.d", "postgresql-common", "npmrc.d",
}

// written are settings that are the same everywhere (§7.5).
func (v *view) written() map[string]string {
	id := fmt.Sprintf("%d:%d", v.order.UID, v.order.GID)
	return map[string]string{
		"passwd":        fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\nunit:x:%s:unit:%s:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n", id, Home),
		"group":         fmt.Sprintf("root:x:0:\nunit:x:%d:\nnogroup:x:65534:\n", v.order.GID),
		"hosts":         "127.0.0.1 localhost unit\n::1 localhost\n",
		"hostname":      "unit\n",
		"host.conf":     "multi on\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
		"resolv.conf":   "",
		"machine-id":    "",
	}
}

// Where the view is built, and where the old root lies meanwhile.
const (
	newRoot = "/new"
	oldRoot = "/old"
)

// build makes the view and makes it the root.
func (v *view) build() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := v.standAside(); err != nil {
		return err
	}
	for _, step := range []func(string) error{v.rootFiles, v.kernelFiles, v.devices, v.scratch, v.mounts, v.program} {
		if err := step(newRoot); err != nil {
			return err
		}
	}
	return v.pivot()
}

// standAside makes a root in memory, with the old one in a folder: what is handed
// over may lie anywhere, so nothing is mounted over the old root's files.
func (v *view) standAside() error {
	if err := unix.Mount("tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=16m"); err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	for _, p := range []string{newRoot, oldRoot} {
		if err := os.Mkdir("/tmp"+p, 0o755); err != nil {
			return err
		}
	}
	if err := unix.PivotRoot("/tmp", "/tmp"+oldRoot); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	return unix.Mount(newRoot, newRoot, "", unix.MS_BIND, "")
}

// pivot makes the view the root and lets go of the old ones.
func (v *view) pivot() error {
	if err := os.Chdir(newRoot); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("old root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if v.writableRoot() {
		return nil
	}
	return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "")
}

// writableRoot reports whether the root filesystem has a layer in memory that takes
// what is written to it.
func (v *view) writableRoot() bool { return v.order.Root != "" && !v.order.Sealed }

// rootFiles shows the root filesystem, read-only.
func (v *view) rootFiles(root string) error {
	if v.order.Root != "" {
		return v.treeFiles(root)
	}
	for _, p := range hostParts {
		if err := v.part(root, p); err != nil {
			return err
		}
	}
	etc := root + "/etc"
	if err := os.Mkdir(etc, 0o755); err != nil {
		return err
	}
	for _, name := range hostSettings {
		if err := v.part(root, "/etc/"+name); err != nil {
			return err
		}
	}
	for name, text := range v.written() {
		if err := os.WriteFile(filepath.Join(etc, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// part shows one path of the host, if there is one, a link as a link.
func (v *view) part(root, p string) error {
	info, err := os.Lstat(oldRoot + p)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		to, err := os.Readlink(oldRoot + p)
		if err != nil {
			return err
		}
		return os.Symlink(to, root+p)
	}
	return v.bind(oldRoot+p, root+p, info.IsDir(), Mount{Read: true})
}

// treeFiles shows an unpacked tree, beneath a layer in memory. Where hashes bind
// there is none: what can be written must not be run.
func (v *view) treeFiles(root string) error {
	tree := oldRoot + v.order.Root
	if v.order.Sealed {
		return v.bind(tree, root, true, Mount{Read: true})
	}
	layer := "/layer"
	if err := v.memoryFolder(layer); err != nil {
		return err
	}
	for _, p := range []string{"/upper", "/work"} {
		if err := os.Mkdir(layer+p, 0o755); err != nil {
			return err
		}
	}
	options := "userxattr,lowerdir=" + escapeOption(tree) + ",upperdir=" + layer + "/upper,workdir=" + layer + "/work"
	if err := unix.Mount("overlay", root, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	return nil
}

// escapeOption writes a path as overlay's options want it.
func escapeOption(p string) string {
	return strings.NewReplacer(`\`, `\\`, ",", `\,`, ":", `\:`).Replace(p)
}

// bind shows a source at a target, which is made first.
func (v *view) bind(source, target string, dir bool, m Mount) error {
	if err := makeTarget(target, dir); err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("show %s: %w", source, err)
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV, Propagation: unix.MS_PRIVATE}
	if !m.Write && !m.Delete {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if v.order.Sealed && (m.Write || m.Delete) {
		attr.Attr_set |= unix.MOUNT_ATTR_NOEXEC
	}
	if err := unix.MountSetattr(-1, target, unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW, attr); err != nil {
		return fmt.Errorf("bound %s: %w", source, err)
	}
	return nil
}

// makeTarget makes what a mount lies on. Where it can't be made it would have to be
// made in what is shown, which is someone else's.
func makeTarget(target string, dir bool) error {
	if info, err := os.Lstat(target); err == nil {
		if info.IsDir() != dir {
			return errors.New("a file lies where a folder is to be shown, or a folder where a file is")
		}
		return nil
	}
	if dir {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// maskedFiles are what the kernel shows of the machine that no unit needs, or that
// tells one host from another (§7.5).
var (
	maskedFiles   = []string{"kcore", "keys", "key-users", "sysrq-trigger", "timer_list", "sched_debug", "kallsyms", "kmsg", "interrupts", "softirqs", "diskstats", "partitions", "modules", "iomem", "ioports", "devices", "kpagecount", "kpageflags", "kpagecgroup", "config.gz", "cmdline", "version_signature", "mtrr", "vmallocinfo", "slabinfo", "zoneinfo", "buddyinfo", "schedstat", "latency_stats"}
	maskedFolders = []string{"acpi", "asound", "bus", "driver", "fs", "irq", "scsi", "tty", "dynamic_debug", "pressure", "mpt"}
)

// kernelFiles shows the partition's own processes, and of the machine what programs
// need.
func (v *view) kernelFiles(root string) error {
	proc := root + "/proc"
	if err := os.MkdirAll(proc, 0o555); err != nil {
		return err
	}
	if err := unix.Mount("proc", proc, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "hidepid=4"); err != nil {
		return fmt.Errorf("proc: %w", err)
	}
	for _, name := range maskedFiles {
		at := filepath.Join(proc, name)
		if _, err := os.Lstat(at); err != nil {
			continue
		}
		if err := unix.Mount(oldRoot+"/dev/null", at, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mask %s: %w", name, err)
		}
	}
	for _, name := range maskedFolders {
		at := filepath.Join(proc, name)
		if _, err := os.Lstat(at); err != nil {
			continue
		}
		if err := unix.Mount("tmpfs", at, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=0,mode=0555"); err != nil {
			return fmt.Errorf("mask %s: %w", name, err)
		}
	}
	sys := filepath.Join(proc, "sys")
	if err := unix.Mount(sys, sys, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.Mount("", sys, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// deviceFiles are those that hold nothing of this host's.
var deviceFiles = []string{"null", "zero", "full", "random", "urandom"}

func (v *view) devices(root string) error {
	dev := root + "/dev"
	if err := os.MkdirAll(dev, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", dev, "tmpfs", unix.MS_NOSUID, "mode=0755,size=64k"); err != nil {
		return fmt.Errorf("devices: %w", err)
	}
	for _, name := range deviceFiles {
		if err := makeTarget(dev+"/"+name, false); err != nil {
			return err
		}
		if err := unix.Mount(oldRoot+"/dev/"+name, dev+"/"+name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("device %s: %w", name, err)
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(to, dev+"/"+name); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dev+"/pts", 0o755); err != nil {
		return err
	}
	if err := unix.Mount("devpts", dev+"/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return fmt.Errorf("terminals: %w", err)
	}
	if err := makeTarget(dev+"/tty", false); err != nil {
		return err
	}
	if err := unix.Mount(oldRoot+"/dev/tty", dev+"/tty", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("device tty: %w", err)
	}
	return v.memoryFolder(dev + "/shm")
}

// scratch are folders in memory, within the partition's cap.
var scratchFolders = []string{"/tmp", "/run", "/var/tmp", Home}

func (v *view) scratch(root string) error {
	for _, p := range scratchFolders {
		if err := v.memoryFolder(root + p); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) memoryFolder(at string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	if v.order.Sealed {
		flags |= unix.MS_NOEXEC
	}
	options := "mode=1777"
	if v.order.Memory > 0 {
		options += fmt.Sprintf(",size=%d", v.order.Memory)
	}
	if err := unix.Mount("tmpfs", at, "tmpfs", flags, options); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

// mounts shows what was handed over, outer before inner, and covers what no mount
// is to show.
func (v *view) mounts(root string) error {
	list := slices.Clone(v.order.Mounts)
	slices.SortFunc(list, func(a, b Mount) int { return strings.Compare(a.Target, b.Target) })
	for i, m := range list {
		for _, own := range []string{"/proc", "/dev"} {
			if m.Target == own || beneath(own, m.Target) {
				return fmt.Errorf("mount at %s: it lies in %s, which is the partition's own", m.Target, own)
			}
		}
		if err := v.mount(root, m, list[:i]); err != nil {
			return fmt.Errorf("mount at %s: %w", m.Target, err)
		}
	}
	for _, p := range v.order.Covered {
		info, err := os.Lstat(root + p)
		if err != nil {
			continue // no mount shows it
		}
		if err := cover(root+p, info.IsDir()); err != nil {
			return fmt.Errorf("cover %s: %w", p, err)
		}
	}
	return nil
}

// mount shows one thing that was handed over, if it still is what was looked at.
func (v *view) mount(root string, m Mount, outer []Mount) error {
	source := oldRoot + m.Source
	info, err := os.Lstat(source)
	if err != nil {
		return err
	}
	target := root + m.Target
	for _, o := range outer {
		if _, err := os.Lstat(target); err != nil && beneath(o.Target, m.Target) {
			return fmt.Errorf("it isn't there in what %s shows, and nothing is made in that", o.Target)
		}
	}
	if err := v.bind(source, target, info.IsDir(), m); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(target, &st); err != nil {
		return err
	}
	if st.Dev != m.Dev || st.Ino != m.Ino {
		return fmt.Errorf("%s is another file now than when it was looked at", m.Source)
	}
	return nil
}

// program shows the program's file where it is executed from, unless it lies in what
// is shown anyway.
func (v *view) program(root string) error {
	file := v.order.ProgramFile
	if file == "" {
		return nil
	}
	shown := slices.Clone(v.order.Mounts)
	for _, p := range hostParts {
		shown = append(shown, Mount{Source: p, Target: p})
	}
	for _, m := range shown {
		if m.Source == m.Target && (beneath(m.Source, file) || m.Source == file) {
			return nil
		}
	}
	for _, m := range v.order.Mounts {
		if _, err := os.Lstat(root + v.order.Path); err != nil && beneath(m.Target, v.order.Path) {
			return fmt.Errorf("program: %s isn't there in what %s shows", v.order.Path, m.Target)
		}
	}
	return v.bind(oldRoot+file, root+v.order.Path, false, Mount{Read: true})
}

func beneath(dir, p string) bool { return strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/") }

func cover(at string, dir bool) error {
	if dir {
		return unix.Mount("tmpfs", at, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=0,mode=0555")
	}
	return unix.Mount(oldRoot+"/dev/null", at, "", unix.MS_BIND, "")
}

// places are the rights to the view, from within it.
func (v *view) places() []jail.Place {
	const look = jail.ReadRight | jail.ExecuteRight
	const own = jail.ReadRight | jail.WriteRight | jail.DeleteRight
	places := []jail.Place{{Path: "/proc", Rights: jail.ReadRight | jail.WriteRight}, {Path: "/dev", Rights: own | jail.DeviceRight}}
	places = append(places, v.rootPlaces(look, own|look)...)
	for _, p := range v.order.ownFolders() {
		rights := own
		if !v.order.Sealed {
			rights |= jail.ExecuteRight
		}
		places = append(places, jail.Place{Path: p, Rights: rights})
	}
	for _, m := range v.order.Mounts {
		places = append(places, jail.Place{Path: m.Target, Rights: m.rights(v.order.Sealed)})
	}
	return places
}

// ownFolders are the folders in memory that are the program's to use. A rule for a
// folder reaches into what is mounted beneath it, so one with a granted path in it
// is not among them.
func (o *order) ownFolders() []string {
	return slices.DeleteFunc(slices.Clone(scratchFolders), func(p string) bool {
		return slices.ContainsFunc(o.Mounts, func(m Mount) bool { return m.Target == p || beneath(p, m.Target) })
	})
}

// rootPlaces are the rights to the root filesystem. A rule for the root reaches into
// every mount, so where one can't be read there is a rule for each of its folders.
func (v *view) rootPlaces(look, own jail.Rights) (places []jail.Place) {
	if v.writableRoot() {
		look = own
	}
	if !slices.ContainsFunc(v.order.Mounts, func(m Mount) bool { return !m.Read || look == own }) {
		return []jail.Place{{Path: "/", Rights: look}}
	}
	tops := map[string]bool{"proc": true, "dev": true}
	for _, m := range v.order.Mounts {
		tops[strings.Split(m.Target, "/")[1]] = true
	}
	entries, _ := os.ReadDir("/")
	for _, e := range entries {
		if !tops[e.Name()] {
			places = append(places, jail.Place{Path: "/" + e.Name(), Rights: look})
		}
	}
	return places
}

func (m Mount) rights(sealed bool) (r jail.Rights) {
	if m.Read {
		r |= jail.ReadRight
		if !sealed || !m.Write && !m.Delete {
			r |= jail.ExecuteRight
		}
	}
	if m.Write {
		r |= jail.WriteRight
	}
	if m.Delete {
		r |= jail.DeleteRight
	}
	return r
}

// loopbackUp lets the partition talk to itself.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}
