//go:build amd64 || arm64

package cell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/jail"
)

// Cell is a unit that runs, with what holds it.
type Cell struct {
	spec     *Spec
	process  *os.Process
	link     link
	groups   *groups
	given    identity // what every process of the unit has to be
	probes   probes
	terminal *os.File
	network  []*os.File
	main     *os.File // a pidfd
	// questions is where the kernel asks about calls; nil if the first process is
	// asked.
	questions *os.File
	crowded   crowd // of whoever reads them

	mu      sync.Mutex
	killed  string
	changed string
	over    bool // the first process has been waited for

	done chan struct{} // closed when end is there and nothing of the cell is left
	end  End
	err  error
}

// Start builds a cell and starts the unit in it. What the cell can't be without
// and this host lacks is named in a *jail.MissingError; a program that can't be run
// is in an *os.PathError whose Op is "exec". When ctx is done the cell
// is killed. Someone has to call [Cell.Wait].
func Start(ctx context.Context, s Spec) (c *Cell, err error) {
	if !hooked {
		return nil, errUnhooked
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var h handing
	o, err := s.order(&h)
	if err != nil {
		return nil, fmt.Errorf("cell: %w", err)
	}
	var begun *Cell
	if f := take(&s); f != nil {
		begun, err = f.become(&s, o, &h)
	}
	if begun == nil && !h.held && !isExec(err) { // the host may have changed since it was begun
		var f *first
		if f, err = newFirst(s.UID, s.GID, base{Host: s.Root.Dir == nil}, s.Limits); err != nil {
			return nil, err
		}
		begun, err = f.become(&s, o, &h)
	}
	if err != nil {
		return nil, err
	}
	c = begun
	c.remember()
	c.groups.oom.wait(c.runOut)
	stop := context.AfterFunc(ctx, func() { c.Kill(context.Cause(ctx).Error()) })
	go func() {
		c.watch()
		stop()
		close(c.done)
	}()
	return c, nil
}

// isExec reports whether an error is about the program, so that trying again is
// for nothing.
func isExec(err error) bool {
	var p *os.PathError
	return errors.As(err, &p) && p.Op == "exec"
}

// become makes a first process a cell.
func (f *first) become(s *Spec, o *order, h *handing) (*Cell, error) {
	c := &Cell{spec: s, done: make(chan struct{}), crowded: crowd{most: o.Most}, groups: f.groups, process: f.process, link: link{fd: f.socket}}
	if err := c.begin(o, h); err != nil {
		_ = c.process.Kill()
		return nil, errors.Join(err, c.clean())
	}
	return c, nil
}

// begin tells the first process what to build, and follows it until the unit runs.
func (c *Cell) begin(o *order, h *handing) error {
	c.groups.limits = c.spec.Limits
	if err := c.groups.complete(); err != nil {
		return explain(err)
	}
	if err := c.groups.limit(c.places()); err != nil { // while the first process starts
		return explain(err)
	}
	with := handing{files: slices.Clone(h.files)}
	version, _ := landlockVersion() // the first process complains
	o.Gated = o.gated(version) && c.spec.Observe == nil
	o.Filter, o.Join = callFilter(o.UID, o.GID, o.outside(), o.Gated, o.Nowhere, o.Counted, c.spec.Observe != nil), nil
	for _, f := range c.groups.join {
		o.Join = append(o.Join, with.add(f))
	}
	if o.Counted && o.Gated {
		dir, err := os.OpenFile(c.groups.has[controlTime], unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return fmt.Errorf("cell: %w", err)
		}
		defer dir.Close()
		o.Group = with.add(dir)
	}
	if err := c.link.send(kindOrder, o, with.fds()...); err != nil {
		return fmt.Errorf("cell: %w", c.whyGone(err))
	}
	for {
		k, body, fds, err := c.link.receive()
		if err != nil {
			return fmt.Errorf("cell: %w", c.whyGone(err))
		}
		switch k {
		case kindHold:
			h.held = true
			if err := c.hold(fds); err != nil {
				return err
			}
		case kindStarted:
			return c.started(fds)
		default:
			if err := c.told(k, body); err != nil {
				return err
			}
		}
	}
}

// places are what device I/O can go to.
func (c *Cell) places() (list []*os.File) {
	for _, m := range c.spec.Mounts {
		list = append(list, m.File)
	}
	if c.spec.Root.Dir != nil {
		return append(list, c.spec.Root.Dir)
	}
	return append(list, hostPrograms())
}

// hostPrograms is the folder of the host's programs.
var hostPrograms = sync.OnceValue(func() *os.File {
	f, err := os.Open("/usr")
	if err != nil {
		return devNull()
	}
	return f
})

// runOut ends a cell that has run out of memory.
func (c *Cell) runOut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		_ = c.process.Kill()
	}
}

