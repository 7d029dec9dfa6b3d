//go:build linux && (amd64 || arm64)

package cell

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attacker is the test binary as a file that a unit can run.
func attacker(t testing.TB) Mount {
	t.Helper()
	return Mount{File: file(t, "/proc/self/exe"), Target: "/attack", Read: true, Exec: true}
}

func call(nr uintptr, args ...uintptr) func() error {
	return func() error {
		var a [6]uintptr
		copy(a[:], args)
		_, _, errno := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		if errno != 0 {
			return errno
		}
		return nil
	}
}

// try is one attack from within. It is to fail with one of the errors; probing
// says what the supervisor is to see of it.
type try struct {
	name    string
	do      func() error
	want    []unix.Errno
	probing string
}

var perm = []unix.Errno{unix.EPERM}

func open(name string, flags int) func() error {
	return func() error {
		fd, err := unix.Open(name, flags, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func socket(family, kind, protocol int) func() error {
	return func() error { _, err := unix.Socket(family, kind, protocol); return err }
}

var aPath = unsafe.Pointer(unsafe.StringData("/tmp\x00"))

// tries are calls that reach past a unit.
var tries = []try{
	{"mount", call(unix.SYS_MOUNT, uintptr(aPath), uintptr(aPath), 0, unix.MS_BIND, 0), perm, "mount"},
	{"umount", call(unix.SYS_UMOUNT2, uintptr(aPath), unix.MNT_DETACH), perm, "umount"},
	{"remount", call(unix.SYS_MOUNT_SETATTR, ^uintptr(99), uintptr(aPath), 0, uintptr(aPath), 32), perm, "mount_setattr"},
	{"open_tree", call(unix.SYS_OPEN_TREE, ^uintptr(99), uintptr(aPath), 1), perm, "open_tree"},
	{"move_mount", call(unix.SYS_MOVE_MOUNT, 0, uintptr(aPath), 0, uintptr(aPath), 0), perm, "move_mount"},
	{"fsopen", call(unix.SYS_FSOPEN, uintptr(aPath), 0), perm, "fsopen"},
	{"chroot", call(unix.SYS_CHROOT, uintptr(aPath)), perm, "chroot"},
	{"pivot_root", call(unix.SYS_PIVOT_ROOT, uintptr(aPath), uintptr(aPath)), perm, "pivot_root"},
	{"unshare user", call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER), perm, "unshare"},
	{"unshare time", call(unix.SYS_UNSHARE, unix.CLONE_NEWTIME), perm, "unshare"},
	{"unshare net", call(unix.SYS_UNSHARE, unix.CLONE_NEWNET), perm, "unshare"},
	{"clone user", call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD)), perm, "clone"},
	{"clone3", call(unix.SYS_CLONE3, uintptr(aPath), 88), []unix.Errno{unix.ENOSYS}, ""},
	{"setns", call(unix.SYS_SETNS, 0, 0), perm, "setns"},
	{"ptrace init", call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1, 0, 0), perm, "ptrace"},
	{"ptrace me", call(unix.SYS_PTRACE, unix.PTRACE_TRACEME), perm, "ptrace"},
	{"process_vm_readv", call(unix.SYS_PROCESS_VM_READV, 1, 0, 0, 0, 0, 0), perm, "process_vm_readv"},
	{"process_vm_writev", call(unix.SYS_PROCESS_VM_WRITEV, 1, 0, 0, 0, 0, 0), perm, "process_vm_writev"},
	{"pidfd_getfd", call(unix.SYS_PIDFD_GETFD, 0, 0, 0), perm, "pidfd_getfd"},
	{"bpf", call(unix.SYS_BPF, 0, uintptr(aPath), 4), perm, "bpf"},
	{"perf_event_open", call(unix.SYS_PERF_EVENT_OPEN, uintptr(aPath), 0, 0, 0, 0), perm, "perf_event_open"},
	{"keyctl", call(unix.SYS_KEYCTL, 0, 0, 0), perm, ""},
	{"add_key", call(unix.SYS_ADD_KEY, uintptr(aPath), uintptr(aPath), 0, 0, 0), perm, ""},
	{"userfaultfd", call(unix.SYS_USERFAULTFD, 0), perm, ""},
	{"io_uring", call(unix.SYS_IO_URING_SETUP, 8, uintptr(aPath)), perm, ""},
	{"kexec", call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0), perm, "kexec_load"},
	{"module", call(unix.SYS_INIT_MODULE, uintptr(aPath), 4, uintptr(aPath)), perm, "init_module"},
	{"reboot", call(unix.SYS_REBOOT, 0, 0, 0), perm, "reboot"},
	{"swapon", call(unix.SYS_SWAPON, uintptr(aPath), 0), perm, "swapon"},
	{"acct", call(unix.SYS_ACCT, uintptr(aPath)), perm, "acct"},
	{"sethostname", call(unix.SYS_SETHOSTNAME, uintptr(aPath), 4), perm, "sethostname"},
	{"settimeofday", call(unix.SYS_SETTIMEOFDAY, 0, 0), perm, "settimeofday"},
	{"clock_settime", call(unix.SYS_CLOCK_SETTIME, 0, 0), perm, "clock_settime"},
	{"adjtimex", call(unix.SYS_ADJTIMEX, 0), perm, ""},
	{"syslog", call(unix.SYS_SYSLOG, 3, 0, 0), perm, "syslog"},
	{"open_by_handle_at", call(unix.SYS_OPEN_BY_HANDLE_AT, 0, uintptr(aPath), 0), perm, "open_by_handle_at"},
	{"name_to_handle_at", call(unix.SYS_NAME_TO_HANDLE_AT, 0, uintptr(aPath), 0, 0, 0), perm, ""},
	{"fanotify", call(unix.SYS_FANOTIFY_INIT, 0, 0), perm, "fanotify_init"},
	{"quotactl", call(unix.SYS_QUOTACTL, 0, 0, 0, 0), perm, "quotactl"},
	{"setuid", call(unix.SYS_SETUID, 4321), perm, "setuid"},
	{"setgid", call(unix.SYS_SETGID, 4321), perm, "setgid"},
	{"setresuid", call(unix.SYS_SETRESUID, same, same, 4321), perm, "setresuid"},
	{"setreuid", call(unix.SYS_SETREUID, 4321, same), perm, "setreuid"},
	{"setfsuid", call(unix.SYS_SETFSUID, 4321), perm, "setfsuid"},
	{"setgroups", call(unix.SYS_SETGROUPS, 0, 0), perm, "setgroups"},
	{"capset", call(unix.SYS_CAPSET, uintptr(aPath), uintptr(aPath)), perm, "capset"},
	{"mknod", call(unix.SYS_MKNODAT, ^uintptr(99), uintptr(aPath), unix.S_IFBLK|0o600, 0), perm, "mknod"},
	{"typing into a terminal", call(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(aPath)), perm, "ioctl"},
	{"a console's selection", call(unix.SYS_IOCTL, 0, tiocLinux, uintptr(aPath)), perm, "ioctl"},
	{"typing, with high bits", call(unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<40, uintptr(aPath)), perm, "ioctl"},
	{"executable data", call(unix.SYS_PERSONALITY, 0x0400000), perm, ""},
	{"another filter", call(unix.SYS_SECCOMP, 1, 0, 0), []unix.Errno{unix.ENOSYS}, ""},
	{"another filter by prctl", call(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, 2, 0), []unix.Errno{unix.EINVAL}, ""},
	{"packet socket", socket(unix.AF_PACKET, unix.SOCK_RAW, 0), []unix.Errno{unix.EAFNOSUPPORT}, ""},
	{"vsock", socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0), []unix.Errno{unix.EAFNOSUPPORT}, ""},
	{"crypto socket", socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0), []unix.Errno{unix.EAFNOSUPPORT}, ""},
	{"raw socket", socket(unix.AF_INET, unix.SOCK_RAW, 1), perm, ""},
	{"init's memory", open("/proc/1/mem", unix.O_RDONLY), []unix.Errno{unix.ENOENT, unix.EPERM}, ""},
	{"init's environment", open("/proc/1/environ", unix.O_RDONLY), []unix.Errno{unix.ENOENT, unix.EPERM}, ""},
	{"init's files", open("/proc/1/root/etc/shadow", unix.O_RDONLY), []unix.Errno{unix.ENOENT, unix.EPERM}, ""},
	{"init's descriptors", open("/proc/1/fd/0", unix.O_RDONLY), []unix.Errno{unix.ENOENT, unix.EPERM}, ""},
	{"init's namespaces", open("/proc/1/ns/user", unix.O_RDONLY), []unix.Errno{unix.ENOENT, unix.EPERM}, ""},
	{"a core pattern", open("/proc/sys/kernel/core_pattern", unix.O_WRONLY), []unix.Errno{unix.EROFS, unix.EACCES}, ""},
	{"the program for modules", open("/proc/sys/kernel/modprobe", unix.O_WRONLY), []unix.Errno{unix.EROFS, unix.EACCES, unix.ENOENT}, ""},
	{"its own code", open("/proc/self/mem", unix.O_WRONLY), []unix.Errno{unix.EROFS}, ""},
	{"its own map of users", open("/proc/self/uid_map", unix.O_WRONLY), []unix.Errno{unix.EROFS}, ""},
	{"sysrq", open("/proc/sysrq-trigger", unix.O_WRONLY), []unix.Errno{unix.EROFS, unix.EACCES, unix.ENOENT}, ""},
	{"power", open("/sys/class/powercap", unix.O_RDONLY), []unix.Errno{unix.ENOENT}, ""},
	{"sensors", open("/sys/class/hwmon", unix.O_RDONLY), []unix.Errno{unix.ENOENT}, ""},
	{"registers", open("/dev/cpu/0/msr", unix.O_RDONLY), []unix.Errno{unix.ENOENT}, ""},
	{"control groups", open("/sys/fs/cgroup", unix.O_RDONLY), []unix.Errno{unix.ENOENT}, ""},
	{"memory device", open("/dev/mem", unix.O_RDONLY), []unix.Errno{unix.ENOENT}, ""},
	{"network device", open("/dev/net/tun", unix.O_RDWR), []unix.Errno{unix.ENOENT}, ""},
	{"passwords", open("/etc/shadow", unix.O_RDONLY), []unix.Errno{unix.ENOENT}, ""},
	{"above the root", open("/../../../../etc/shadow", unix.O_RDONLY), []unix.Errno{unix.ENOENT}, ""},
	{"the host's logs", open("/var/log", unix.O_RDONLY), []unix.Errno{unix.ENOENT}, ""},
	{"a program's bytes", open("/usr/bin/env", unix.O_WRONLY), []unix.Errno{unix.EROFS, unix.EACCES, unix.ETXTBSY}, ""},
	{"a file in the root", open("/x", unix.O_CREAT|unix.O_WRONLY), []unix.Errno{unix.EROFS, unix.EACCES}, ""},
	{"a file beside devices", open("/dev/x", unix.O_CREAT|unix.O_WRONLY), []unix.Errno{unix.EROFS, unix.EACCES}, ""},
	{"the attacker's own file", open("/attack", unix.O_WRONLY), []unix.Errno{unix.EROFS, unix.EACCES, unix.ETXTBSY}, ""},
}

