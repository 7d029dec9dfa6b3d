package host

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/hostspawn"
)

// process is a host process as its supervisor has it.
type process struct {
	hostspawn.Process
	channel *channel
	page    *mapping
	key     processKey // what it serves; it serves nothing else
	runs    uint64
	clock   clockID

	established []mechanism
	oomKills    uint64 // of the whole machine, when the process was started

	mu   sync.Mutex
	gone bool // it was waited for

	// While it waits for a run, and until when that is settled.
	slot    uint64
	claimed bool
	since   time.Time
	cpu     time.Duration
	memory  uint64
	statm   *os.File // where its memory is read, once it was
}

// clockID is a clock that the kernel keeps of another process.
type clockID int32

// cpuClock is the clock of a process's CPU time, of all its threads.
func cpuClock(pid int) clockID {
	const sched = 2
	return clockID(^pid<<3 | sched)
}

func (c clockID) read() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(int32(c), &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// newProcess is what a supervisor has of a process that was just started and
// serves nothing yet.
func newProcess(s hostspawn.Process, err error) (*process, error) {
	if err != nil {
		return nil, err
	}
	p := &process{Process: s, clock: cpuClock(s.Pid), channel: newChannel(s.Socket, maxFrame, false)}
	if p.page, err = newMapping(); err != nil {
		p.kill()
		p.wait()
		return nil, fmt.Errorf("host process: %w", err)
	}
	p.oomKills = oomKills()
	return p, nil
}

// kill ends the process now. What it was doing is lost.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		_ = unix.Kill(p.Pid, unix.SIGKILL) // it may have died by itself
	}
}

// waits begins the account of a process that has nothing to do.
func (p *process) waits() {
	p.claimed, p.since, p.cpu, p.memory = false, time.Now(), p.clock.read(), p.residentBytes()
}

// drew is what a waiting process drew since it was asked last.
func (p *process) drew() Drawn {
	now, cpu := time.Now(), p.clock.read()
	d := Drawn{CPUTime: cpu - p.cpu, Wall: now.Sub(p.since), Memory: p.memory}
	p.since, p.cpu = now, cpu
	return d
}

// residentBytes is the memory that a process holds, or zero when it is gone. It is
// asked for after every run of a kept process, so the file stays open.
func (p *process) residentBytes() uint64 {
	if p.statm == nil {
		f, err := os.Open("/proc/" + strconv.Itoa(p.Pid) + "/statm")
		if err != nil {
			return 0
		}
		p.statm = f
	}
	var text [128]byte
	n, _ := p.statm.ReadAt(text[:], 0)
	fields := bytes.Fields(text[:n])
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	return pages * uint64(os.Getpagesize())
}

// signal tells the process to look at the shared page.
func (p *process) signal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		_ = unix.Kill(p.Pid, unix.SIGTERM)
	}
}

// wait waits for the end of a process that was killed or has died, and frees what
// the supervisor has of it. It says how it ended, and with which last words.
func (p *process) wait() (e end, words string) {
	for unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	// Its number stays its own up to here, and is nobody's to signal from here on.
	p.mu.Lock()
	p.gone = true
	pid, err := unix.Wait4(p.Pid, &e.status, 0, &e.usage)
	p.mu.Unlock()
	e.known = err == nil && pid == p.Pid
	words = p.lastWords()
	unix.Close(p.Socket)
	unix.Close(p.Report)
	if p.statm != nil {
		p.statm.Close()
	}
	if p.page != nil {
		p.page.close()
	}
	return e, words
}

// end is how a process ended, and what it used.
type end struct {
	known  bool
	status unix.WaitStatus
	usage  unix.Rusage
}

func (e end) signal() unix.Signal {
	if e.known && e.status.Signaled() {
		return e.status.Signal()
	}
	return 0
}

func (e end) cpu() time.Duration { return time.Duration(e.usage.Utime.Nano() + e.usage.Stime.Nano()) }

func (e end) String() string {
	switch {
	case e.signal() != 0:
		return "signal: " + e.signal().String()
	case e.known:
		return "exit status " + strconv.Itoa(e.status.ExitStatus())
	}
	return "it is gone"
}

// outOfMemory reports that the kernel has ended some process for want of memory
// since this one was started, which is the first that it would choose.
func (p *process) outOfMemory() bool { return oomKills() > p.oomKills }

// oomKills is the kernel's count, or zero where it has none.
func oomKills() uint64 {
	text, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), "\noom_kill ")
	count, _, _ := strings.Cut(after, "\n")
	n, _ := strconv.ParseUint(count, 10, 64)
	return n
}

// lastWords is the beginning of what a process that crashed said.
func (p *process) lastWords() string {
	buf := make([]byte, 4096)
	n, err := transfer(func() (int, error) { return unix.Read(p.Report, buf) })
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// spokeOf finds in last words what the Go runtime says when it gets no more
// memory.
func spokeOfMemory(words string) bool {
	return slices.ContainsFunc([]string{"out of memory", "cannot allocate memory", "failed to create new OS thread"},
		func(text string) bool { return strings.Contains(words, text) })
}
