//go:build amd64 || arm64

package cell

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/jail"
)

// initName is the argv[0] by which a cell's first process knows what it is. It
// isn't an argument, so no command line of a user can be taken for it.
const initName = "joulebox-cell"

// initSocket is the descriptor that it finds the supervisor at.
const initSocket = 0

// RunInitIfAsked turns this process into the first process of a cell if it was
// started as one, and then doesn't return. Call it first in main, and in TestMain
// of tests that start cells.
func RunInitIfAsked(in Inside) {
	hooked = true
	if len(os.Args) == 1 && os.Args[0] == surveyName {
		os.Exit(0)
	}
	if len(os.Args) != 1 || os.Args[0] != initName {
		return
	}
	jail.CloseInherited(0, 1, 2)
	i := &inner{hooks: in, link: link{fd: initSocket}}
	if err := i.run(); err != nil {
		_ = i.link.send(kindFault, faultOf(err))
		os.Exit(1)
	}
	os.Exit(0)
}

// hooked says that this program calls RunInitIfAsked: without it, a
// re-execution would be the program once more.
var hooked bool

// inner is the cell's first process. Everything else in the cell is beneath it
// and can't reach it.
type inner struct {
	hooks  Inside
	link   link
	base   base
	order  order
	handed []int
	view   view
	main   int // the unit's main process
	// questions is where the kernel asks about calls.
	questions int
	probes    probes
	crowded   crowd
}

// needError says that a mechanism is missing.
type needError struct {
	mechanism string
	err       error
}

func (e *needError) Error() string { return e.mechanism + ": " + e.err.Error() }
func (e *needError) Unwrap() error { return e.err }

func need(mechanism string, err error) error {
	if err == nil {
		return nil
	}
	return &needError{mechanism, err}
}

// run is the life of a cell. It stays on the first thread, which builds the cell,
// gives nearly everything away and is the unit's parent: what a thread has given
// away its children lack. No other thread ever touches what comes from the unit
// with rights that this one hasn't.
func (i *inner) run() error {
	runtime.LockOSThread()
	if err := i.build(); err != nil {
		return err
	}
	if err := i.handOut(); err != nil {
		return err
	}
	return i.reap()
}

// handOut gives the supervisor what it needs to follow the unit: its main process,
// and where the kernel asks about calls. Connections have to be made in here.
func (i *inner) handOut() error {
	main, err := unix.PidfdOpen(i.main, 0)
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	defer unix.Close(main)
	if i.order.Gated {
		i.crowded.most = i.order.Most
		go i.answer()
		return i.link.send(kindStarted, nothing{}, main)
	}
	defer unix.Close(i.questions)
	return i.link.send(kindStarted, nothing{}, main, i.questions)
}

// build makes a cell:
//
//  1. what every cell has: names, clocks and a network of its own, and the host's
//     programs in a view of its own
//  2. it is told what else to build
//  3. the rest of the view
//  4. the supervisor may look at it from outside
//  5. this thread gives nearly everything away
//  6. the unit is started
func (i *inner) build() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl death signal", err)
	}
	unix.Umask(0) // modes are as they are written here
	if _, err := i.receive(kindBase, &i.base); err != nil {
		return err
	}
	if err := i.namespaces(); err != nil {
		return need(nameNamespaces, err)
	}
	i.view.base = &i.base
	if err := i.view.begin(); err != nil {
		return need(nameView, err)
	}
	fds, err := i.receive(kindOrder, &i.order)
	if err != nil {
		return err
	}
	i.handed, i.view.handed, i.view.order = fds, fds, &i.order
	return i.fulfil()
}

// fulfil does what is ordered.
func (i *inner) fulfil() error {
	if err := unix.Sethostname([]byte(i.order.Hostname)); err != nil {
		return need(nameNamespaces, os.NewSyscallError("sethostname", err))
	}
	var network []*os.File
	err := i.view.inHost(func() (err error) { network, err = i.network(); return err })
	if err != nil {
		return fmt.Errorf("network: %w", err)
	}
	if err := i.view.finish(); err != nil {
		return need(nameView, err)
	}
	if err := i.hold(network); err != nil {
		return err
	}
	return i.start()
}

// receive waits for a message of a kind.
func (i *inner) receive(want kind, m message) (fds []int, err error) {
	k, body, fds, err := i.link.receive()
	if err != nil {
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	if k != want {
		return nil, fmt.Errorf("supervisor: got message %d, want %d; was joulebox replaced while it ran?", k, want)
	}
	return fds, decode(body, m)
}

// namespaces fills those that this process was born into.
func (i *inner) namespaces() error {
	if err := unix.Setdomainname([]byte("(none)")); err != nil {
		return os.NewSyscallError("setdomainname", err)
	}
	return loopbackUp()
}

// network lets the caller's half make what it needs.
func (i *inner) network() ([]*os.File, error) {
	switch {
	case !i.order.HasNetwork:
		return nil, nil
	case i.hooks.Network == nil:
		return nil, errors.New("this program has none to give")
	}
	return i.hooks.Network(i.order.Network)
}

// loopbackUp makes the network's loopback work.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return os.NewSyscallError("lo up", unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r))
}

// hold hands out what was opened within and waits for leave to go on, if it is
// to.
func (i *inner) hold(network []*os.File) error {
	var fds []int
	if i.view.ptmx >= 0 {
		fds = append(fds, i.view.ptmx)
	}
	for _, f := range network {
		fds = append(fds, int(f.Fd()))
	}
	if len(fds) == 0 && !i.order.Hold {
		return nil
	}
	if err := i.link.send(kindHold, nothing{}, fds...); err != nil {
		return err
	}
	for _, f := range network {
		f.Close()
	}
	if !i.order.Hold {
		return nil
	}
	k, _, _, err := i.link.receive()
	if err == nil && k != kindGo {
		err = fmt.Errorf("supervisor: got message %d, want leave to go on", k)
	}
	return err
}