// attack is what the test binary does as a unit. It prints a line for what wasn't
// refused as it has to be.
func attack(name string) {
	switch name {
	case "calls":
		for _, a := range tries {
			err := a.do()
			if e, ok := err.(unix.Errno); !ok || !slices.Contains(a.want, e) {
				fmt.Printf("%s: got %v, want %v\n", a.name, err, a.want)
			}
		}
	case "memory":
		hog()
	case "forks":
		forkBomb()
	case "fork alone":
		forkAlone()
	case "fork storm":
		forkStorm()
	case "reach":
		reach(strings.Fields(os.Getenv("REACH")))
	case "leaks":
		leaks()
	case "lend":
		lend()
	case "gate":
		gateAttack()
	case "connections":
		manyConnections()
	}
	os.Exit(0)
}

func TestCalls(t *testing.T) {
	for _, uid := range []uint32{0, 1000} {
		t.Run(fmt.Sprint("uid ", uid), func(t *testing.T) {
			s := attackSpec(t, "calls")
			s.UID, s.GID = uid, uid
			end, out := run(t, s)
			exits(t, end, out, 0)
			if out != "" {
				t.Error(out)
			}
			var want []string
			for _, a := range tries {
				if a.probing != "" {
					want = append(want, a.probing)
				}
			}
			slices.Sort(want)
			if want = slices.Compact(want); !slices.Equal(end.Probing, want) {
				t.Errorf("got probing %q, want %q", end.Probing, want)
			}
		})
	}
}

