package partition

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/jail"
	"github.com/joulebox/joulebox/internal/jail/execwatch"
)

// RunInitIfAsked never returns in the first process of a partition. It comes first
// in every program that starts partitions.
func RunInitIfAsked() {
	if len(os.Args) != 1 || os.Args[0] != initName || os.Getpid() != 1 {
		return
	}
	runtime.LockOSThread() // the first thread: the clocks of what it forks are its own
	if err := runInit(); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// first is the partition's first process.
type first struct {
	c      *Cell // its end of the channel
	order  order
	files  []*os.File
	tty    *os.File // the program's side of its terminal
	probed atomic.Bool
}

func runInit() error {
	conn, err := net.FileConn(os.NewFile(0, "socket"))
	if err != nil {
		return err
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("no socket")
	}
	f := &first{c: &Cell{channel: unixConn}}
	master, err := f.prepare()
	if err != nil {
		_ = f.c.send(report{Missing: err.Error()}, nil)
		return err
	}
	var handed []*os.File
	if master != nil {
		handed = []*os.File{master}
	}
	if err := f.c.send(report{Ready: true}, handed); err != nil {
		return err
	}
	if master != nil {
		master.Close()
	}
	if _, _, err := f.c.receive(); err != nil { // the word to go on
		return err
	}
	return f.run()
}

// prepare builds the view and gives up the rest. It returns the far side of the
// program's terminal.
func (f *first) prepare() (*os.File, error) {
	if err := f.receiveOrder(); err != nil {
		return nil, err
	}
	if err := f.nameItself(); err != nil {
		return nil, err
	}
	v := &view{order: &f.order}
	if err := v.build(); err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	if err := loopbackUp(); err != nil {
		return nil, fmt.Errorf("loopback interface: %w", err)
	}
	master, err := f.openTerminal()
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	if f.order.Sealed {
		if err := execwatch.SealMemfds(); err != nil {
			return nil, err
		}
	}
	listener, err := jail.EnterCell(jail.CellProfile{Places: v.places(), OpenFiles: f.order.OpenFiles})
	if err != nil {
		return nil, err
	}
	go jail.Listen(listener, f.notice)
	return master, nil
}

// notice notes a call that only someone who wants out makes. To be told who one is
// already is no such call.
func (f *first) notice(n jail.Notice) bool {
	if jail.IdentityCall(n.Call) {
		if !f.asksForItself(n) {
			f.probed.Store(true)
		}
		return true
	}
	f.probed.Store(true)
	return false
}

// asksForItself reports whether a call names no one but the caller.
func (f *first) asksForItself(n jail.Notice) bool {
	switch uintptr(n.Call) {
	case unix.SYS_SETGROUPS, unix.SYS_CAPSET:
		return true // only its own, and there is nothing to gain
	}
	for _, a := range n.Args[:3] {
		if id := uint32(a); id != f.order.UID && id != f.order.GID && id != ^uint32(0) && id != 0 {
			return false
		} else if id == 0 && f.order.UID != 0 && a == 0 && n.Args[0] == 0 {
			return false // it asks to be the superuser
		}
	}
	return true
}

// receiveOrder reads what the partition is for, byte by byte with its descriptors.
func (f *first) receiveOrder() error {
	line, fds, err := f.c.receiveLine(64 << 20)
	if err != nil {
		return err
	}
	for _, fd := range fds {
		f.files = append(f.files, os.NewFile(uintptr(fd), "handed"))
	}
	if err := json.Unmarshal(line, &f.order); err != nil {
		return err
	}
	want := 3
	if f.order.Program {
		want++
	}
	if len(f.files) != want {
		return fmt.Errorf("got %d descriptors, want %d", len(f.files), want)
	}
	return nil
}

// nameItself gives the machine the same name everywhere (§7.5), and its clocks
// another beginning: how long this host is up is none of the unit's business.
func (f *first) nameItself() error {
	if err := errors.Join(unix.Sethostname([]byte("unit")), unix.Setdomainname([]byte("(none)"))); err != nil {
		return fmt.Errorf("host name: %w", err)
	}
	return newClocks()
}

// newClocks has the clocks that count from the machine's start begin now, for all
// that this thread forks.
func newClocks() error {
	if unix.Gettid() != os.Getpid() {
		return errors.New("clocks: this isn't the first thread")
	}
	var up, monotonic unix.Timespec
	if err := errors.Join(unix.ClockGettime(unix.CLOCK_BOOTTIME, &up), unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic)); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWTIME); err != nil {
		return fmt.Errorf("clocks: %w", err)
	}
	offsets := fmt.Sprintf("monotonic -%d 0\nboottime -%d 0\n", monotonic.Sec, up.Sec)
	if err := os.WriteFile("/proc/self/timens_offsets", []byte(offsets), 0); err != nil {
		return fmt.Errorf("clocks: %w", err)
	}
	return nil
}

