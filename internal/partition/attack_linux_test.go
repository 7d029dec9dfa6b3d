package partition

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// attackName is the argv[0] by which a test binary in a partition knows that it is
// hostile.
const attackName = "attack"

// attacks are what a hostile program tries. Each gives nil when it succeeds.
var attacks = map[string]func(arg string) error{
	"mount": func(string) error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
	"remount the root": func(string) error {
		return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "")
	},
	"umount":                 func(string) error { return unix.Unmount("/proc/sys", unix.MNT_DETACH) },
	"a user namespace":       func(string) error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"a network namespace":    func(string) error { return unix.Unshare(unix.CLONE_NEWNET) },
	"the init's namespace":   func(string) error { return enter("/proc/1/ns/mnt") },
	"chroot":                 func(string) error { return unix.Chroot("/tmp") },
	"pivot_root":             func(string) error { return unix.PivotRoot("/tmp", "/tmp") },
	"trace init":             func(string) error { return unix.PtraceAttach(1) },
	"init's memory":          func(string) error { return open("/proc/1/mem", os.O_RDWR) },
	"init's environment":     func(string) error { return readSome("/proc/1/environ") },
	"init's program":         func(string) error { _, err := os.Readlink("/proc/1/exe"); return err },
	"init's root":            func(string) error { return open("/proc/1/root/etc/shadow", os.O_RDONLY) },
	"init's directory":       func(string) error { _, err := os.ReadDir("/proc/1/fd"); return err },
	"the host name":          func(string) error { return unix.Sethostname([]byte("x")) },
	"kernel settings":        func(string) error { return os.WriteFile("/proc/sys/kernel/hostname", []byte("x"), 0) },
	"core pattern":           func(string) error { return os.WriteFile("/proc/sys/kernel/core_pattern", []byte("|/x"), 0) },
	"sysrq":                  func(string) error { return os.WriteFile("/proc/sysrq-trigger", []byte("h"), 0) },
	"kernel memory":          func(string) error { return readSome("/proc/kcore") },
	"secrets of the host":    func(string) error { return open("/etc/shadow", os.O_RDONLY) },
	"the superuser's folder": func(string) error { _, err := os.ReadDir("/root"); return err },
	"energy counters":        func(string) error { _, err := os.ReadDir("/sys/class/powercap"); return err },
	"model registers":        func(string) error { return open("/dev/cpu/0/msr", os.O_RDONLY) },
	"disks":                  func(string) error { return unix.Mknod("/tmp/disk", unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0))) },
	"become the superuser":   func(string) error { return changed(syscall.Setuid(0)) },
	"another group":          func(string) error { return changed(syscall.Setgid(0)) },
	"a capability": func(string) error {
		return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_SYS_ADMIN, 0, 0)
	},
	"bpf":              func(string) error { return call(unix.SYS_BPF, 0, 0, 0) },
	"perf":             func(string) error { return call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0) },
	"keys":             func(string) error { return call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(0), 1) },
	"io_uring":         func(string) error { return call(unix.SYS_IO_URING_SETUP, 1, 0, 0) },
	"userfaultfd":      func(string) error { return call(unix.SYS_USERFAULTFD, 0, 0, 0) },
	"file handles":     func(string) error { return call(unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0) },
	"clone3":           func(string) error { return call(unix.SYS_CLONE3, 0, 0, 0) },
	"packets":          func(string) error { return socket(unix.AF_PACKET) },
	"virtual machines": func(string) error { return socket(unix.AF_VSOCK) },
	"kernel crypto":    func(string) error { return socket(unix.AF_ALG) },
	"type for others":  func(string) error { return call(unix.SYS_IOCTL, 0, unix.TIOCSTI, 0) },
	"the host's ports": func(address string) error { return dial("tcp", address) },
	"an abstract socket": func(string) error {
		return dial("unix", "@"+abstractName)
	},
	"more files": func(string) error {
		return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20})
	},
	"a core dump": func(string) error {
		return syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20})
	},
	"write to programs": func(string) error { return os.WriteFile("/usr/bin/planted", []byte("x"), 0o755) },
	"write to settings": func(string) error { return os.WriteFile("/etc/planted", []byte("x"), 0o644) },
	"write to the root": func(string) error { return os.WriteFile("/planted", []byte("x"), 0o644) },
	"signal others":     func(pid string) error { return signalOutside(pid) },
}