// What the kernel tells of the machine is empty or denied, and who looks is seen.
func TestMachineIsHidden(t *testing.T) {
	script := ""
	for _, name := range append(slices.Clone(maskedFiles), "sys/kernel/osrelease") {
		script += "[ -e /proc/" + name + " ] && head -c 16 /proc/" + name + " 2>/dev/null | grep -q . && echo " + name + "\n"
	}
	for _, name := range maskedFolders {
		script += "ls -A /proc/" + name + " 2>/dev/null | sed 's/^/" + name + " /'\n"
	}
	lines(t, shell(script+"exit 0"), "sys/kernel/osrelease") // else it proves nothing
	end, _ := run(t, shell("ls /proc/acpi /proc/fs /proc/bus; cat /proc/interrupts; exit 0"))
	if !slices.Equal(end.Probing, []string{"/proc"}) {
		t.Errorf("got probing %q", end.Probing)
	}
	end, out := run(t, shell("ls -A /sys; ls /sys/class/powercap /sys/devices; cat /proc/cpuinfo /proc/meminfo >/dev/null; exit 0"))
	if !slices.Equal(end.Probing, []string{"/sys"}) || strings.Contains(out, "intel") {
		t.Errorf("got probing %q and %q", end.Probing, out)
	}
	end, _ = run(t, shell("cat /proc/cpuinfo /proc/meminfo /proc/self/status /proc/stat; ls / /proc/self; ls /proc/sys; exit 0"))
	if len(end.Probing) != 0 {
		t.Errorf("got probing %q of what any program reads", end.Probing)
	}
}

