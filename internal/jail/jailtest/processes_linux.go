//go:build amd64 || arm64

package jailtest

import (
	"golang.org/x/sys/unix"
)

var processAttacks = []Attack{
	{Name: "run a program", Deadly: true, Do: func(Target) error { return exec(unix.AT_FDCWD, "/bin/true") }},
	{Name: "run a program that lies in memory", Do: func(Target) error {
		_, err := unix.MemfdCreate("program", 0)
		return err
	}},
	{Name: "run a program from a descriptor", Deadly: true, Do: func(Target) error { return exec(0, "") }},
	{Name: "make a process", Deadly: true, Do: func(Target) error { return clone(uintptr(unix.SIGCHLD)) }},
	{Name: "make a thread in new namespaces", Deadly: true, Do: func(Target) error {
		return clone(unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND | unix.CLONE_NEWUSER)
	}},
	{Name: "make a process with clone3", Do: func(Target) error { return call(unix.SYS_CLONE3, 0, 0) }},
	{Name: "trace the victim", Deadly: true, Do: func(t Target) error { return unix.PtraceSeize(t.Victim) }},
	{Name: "read the victim's memory", Deadly: true, Do: func(t Target) error {
		_, err := unix.ProcessVMReadv(t.Victim, nil, nil, 0)
		return err
	}},
	{Name: "kill the victim", Deadly: true, Do: func(t Target) error { return unix.Kill(t.Victim, unix.SIGKILL) }},
	{Name: "look whether the victim is there", Deadly: true, Do: func(t Target) error { return unix.Kill(t.Victim, 0) }},
	{Name: "kill everyone", Deadly: true, Do: func(t Target) error { return unix.Kill(-1, 0) }},
	{Name: "kill a thread of the victim", Deadly: true, Do: func(t Target) error {
		return unix.Tgkill(t.Victim, t.Victim, unix.SIGKILL)
	}},
	{Name: "kill a thread by its number alone", Deadly: true, Do: func(t Target) error {
		return call(unix.SYS_TKILL, uintptr(t.Victim), 0)
	}},
	{Name: "open the victim", Deadly: true, Do: func(t Target) error {
		_, err := unix.PidfdOpen(t.Victim, 0)
		return err
	}},
	{Name: "have the kernel signal the victim", Do: func(t Target) error {
		_, err := unix.FcntlInt(0, unix.F_SETOWN, t.Victim)
		return err
	}},
	{Name: "change the victim's limits", Do: func(t Target) error {
		return unix.Prlimit(t.Victim, unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil)
	}},
	{Name: "change the victim's priority", Do: func(t Target) error { return unix.Setpriority(unix.PRIO_PROCESS, t.Victim, 19) }},
	{Name: "change the victim's processors", Do: func(t Target) error {
		var all unix.CPUSet
		all.Fill()
		return unix.SchedSetaffinity(t.Victim, &all)
	}},
	{Name: "type into a terminal", Do: func(Target) error { return unix.IoctlSetPointerInt(0, unix.TIOCSTI, 'x') }},
}

var kernelAttacks = []Attack{
	{Name: "set up io_uring", Deadly: true, Do: func(Target) error { return call(unix.SYS_IO_URING_SETUP, 1, 0) }},
	{Name: "load a BPF program", Deadly: true, Do: func(Target) error { return call(unix.SYS_BPF, 0, 0) }},
	{Name: "open performance events", Deadly: true, Do: func(Target) error { return call(unix.SYS_PERF_EVENT_OPEN, 0, 0) }},
	{Name: "handle page faults", Deadly: true, Do: func(Target) error { return call(unix.SYS_USERFAULTFD, 0, 0) }},
	{Name: "read keys of the kernel", Deadly: true, Do: func(Target) error { return call(unix.SYS_KEYCTL, 0, 0) }},
	{Name: "load a module", Deadly: true, Do: func(Target) error { return call(unix.SYS_INIT_MODULE, 0, 0) }},
	{Name: "mount", Deadly: true, Do: func(Target) error { return unix.Mount("none", "/", "tmpfs", 0, "") }},
	{Name: "change the root", Deadly: true, Do: func(Target) error { return unix.Chroot("/") }},
	{Name: "make namespaces", Deadly: true, Do: func(Target) error { return unix.Unshare(unix.CLONE_NEWUSER) }},
	{Name: "enter namespaces", Deadly: true, Do: func(Target) error { return unix.Setns(0, 0) }},
	{Name: "open a file by its handle", Deadly: true, Do: func(Target) error { return call(unix.SYS_OPEN_BY_HANDLE_AT, 0, 0) }},
	{Name: "read the kernel's log", Deadly: true, Do: func(Target) error {
		_, err := unix.Klogctl(3, make([]byte, 64))
		return err
	}},
	{Name: "make memory that is code", Deadly: true, Do: func(Target) error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
		return err
	}},
	{Name: "turn memory into code", Deadly: true, Do: func(Target) error {
		m, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		return unix.Mprotect(m, unix.PROT_READ|unix.PROT_EXEC)
	}},
}

var privilegeAttacks = []Attack{
	{Name: "become root", Do: func(Target) error { return unix.Setresuid(0, 0, 0) }},
	{Name: "gain capabilities", Do: func(Target) error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		data := [2]unix.CapUserData{{Effective: 1 << unix.CAP_SYS_ADMIN, Permitted: 1 << unix.CAP_SYS_ADMIN}}
		return unix.Capset(&header, &data[0])
	}},
	{Name: "become traceable", Do: func(Target) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }},
	{Name: "outlive the parent", Do: func(Target) error { return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) }},
	{Name: "raise a limit", Do: func(Target) error {
		return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20})
	}},
	{Name: "leave the session", Do: func(Target) error {
		_, err := unix.Setsid()
		return err
	}},
	{Name: "lock memory", Do: func(Target) error { return unix.Mlockall(unix.MCL_CURRENT) }},
	{Name: "set the clock", Deadly: true, Do: func(Target) error {
		return unix.ClockSettime(unix.CLOCK_REALTIME, &unix.Timespec{})
	}},
}