// explain names the mechanism that an error is about, if there is one.
func explain(err error) error {
	var n *needError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &n):
		return missing(n.mechanism, n.err)
	}
	return fmt.Errorf("cell: %w", err)
}

// started keeps what the unit is followed by.
func (c *Cell) started(fds []int) error {
	if len(fds) == 0 {
		return errors.New("cell: its first process didn't hand out the unit's")
	}
	c.main = os.NewFile(uintptr(fds[0]), "main process")
	if len(fds) > 1 {
		c.questions = newQuestions(fds[1])
		go c.answer()
	}
	return nil
}

// whyGone is what there is to say when the first process has ended without a word.
func (c *Cell) whyGone(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		return errors.New("its first process has ended without a word")
	}
	return err
}

// hold keeps what was opened within, and lets the caller look at the cell from
// outside.
func (c *Cell) hold(fds []int) error {
	for n, fd := range fds {
		if n == 0 && c.spec.Terminal != nil {
			_ = unix.SetNonblock(fd, true) // so that a Close ends a Read
			c.terminal = os.NewFile(uintptr(fd), "terminal")
			continue
		}
		c.network = append(c.network, os.NewFile(uintptr(fd), "network"))
	}
	if c.spec.Hold == nil {
		return nil
	}
	if err := c.spec.Hold(c.process.Pid); err != nil {
		return err
	}
	return c.link.send(kindGo, nothing{})
}

// told takes a message that can come at any time.
func (c *Cell) told(k kind, body []byte) error {
	switch k {
	case kindProbe:
		var name word
		if err := decode(body, &name); err != nil {
			return fmt.Errorf("cell: %w", err)
		}
		c.probes.add(string(name))
		return nil
	case kindCrowded:
		c.crowd()
		return nil
	case kindNowhere:
		var at word
		if err := decode(body, &at); err != nil {
			return fmt.Errorf("cell: %w", err)
		}
		if to, err := netip.ParseAddrPort(string(at)); err == nil && c.spec.Unreachable != nil {
			c.spec.Unreachable(to)
		}
		return nil
	case kindFault:
		var f fault
		if err := decode(body, &f); err != nil {
			return fmt.Errorf("cell: %w", err)
		}
		return f.error()
	}
	return fmt.Errorf("cell: its first process sent message %d", k)
}

func missing(name string, err error) error {
	return &jail.MissingError{Mechanisms: []jail.Mechanism{{Name: name, Missing: err, Needed: jail.EveryProcess}}}
}

// watch follows the first process to its end, and then cleans up.
func (c *Cell) watch() {
	var e *end
	var failed error
	for {
		k, body, _, err := c.link.receive()
		if err != nil {
			break
		}
		if k == kindEnd {
			e = &end{}
			if failed = decode(body, e); failed == nil {
				continue
			}
		} else if failed = c.told(k, body); failed == nil {
			continue
		}
		_ = c.process.Kill()
		break
	}
	cleaned := c.clean()
	c.conclude(e)
	c.err = errors.Join(failed, cleaned)
}