func attackSpec(t testing.TB, name string) Spec {
	t.Helper()
	s := shell("")
	s.Path, s.Argv = "/attack", []string{"attack"}
	s.Env = append(s.Env, attackVariable+"="+name)
	s.Mounts = []Mount{attacker(t)}
	return s
}

// hog takes memory until there is none, in another process than the main one.
func hog() {
	if os.Getenv("HOG") == "" {
		p, err := os.StartProcess("/attack", []string{"attack"}, &os.ProcAttr{Env: append(os.Environ(), "HOG=yes"), Files: []*os.File{nil, os.Stdout, os.Stderr}})
		if err == nil {
			_, err = p.Wait()
		}
		fmt.Println("survived", err)
		select {}
	}
	for held := [][]byte{}; ; {
		b := make([]byte, 1<<20)
		for n := range b {
			b[n] = 1
		}
		held = append(held, b)
	}
}

// forkBomb makes processes that make processes, until nothing more goes.
func forkBomb() {
	forked := 0
	for range 500 {
		pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1000"}, nil)
		if err != nil {
			break
		}
		_ = pid
		forked++
	}
	fmt.Printf("forked %d\n", forked)
}

// reach tries to get to the host's sockets and processes.
func reach(at []string) {
	for _, a := range at {
		kind, address, _ := strings.Cut(a, "=")
		switch kind {
		case "tcp", "unix":
			if c, err := net.Dial(kind, address); err == nil {
				fmt.Println("reached", a)
				c.Close()
			}
		case "pid":
			pid, _ := strconv.Atoi(address)
			if err := unix.Kill(pid, 0); err == nil {
				fmt.Println("reached", a)
			}
		}
	}
	_ = unix.Kill(-1, unix.SIGKILL) // all but this process and the first
	fmt.Println("alive")
}

func TestNothingIsReached(t *testing.T) {
	dir := folder(t)
	var at []string
	for _, l := range [][2]string{{"tcp", "127.0.0.1:0"}, {"tcp", "[::1]:0"}, {"unix", "@joulebox-cell-" + strconv.Itoa(os.Getpid())}, {"unix", filepath.Join(dir, "socket")}} {
		listener, err := net.Listen(l[0], l[1])
		if err != nil {
			continue // no version 6 here
		}
		defer listener.Close()
		at = append(at, l[0]+"="+listener.Addr().String())
	}
	at = append(at, "tcp=8.8.8.8:53", "tcp=169.254.169.254:80", "pid="+strconv.Itoa(os.Getpid()))
	s := attackSpec(t, "reach")
	s.Env = append(s.Env, "REACH="+strings.Join(at, " "))
	end, out := run(t, s)
	exits(t, end, out, 0)
	if out != "alive\n" {
		t.Errorf("got %q", out)
	}
}