// start gives everything away and starts the unit.
func (i *inner) start() error {
	files, err := i.streams()
	if err != nil {
		return err
	}
	if err := ordinary(); err != nil {
		return need(nameCPU, err)
	}
	if err := i.join(); err != nil {
		return need(nameProcesses, err)
	}
	if err := i.bound(); err != nil {
		return err
	}
	unix.Umask(0o022)
	if err := i.confine(); err != nil {
		return err
	}
	attr := &syscall.ProcAttr{Dir: i.order.Dir, Env: i.order.Env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	if i.order.Terminal != nil {
		attr.Sys.Setctty, attr.Sys.Ctty = true, terminalStream(i.order.Streams)
	}
	if i.order.Counted {
		i.beginFork()
	}
	if i.main, err = syscall.ForkExec(i.order.Path, i.order.Argv, attr); err != nil {
		return &os.PathError{Op: "exec", Path: i.order.Path, Err: err}
	}
	if i.view.ptmx >= 0 {
		unix.Close(i.view.ptmx)
	}
	return nil
}

// terminalStream is the stream that is the terminal.
func terminalStream(streams [3]int) int {
	for n, s := range streams {
		if s < 0 {
			return n
		}
	}
	return 0
}

// streams are the unit's standard streams: what was handed, the terminal, or
// nothing.
func (i *inner) streams() (files []uintptr, err error) {
	other := -1
	for _, n := range i.order.Streams {
		if n >= 0 {
			files = append(files, uintptr(i.handed[n]))
			continue
		}
		if other < 0 {
			name := os.DevNull
			if i.order.Terminal != nil {
				name = "/dev/pts/0"
			}
			if other, err = unix.Open(name, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err != nil {
				return nil, &os.PathError{Op: "open", Path: name, Err: err}
			}
		}
		files = append(files, uintptr(other))
	}
	return files, nil
}

// ordinary lets the unit share the processor as others do: a supervisor that runs
// before all others keeps that for itself, and no group with a share holds it.
func ordinary() error {
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil || a.Policy == unix.SCHED_NORMAL || a.Policy == unix.SCHED_BATCH || a.Policy == unix.SCHED_IDLE {
		return os.NewSyscallError("sched_getattr", err)
	}
	return os.NewSyscallError("sched_setattr", unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr}, 0))
}

// join puts the calling thread, and so its children, into control groups that hold
// the unit and not this process, and lets them see none above their own.
func (i *inner) join() error {
	for _, n := range i.order.Join {
		if _, err := unix.Write(i.handed[n], []byte("0")); err != nil {
			return os.NewSyscallError("join", err)
		}
		unix.Close(i.handed[n])
	}
	return os.NewSyscallError("unshare control groups", unix.Unshare(unix.CLONE_NEWCGROUP))
}

// bound sets what every process of the unit inherits.
func (i *inner) bound() error {
	limits := map[int]uint64{unix.RLIMIT_CORE: 0}
	if n := i.order.Limits.OpenFiles; n > 0 {
		limits[unix.RLIMIT_NOFILE] = n
	}
	if n := i.order.Limits.FileSize; n > 0 {
		limits[unix.RLIMIT_FSIZE] = n
	}
	for what, most := range limits {
		var have unix.Rlimit
		if err := unix.Getrlimit(what, &have); err != nil {
			return fmt.Errorf("limit %d: %w", what, err)
		}
		most = min(most, have.Max)
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit %d: %w", what, err)
		}
	}
	return nil
}

// confine gives away what the calling thread could do beyond the unit.
func (i *inner) confine() error {
	version, err := landlockVersion()
	if err != nil {
		return need(nameLandlock, err)
	}
	ruleset, err := i.view.landlock(version)
	if err != nil {
		return need(nameLandlock, err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("no new privileges", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // nobody looks into this process
		return os.NewSyscallError("dumpable", err)
	}
	if i.order.HasExec {
		if i.hooks.Exec == nil {
			return errors.New("exec: this program has no way to decide about programs")
		}
		if err := i.hooks.Exec(i.order.Exec); err != nil {
			return fmt.Errorf("exec: %w", err)
		}
	}
	if err := dropBounding(); err != nil {
		return err
	}
	if err := dropHere(); err != nil {
		return err
	}
	if err := restrictSelf(ruleset); err != nil {
		return need(nameLandlock, err)
	}
	unix.Close(ruleset)
	i.questions, err = jail.InstallHere(i.order.Filter, true)
	return need(nameSeccomp, err)
}

// reap takes in what ends. When the main process has, all that is left is ended.
func (i *inner) reap() error {
	var e end
	for ended := false; ; {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD) && ended:
			i.tellLooks()
			return i.link.send(kindEnd, &e)
		case err != nil:
			return os.NewSyscallError("wait4", err)
		case pid == i.main:
			e.Status, ended = status, true
			_ = unix.Kill(-1, unix.SIGKILL)
		case ended:
			_ = unix.Kill(-1, unix.SIGKILL) // what was forked while the others were ended
		}
	}
}

// tellLooks says what of the machine's descriptions was opened.
func (i *inner) tellLooks() {
	for _, name := range i.view.looked() {
		if i.probes.add(name) {
			w := word(name)
			_ = i.link.send(kindProbe, &w)
		}
	}
}