// clean waits for the first process, with which all processes of the cell have
// ended, and takes away what is left of the cell on the host.
func (c *Cell) clean() error {
	_, err := c.process.Wait()
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	if c.main != nil {
		c.main.Close()
	}
	c.closeQuestions()
	unix.Close(c.link.fd)
	for _, f := range c.link.files {
		unix.Close(f)
	}
	c.end.Usage, c.end.OOM, _ = c.groups.final()
	return errors.Join(err, c.groups.remove())
}

// closeQuestions lets nobody answer any more. On some kernels who has begun to take
// a question waits for the next one, if the one there was has gone.
func (c *Cell) closeQuestions() {
	if c.questions == nil {
		return
	}
	closed := make(chan struct{})
	go func() { defer close(closed); c.questions.Close() }()
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	select {
	case <-closed:
	case <-patience.C:
	}
}

// conclude says how the unit has ended.
func (c *Cell) conclude(e *end) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end.Killed, c.end.Probing, c.end.Changed = c.killed, c.probes.list(), c.changed
	if e == nil {
		c.end.Signal = syscall.SIGKILL // with the whole cell
		return
	}
	if e.Status.Signaled() {
		c.end.Signal = e.Status.Signal()
		return
	}
	code := uint32(e.Status.ExitStatus())
	c.end.Code = &code
}

// Wait waits until the main process has ended, and with it all that came of it:
// then there is no process, mount, namespace or control group of the cell left. An
// error says that the cell failed.
func (c *Cell) Wait() (End, error) {
	<-c.done
	return c.end, c.err
}

// Kill ends all processes of the cell at once, for a reason that End.Killed has.
// It doesn't wait.
func (c *Cell) Kill(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	if c.killed == "" {
		c.killed = reason
	}
	_ = c.process.Kill() // it is the first of its namespace: the others end with it
}

// Signal sends a signal to the main process's group.
func (c *Cell) Signal(sig syscall.Signal) error {
	select {
	case <-c.done:
		return os.ErrProcessDone
	default:
	}
	c.mu.Lock() // so that its number isn't another's
	defer c.mu.Unlock()
	if c.over {
		return os.ErrProcessDone
	}
	err := unix.PidfdSendSignal(int(c.main.Fd()), sig, nil, pidfdGroup)
	if errors.Is(err, unix.EINVAL) { // Linux before 6.9
		err = c.signalGroup(sig)
	}
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return os.NewSyscallError("signal", err)
}

const pidfdGroup = 1 << 2 // PIDFD_SIGNAL_PROCESS_GROUP

// signalGroup finds the main process's number, which is its group's.
func (c *Cell) signalGroup(sig syscall.Signal) error {
	b, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(int(c.main.Fd())))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(statusLine("\n"+string(b), "Pid")))
	if err != nil || pid <= 0 {
		return unix.ESRCH
	}
	return unix.Kill(-pid, sig)
}

// Terminal is the supervisor's side of the unit's terminal, nil if it has none. The
// caller closes it.
func (c *Cell) Terminal() *os.File { return c.terminal }

// Resize changes the size of the unit's terminal.
func (c *Cell) Resize(s Size) error {
	if c.terminal == nil {
		return errors.New("cell: there is no terminal")
	}
	raw, err := c.terminal.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = resize(int(fd), s) }); err != nil {
		return err
	}
	return failed
}

// Network is what [Inside].Network returned. The caller closes it.
func (c *Cell) Network() []*os.File { return c.network }

// Usage is what the tree has used until now. It also looks whether a process of it
// is more than it was made to be: then the cell is killed, and End.Changed says
// why.
func (c *Cell) Usage() (Usage, error) {
	select {
	case <-c.done:
		return c.end.Usage, nil
	default:
	}
	if what := c.look(); what != "" {
		c.mu.Lock()
		c.changed = what
		c.mu.Unlock()
		c.Kill(what)
	}
	u, err := c.groups.usage()
	if err != nil && c.isOver() { // its groups went while they were read
		<-c.done
		return c.end.Usage, nil
	}
	return u, err
}

func (c *Cell) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// PID is the number of the cell's first process.
func (c *Cell) PID() int { return c.process.Pid }
