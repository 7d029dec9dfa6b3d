//go:build amd64 || arm64

package cell

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/jail"
)

// A control group counts processes and threads as one. So that a bound on processes
// doesn't take threads from programs, whoever answers the kernel's questions counts
// the processes before there is another. The control group's own bound stays behind
// it.

// count has new processes asked about; threads aren't.
func count(f *jail.Filter) {
	f.ArgHas(unix.SYS_CLONE, 0, unix.CLONE_THREAD, namespaces, jail.Notify)
	for _, call := range archForks {
		f.Answer(jail.Notify, call)
	}
}

// forks reports whether a call makes a process, and no namespaces with it.
func forks(n notice) bool {
	if n.nr == unix.SYS_CLONE {
		return n.args[0]&namespaces == 0
	}
	return slices.Contains(archForks, uintptr(n.nr))
}

// coming is how long at most a process that may be made is waited for.
const coming = 100 * time.Millisecond

// crowd decides about processes to be.
type crowd struct {
	most   uint32
	known  map[string]bool   // processes that there were
	coming map[int]time.Time // threads that may make one, which isn't there yet
}

// room reports whether a thread may make one more process; list has those that there
// are, the main one among them. Where those that are to come make the difference, it
// waits for them.
func (c *crowd) room(tid int, list func() ([]string, error)) bool {
	delete(c.coming, tid) // it is done with its last one
	for {
		c.settle() // before it is looked who is there
		have, err := list()
		if err != nil || len(have) > int(c.most) {
			return false
		}
		c.arrived(have)
		if len(have)+len(c.coming) <= int(c.most) {
			if c.coming == nil {
				c.coming = map[int]time.Time{}
			}
			c.coming[tid] = time.Now()
			return true
		}
		time.Sleep(time.Millisecond / 2)
	}
}

// settle forgets who has made its process, or won't: the thread is gone, or waits for
// something.
func (c *crowd) settle() {
	for tid, since := range c.coming {
		if !busy(tid) || time.Since(since) > coming {
			delete(c.coming, tid)
		}
	}
}

// arrived forgets who has made a process that is new.
func (c *crowd) arrived(have []string) {
	known := map[string]bool{}
	for _, pid := range have {
		known[pid] = true
		if !c.known[pid] && len(c.coming) > 0 {
			c.made(pid)
		}
	}
	c.known = known
}

// made forgets one thread of a process's parent. It has to be one of those, or who is
// forgotten in its stead is forgotten for good.
func (c *crowd) made(pid string) {
	b, _ := os.ReadFile("/proc/" + pid + "/status")
	parent, err := strconv.Atoi(statusLine(string(b), "PPid"))
	for tid := range c.coming {
		if err == nil && processOf(tid) == parent {
			delete(c.coming, tid)
			return
		}
	}
}

// busy reports whether a thread runs, wants to or can't be interrupted.
func busy(tid int) bool {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	state := statusLine(string(b), "State")
	return strings.HasPrefix(state, "R") || strings.HasPrefix(state, "D")
}

// answerFork decides, in the supervisor.
func (c *Cell) answerFork(questions int, n notice) {
	if c.crowded.room(int(n.pid), c.programs) {
		goOn(questions, n)
		return
	}
	c.crowd()
	reply(questions, n, unix.EAGAIN)
}

func (c *Cell) crowd() {
	if c.spec.Crowded != nil {
		c.spec.Crowded()
	}
}

// answerFork decides, in the first process.
func (i *inner) answerFork(n notice) {
	if i.crowded.room(int(n.pid), i.programs) {
		goOn(i.questions, n)
		return
	}
	_ = i.link.send(kindCrowded, nothing{})
	i.reply(n, unix.EAGAIN)
}

// programs are the unit's processes, as seen from within.
func (i *inner) programs() ([]string, error) {
	fd, err := unix.Openat(i.handed[i.order.Group], "cgroup.procs", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cgroup.procs: %w", err)
	}
	f := os.NewFile(uintptr(fd), "cgroup.procs")
	defer f.Close()
	b, err := io.ReadAll(f)
	return others(b, os.Getpid()), err
}

// others are the processes of a control group but for one, and for 0, which is anybody
// outside.
func others(procs []byte, but int) (list []string) {
	for _, pid := range strings.Fields(string(procs)) {
		if pid != strconv.Itoa(but) && pid != "0" {
			list = append(list, pid)
		}
	}
	return list
}
