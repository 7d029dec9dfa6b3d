package partition

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// initName is the argv[0] by which the first process of a partition knows itself.
const initName = "joulebox-init"

// Cell is a partition with a program in it.
type Cell struct {
	share   *share
	process *os.Process
	before  time.Duration // CPU time that building took, which is none of the program's
	channel *net.UnixConn
	// Master is the program's terminal, where it has one.
	Master *os.File

	mu     sync.Mutex
	killed bool
	gone   bool
	last   Usage
}

// order is the Spec as the first process is told it. Descriptors come along in the
// order of the fields.
type order struct {
	Argv, Env     []string
	Dir, Path     string
	Program       bool   // a descriptor comes along
	ProgramFile   string // the real path of what it holds; empty for a file in memory
	Terminal      bool
	Rows, Columns uint16
	Root          string
	Mounts        []Mount
	Covered       []string
	UID, GID      uint32
	OpenFiles     uint64
	Memory        uint64
	Sealed        bool
}

// report is what the first process says.
type report struct {
	Ready, Started bool
	Missing        string // what couldn't be established
	Failed         string // why the program couldn't be started
	Errno          int
	Ended          bool
	Status         int
	Probing        bool
}

// spawner starts processes on one thread that never ends: the kernel sends the
// death signal of a child when the thread that started it ends.
var spawner = sync.OnceValue(func() chan<- func() {
	starts := make(chan func(), 1)
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
	return starts
})

// Start builds a partition and starts the program in it. When it fails nothing is
// left.
func Start(ctx context.Context, spec Spec) (c *Cell, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c = &Cell{}
	defer func() {
		if err != nil {
			c.abandon()
			c = nil
		}
	}()
	if c.share, err = newShare(); err != nil {
		return c, err
	}
	if err = c.share.bound(spec.Limits, spec.Mounts); err != nil {
		return c, &MissingError{"control groups", err, "joulebox doctor shows which can be used"}
	}
	if err = c.spawn(spec); err != nil {
		return c, err
	}
	stop := context.AfterFunc(ctx, c.end)
	defer stop()
	return c, c.begin(spec)
}

// spawn starts the first process, in its groups and namespaces, with nothing else.
func (c *Cell) spawn(spec Spec) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("partition: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	defer theirs.Close()
	ours := os.NewFile(uintptr(pair[0]), "socket")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return fmt.Errorf("partition: %w", err)
	}
	c.channel = conn.(*net.UnixConn)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	done := make(chan error, 1)
	spawner() <- func() {
		p, err := os.StartProcess("/proc/self/exe", []string{initName}, &os.ProcAttr{
			Dir: "/", Env: []string{"GOMAXPROCS=2", "GOTRACEBACK=none"}, Files: []*os.File{theirs, null, null},
			Sys: &syscall.SysProcAttr{
				Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
					unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: int(spec.UID), HostID: os.Geteuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: int(spec.GID), HostID: os.Getegid(), Size: 1}},
				// What building the view takes, over the new namespaces alone.
				AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SYS_TIME, unix.CAP_SETPCAP},
				Pdeathsig:   syscall.SIGKILL,
				Setpgid:     true,
			},
		})
		c.process = p
		done <- err
	}
	if err := <-done; err != nil {
		return &MissingError{"namespaces", err, "allow user namespaces (user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns), or run as root"}
	}
	return c.share.add(c.process.Pid)
}

// begin has the view built, bounds what comes, and lets the program start.
func (c *Cell) begin(spec Spec) error {
	o := order{
		Argv: spec.Argv, Env: spec.Env, Dir: spec.Dir, Path: spec.Path, Program: spec.Program != nil, Terminal: spec.Terminal,
		Rows: spec.Rows, Columns: spec.Columns, Root: spec.Root, Mounts: spec.Mounts, Covered: spec.Covered, UID: spec.UID, GID: spec.GID,
		OpenFiles: spec.Limits.OpenFiles, Memory: spec.Limits.Memory, Sealed: spec.Sealed,
	}
	if spec.Program != nil {
		real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", spec.Program.Fd()))
		if err != nil {
			return fmt.Errorf("program: %w", err)
		}
		if !strings.HasPrefix(real, "/memfd:") {
			o.ProgramFile = real
		}
	}
	files := []*os.File{spec.Stdin, spec.Stdout, spec.Stderr}
	if spec.Program != nil {
		files = append(files, spec.Program)
	}
	if err := c.send(o, files); err != nil {
		return fmt.Errorf("partition: %w", err)
	}
	r, fds, err := c.receive()
	switch {
	case err != nil:
		return fmt.Errorf("partition: its first process is gone: %w", err)
	case r.Missing != "":
		return &MissingError{"partition", errors.New(r.Missing), "joulebox doctor shows what can be established here"}
	case !r.Ready:
		return errors.New("partition: its first process speaks nonsense")
	}
	if len(fds) > 0 {
		c.Master = os.NewFile(uintptr(fds[0]), "terminal")
	}
	if spec.Held != nil {
		if err := spec.Held(c.process.Pid); err != nil {
			return err
		}
	}
	if err := c.share.capMemory(spec.Limits.Memory); err != nil {
		return err
	}
	if c.before, err = c.share.cpuTime(); err != nil {
		return err
	}
	if err := c.send(struct{}{}, nil); err != nil {
		return fmt.Errorf("partition: %w", err)
	}
	return c.started()
}