const abstractName = "joulebox-partition-test"

func enter(ns string) error {
	fd, err := unix.Open(ns, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return unix.Setns(fd, 0)
}

func open(name string, flag int) error {
	f, err := os.OpenFile(name, flag, 0)
	if err == nil {
		f.Close()
	}
	return err
}

func readSome(name string) error {
	b, err := os.ReadFile(name)
	if err == nil && len(b) == 0 {
		return unix.ENODATA // masked
	}
	return err
}

func call(nr, a, b, c uintptr) error {
	if _, _, errno := unix.Syscall(nr, a, b, c); errno != 0 {
		return errno
	}
	return nil
}

func socket(family int) error {
	fd, err := unix.Socket(family, unix.SOCK_RAW, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, 2*time.Second)
	if err == nil {
		c.Close()
	}
	return err
}

// changed is nil only when who one is has changed.
func changed(err error) error {
	if err == nil && os.Getuid() != 0 && os.Getgid() != 0 {
		return unix.EPERM
	}
	return err
}

func signalOutside(pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	return unix.Kill(n, 0)
}

// attack tries everything and says what worked.
func attack(address, pid string) {
	for name, try := range attacks {
		arg := address
		if name == "signal others" {
			arg = pid
		}
		err := try(arg)
		fmt.Printf("%s: %v\n", name, err)
	}
	left, _ := os.ReadDir("/proc/self/fd")
	fmt.Println("descriptors:", len(left))
	processes, _ := filepath.Glob("/proc/[0-9]*")
	fmt.Println("processes:", len(processes))
}

// hostile runs the attacks in a partition.
func hostile(t *testing.T, address string, change func(*Spec)) ran {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	return run(t, "", func(s *Spec) {
		s.Program, s.Path = self, "/opt/attack"
		s.Argv = []string{attackName, address, strconv.Itoa(os.Getpid() + 100_000)}
		if change != nil {
			change(s)
		}
	})
}

func TestAttacks(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	abstract, err := net.Listen("unix", "@"+abstractName)
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	r := hostile(t, l.Addr().String(), nil)
	tried := 0
	for line := range strings.Lines(r.out) {
		name, result, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if _, ok := attacks[name]; !ok {
			continue
		}
		tried++
		if result == "<nil>" {
			t.Errorf("%s: it worked", name)
		}
	}
	if tried != len(attacks) {
		t.Errorf("%d of %d attacks were tried: %s", tried, len(attacks), r.out)
	}
	if !strings.Contains(r.out, "processes: 1\n") {
		t.Errorf("it sees other processes than itself: %s", r.out)
	}
	if n, ok := numberAfter(r.out, "descriptors: "); !ok || n > 8 { // three streams, and what the runtime has
		t.Errorf("it has %d descriptors", n)
	}
	if !r.Probing {
		t.Error("nothing of it was seen as probing")
	}
}

func numberAfter(text, label string) (int, bool) {
	_, after, ok := strings.Cut(text, label)
	word, _, _ := strings.Cut(after, "\n")
	n, err := strconv.Atoi(word)
	return n, ok && err == nil
}

// TestOrdinaryWorkIsNoProbing: what shells and interpreters do by themselves isn't
// taken for an attempt to get out.
func TestOrdinaryWorkIsNoProbing(t *testing.T) {
	r := run(t, "id >/dev/null; ls -l / >/dev/null; (sleep 0.01 & wait); echo a | sort | cat; umask 022; cd /tmp && touch a && mv a b && rm b", nil)
	if r.Code != 0 || r.Probing || r.out != "a\n" {
		t.Errorf("got %+v", r)
	}
}

// TestMounts: what isn't granted is an error, reading and writing and removing each
// for itself, and nothing is made on the other side.
func TestMounts(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	script := "cat /d/f; echo x > /d/new; echo y >> /d/f; mkdir /d/sub; rm /d/f; mv /d/new /d/newer; ls /d"
	for _, c := range []struct {
		name                string
		read, write, remove bool
		want                []string // files that are there afterwards
		says, saysNot       string
	}{
		{"read", true, false, false, []string{"f"}, "content", "newer"},
		{"write", false, true, false, []string{"f", "new", "sub"}, "Permission denied", "content"},
		{"read and write", true, true, false, []string{"f", "new", "sub"}, "content", ""},
		{"all", true, true, true, []string{"newer", "sub"}, "content", "denied"},
	} {
		for _, n := range []string{"new", "newer", "sub"} {
			os.Remove(filepath.Join(dir, n))
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte("content"), 0o644); err != nil {
			t.Fatal(err)
		}
		r := run(t, script, func(s *Spec) {
			s.Mounts = []Mount{{Source: dir, Target: "/d", Dev: st.Dev, Ino: st.Ino, Read: c.read, Write: c.write, Delete: c.remove}}
		})
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if !slices.Equal(got, c.want) || !strings.Contains(r.out, c.says) || c.saysNot != "" && strings.Contains(r.out, c.saysNot) {
			t.Errorf("%s: left %q, want %q; it said %s", c.name, got, c.want, r.out)
		}
	}
}

// TestAnotherFileByThen: what lies at a path when the partition is built has to be
// what was looked at.
func TestAnotherFileByThen(t *testing.T) {
	dir := t.TempDir()
	spec := Spec{Argv: []string{"true"}, Path: "/bin/true", UID: 1000, GID: 1000, Limits: Limits{OpenFiles: 64},
		Mounts: []Mount{{Source: dir, Target: "/d", Dev: 1, Ino: 1, Read: true}}}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	spec.Stdin, spec.Stdout, spec.Stderr = null, null, null
	if _, err := Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "another file now") {
		t.Errorf("got %v", err)
	}
	spec.Mounts = []Mount{{Source: dir, Target: "/proc/d", Read: true}}
	if _, err := Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "the partition's own") {
		t.Errorf("got %v", err)
	}
}