// openTerminal opens a terminal in the view's own folder of them.
func (f *first) openTerminal() (master *os.File, err error) {
	if !f.order.Terminal {
		return nil, nil
	}
	fd, err := unix.Open("/dev/pts/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	master = os.NewFile(uintptr(fd), "terminal")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	size := &unix.Winsize{Row: f.order.Rows, Col: f.order.Columns}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size); err != nil {
		return nil, err
	}
	f.tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	return master, err
}

// run starts the program and waits for all that comes of it.
func (f *first) run() error {
	go f.watchChannel()
	// Caught and not ignored: what is ignored here the program would ignore too.
	signal.Notify(make(chan os.Signal, 1))
	pid, err := f.start()
	if err != nil {
		r := report{Failed: "program"}
		var errno syscall.Errno
		if errors.As(err, &errno) {
			r.Errno = int(errno)
		} else {
			r.Failed = err.Error()
		}
		return f.c.send(r, nil)
	}
	if err := f.c.send(report{Started: true}, nil); err != nil {
		return err
	}
	status := f.reap(pid)
	return f.c.send(report{Ended: true, Status: int(status), Probing: f.probed.Load()}, nil)
}

// watchChannel ends the partition when its supervisor is gone, in case that the
// death signal doesn't.
func (f *first) watchChannel() {
	if _, _, err := f.c.receive(); err != nil {
		os.Exit(1)
	}
}

// start forks the program. What it is kept from is inherited from here.
func (f *first) start() (int, error) {
	o := &f.order
	attr := &syscall.ProcAttr{Dir: o.Dir, Env: o.Env, Sys: &syscall.SysProcAttr{Setsid: true}}
	if attr.Dir == "" {
		attr.Dir = Home
	}
	streams := f.files[:3]
	if f.tty != nil {
		streams = []*os.File{f.tty, f.tty, f.tty}
		attr.Sys.Setctty = true
		attr.Sys.Ctty = 0
	}
	for _, s := range streams {
		attr.Files = append(attr.Files, s.Fd())
	}
	path := o.Path
	if o.Program {
		var err error
		if path, err = f.programPath(attr); err != nil {
			return 0, err
		}
	}
	pid, err := syscall.ForkExec(path, o.Argv, attr)
	for _, s := range f.files {
		s.Close()
	}
	if f.tty != nil {
		f.tty.Close()
	}
	return pid, err
}

// programPath is the name by which the program's descriptor is executed. A script in
// memory is opened once more by its interpreter, so the descriptor stays open for
// it. A file is executed by its name in the view, which has to be the same file.
func (f *first) programPath(attr *syscall.ProcAttr) (string, error) {
	program := f.files[3]
	if f.order.ProgramFile == "" {
		attr.Files = append(attr.Files, program.Fd())
		return "/proc/self/fd/3", nil
	}
	var want, got unix.Stat_t
	if err := errors.Join(unix.Fstat(int(program.Fd()), &want), unix.Stat(f.order.Path, &got)); err != nil {
		return "", err
	}
	if want.Dev != got.Dev || want.Ino != got.Ino {
		return "", fmt.Errorf("%s is another file now than when it was looked at", f.order.Path)
	}
	return f.order.Path, nil
}

// reap waits for the program, then ends and reaps everything else.
func (f *first) reap(program int) (status unix.WaitStatus) {
	for {
		var s unix.WaitStatus
		pid, err := unix.Wait4(-1, &s, 0, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return status // there is no one left
		case pid == program:
			status = s
			_ = unix.Kill(-1, unix.SIGKILL)
		}
	}
}