func (c *Cell) started() error {
	r, _, err := c.receive()
	switch {
	case err != nil:
		return fmt.Errorf("partition: its first process is gone: %w", err)
	case r.Errno != 0:
		return &StartError{fmt.Errorf("%s: %w", r.Failed, syscall.Errno(r.Errno))}
	case r.Failed != "":
		return &StartError{errors.New(r.Failed)}
	case !r.Started:
		return errors.New("partition: its first process speaks nonsense")
	}
	return nil
}

// send sends one line, and descriptors along with it.
func (c *Cell) send(v any, files []*os.File) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			if f == nil {
				return errors.New("BUG(joulebox): a descriptor is missing")
			}
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	line = append(line, '\n')
	n, _, err := c.channel.WriteMsgUnix(line, rights, nil)
	for err == nil && n < len(line) {
		var more int
		more, err = c.channel.Write(line[n:])
		n += more
	}
	return err
}

// maxReport is far more than a report takes.
const maxReport = 64 << 10

// receive reads one report, and the descriptors that come along.
func (c *Cell) receive() (r report, fds []int, err error) {
	line, fds, err := c.receiveLine(maxReport)
	if err != nil {
		return r, fds, err
	}
	return r, fds, json.Unmarshal(line, &r)
}

// receiveLine reads one line.
func (c *Cell) receiveLine(most int) (line []byte, fds []int, err error) {
	oob := make([]byte, unix.CmsgSpace(4*4))
	for {
		var b [1]byte
		n, on, _, _, err := c.channel.ReadMsgUnix(b[:], oob)
		if err != nil {
			return nil, fds, err
		}
		if on > 0 {
			messages, err := unix.ParseSocketControlMessage(oob[:on])
			if err != nil {
				return nil, fds, err
			}
			for i := range messages {
				got, err := unix.ParseUnixRights(&messages[i])
				if err != nil {
					return nil, fds, err
				}
				for _, fd := range got {
					unix.CloseOnExec(fd)
				}
				fds = append(fds, got...)
			}
		}
		switch {
		case n == 0:
			return nil, fds, io.ErrUnexpectedEOF
		case b[0] == '\n':
			return line, fds, nil
		case len(line) == most:
			return nil, fds, errors.New("it says too much")
		}
		line = append(line, b[0])
	}
}

// Wait waits until the program has ended and nothing of the partition is left.
func (c *Cell) Wait() (e End, err error) {
	r, _, receiveErr := c.receive()
	oom, oomErr := c.share.killedForMemory()
	c.end()
	_, waitErr := c.process.Wait()
	if errors.Is(waitErr, syscall.ECHILD) {
		waitErr = nil // a tracer has seen its end
	}
	usage, usageErr := c.Usage()
	c.mu.Lock()
	c.gone, c.last = true, usage
	e.Killed = c.killed
	c.mu.Unlock()
	c.share.remove()
	c.channel.Close()
	e.Usage, e.OutOfMemory = usage, oom > 0
	if err := errors.Join(oomErr, usageErr, waitErr); err != nil {
		return e, err
	}
	e.Probing = r.Probing
	switch status := unix.WaitStatus(r.Status); {
	case receiveErr != nil || !r.Ended:
		if !e.Killed && !e.OutOfMemory {
			return e, fmt.Errorf("partition: its first process died without a word: %w", receiveErr)
		}
		e.Signal = uint32(unix.SIGKILL)
	case status.Signaled():
		e.Signal = uint32(status.Signal())
	default:
		e.Code = status.ExitStatus()
	}
	return e, nil
}

// Usage is what has been used until now.
func (c *Cell) Usage() (u Usage, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return c.last, nil
	}
	if u, err = c.share.usage(); err == nil {
		u.CPUTime = max(0, u.CPUTime-c.before)
	}
	return u, err
}

// CPUTime is that of the whole tree, with what has ended in it.
func (c *Cell) CPUTime() (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return c.last.CPUTime, nil
	}
	used, err := c.share.cpuTime()
	return max(0, used-c.before), err
}

// Processes is how many there are, the first one included.
func (c *Cell) Processes() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return 0, nil
	}
	return c.share.processes()
}

// OutOfMemory reports that the kernel has ended some process for want of the
// partition's memory.
func (c *Cell) OutOfMemory() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return false // its End says it
	}
	n, err := c.share.killedForMemory()
	return err != nil || n > 0
}

// Kill ends the whole partition.
func (c *Cell) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.killed = true
		_ = c.process.Kill() // the kernel ends all others with the first
	}
}

// end ends what is left, after the program's own end.
func (c *Cell) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone && c.process != nil {
		_ = c.process.Kill()
	}
}

// Resize tells the program's terminal its size.
func (c *Cell) Resize(rows, columns uint16) error {
	if c.Master == nil {
		return nil
	}
	return unix.IoctlSetWinsize(int(c.Master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
}

// abandon leaves nothing of a partition that never began.
func (c *Cell) abandon() {
	if c.process != nil {
		c.end()
		_, _ = c.process.Wait()
	}
	if c.channel != nil {
		c.channel.Close()
	}
	if c.Master != nil {
		c.Master.Close()
	}
	if c.share != nil {
		c.share.remove()
	}
}