func TestLimits(t *testing.T) {
	r := run(t, "x=a; while :; do x=$x$x; done", func(s *Spec) { s.Limits.Memory = 32 << 20 })
	if !r.OutOfMemory {
		t.Errorf("memory: got %+v", r)
	}
	r = run(t, "f() { f | f & f; }; f; wait", func(s *Spec) { s.Limits.Tasks = 40 })
	if !strings.Contains(r.out, "fork") && r.Code == 0 {
		t.Errorf("a fork bomb: got %+v", r)
	}
	r = run(t, "dd if=/dev/zero of=/tmp/large bs=1M count=100", func(s *Spec) { s.Limits.Memory = 32 << 20 })
	if !r.OutOfMemory && r.Code == 0 {
		t.Errorf("files in memory: got %+v", r)
	}
}

// TestEnds: what the program leaves behind ends with it, and holds nobody up.
func TestEnds(t *testing.T) {
	r := run(t, "sleep 1000 & setsid sleep 1000 & (trap '' TERM HUP; sleep 1000) & echo done; exit 5", nil)
	if r.Code != 5 || r.out != "done\n" {
		t.Errorf("got %+v", r)
	}
	r = run(t, "kill -9 $$", nil)
	if r.Signal != 9 || r.Killed || r.OutOfMemory {
		t.Errorf("got %+v", r)
	}
	r = run(t, "kill -TERM $$", nil)
	if r.Signal != 15 {
		t.Errorf("got %+v", r)
	}
	r = run(t, "kill -TERM 1; kill -HUP 1; kill -QUIT 1; sleep 0.05; echo still here", nil)
	if r.out != "still here\n" {
		t.Errorf("init can be ended from within: %+v", r)
	}
}