// leaks shows descriptors and variables that weren't given.
func leaks() {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		fmt.Println(err)
	}
	for _, e := range list {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		known := to == "/dev/null" || strings.HasPrefix(to, "pipe:") || strings.HasPrefix(to, "anon_inode:[event") || strings.HasSuffix(to, "/fd")
		if err == nil && !known {
			fmt.Println("descriptor", e.Name(), to)
		}
	}
	var st unix.Stat_t
	for fd := 3; fd < 1024; fd++ {
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
			fmt.Println("socket", fd)
		}
	}
	if dir, err := os.Getwd(); err != nil || dir != "/" {
		fmt.Println("dir", dir, err)
	}
}

func TestNothingLeaks(t *testing.T) {
	// What a careless supervisor has open for all to inherit.
	fd, err := unix.Open("/etc", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	t.Setenv("A_SECRET", "x")
	end, out := run(t, attackSpec(t, "leaks"))
	exits(t, end, out, 0)
	if out != "" {
		t.Error(out)
	}
	end, out = run(t, func() Spec { s := shell("env"); s.Env = nil; return s }())
	exits(t, end, out, 0)
	if strings.Contains(out, "SECRET") || strings.Contains(out, "GOMAXPROCS") {
		t.Errorf("got %q", out)
	}
}

// lend tries to make files in /data that run with their owner's rights.
func lend() {
	name := func(n int) *byte { b, _ := unix.BytePtrFromString(fmt.Sprint("/data/f", n)); return b }
	_ = os.WriteFile("/data/f0", nil, 0o755)
	fd, err := unix.Open("/data/f0", unix.O_RDWR, 0)
	if err != nil {
		fmt.Println(err)
	}
	at := ^uintptr(99)
	how := unix.OpenHow{Flags: unix.O_CREAT | unix.O_RDWR, Mode: 0o4755}
	for n, try := range []func() error{
		call(unix.SYS_FCHMOD, uintptr(fd), 0o4755), call(unix.SYS_FCHMOD, uintptr(fd), 0o2755),
		call(unix.SYS_FCHMODAT, at, uintptr(unsafe.Pointer(name(0))), 0o4755), call(unix.SYS_FCHMODAT2, at, uintptr(unsafe.Pointer(name(0))), 0o4755, 0),
		call(unix.SYS_OPENAT, at, uintptr(unsafe.Pointer(name(4))), unix.O_CREAT|unix.O_RDWR, 0o4755),
		call(unix.SYS_OPENAT, at, uintptr(unsafe.Pointer(name(5))), unix.O_CREAT|unix.O_RDWR|1<<40, 0o4755),
		call(unix.SYS_OPENAT, at, uintptr(unsafe.Pointer(name(-1))), unix.O_TMPFILE|unix.O_RDWR, 0o4755),
		call(unix.SYS_OPENAT2, at, uintptr(unsafe.Pointer(name(7))), uintptr(unsafe.Pointer(&how)), 24),
		call(unix.SYS_MKNODAT, at, uintptr(unsafe.Pointer(name(8))), unix.S_IFREG|0o4755, 0),
		call(unix.SYS_MKDIRAT, at, uintptr(unsafe.Pointer(name(9))), 0o2755),
	} {
		if err := try(); err == nil {
			fmt.Println("worked:", n)
		}
	}
	for _, chmod := range []func() error{func() error { return os.Chmod("/data/f0", 0o755|os.ModeSetuid) }, func() error { return unix.Fchmodat(unix.AT_FDCWD, "/data/f0", 0o6755, 0) }} {
		if chmod() == nil {
			fmt.Println("worked")
		}
	}
	if err := os.Chmod("/data/f0", 0o1700); err != nil {
		fmt.Println(err)
	}
}

// What a unit leaves with the caller lends nobody the caller's rights.
func TestNothingIsLent(t *testing.T) {
	dir := folder(t)
	s := attackSpec(t, "lend")
	s.Mounts = append(s.Mounts, Mount{File: file(t, dir), Target: "/data", Read: true, Write: true, Delete: true})
	end, out := run(t, s)
	exits(t, end, out, 0)
	if out != "" {
		t.Error(out)
	}
	for line := range strings.Lines(listing(t, dir)) {
		if strings.Contains(line, " u") || strings.Contains(line, " g") || strings.Contains(line, " dg") {
			t.Error(line)
		}
	}
}

// supervise starts a cell and waits to be ended.
func supervise() {
	c, err := Start(context.Background(), shell("sleep 31415926 & sleep 31415926"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready", c.PID())
	c.Wait()
	os.Exit(0)
}
