package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/pflag"

	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/internal/hostspawn/early"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/supervisor"
)

// hostProcess is where units run.
type hostProcess string

// The places. What weakens the boundary is never the default, nor what is fallen
// back on.
const (
	hostJailed    hostProcess = "jailed"     // a process of its own for each unit, without this one's rights
	hostInProcess hostProcess = "in-process" // beside the key: the engine alone holds them
)

func (p *hostProcess) String() string { return string(*p) }
func (p *hostProcess) Type() string   { return "string" }

func (p *hostProcess) Set(text string) error {
	switch hostProcess(text) {
	case hostJailed, hostInProcess:
		*p = hostProcess(text)
		return nil
	}
	return fmt.Errorf("want %s or %s", hostJailed, hostInProcess)
}

func (p *hostProcess) register(to *pflag.FlagSet) {
	*p = hostJailed
	to.Var(p, "host-process", "run units in a `PLACE`: jailed, a process of its own that holds no key and reaches nothing but what was handed over; or in-process, where the engine alone keeps them from the key")
}

// open makes the host processes' keeper; nil where units run in-process.
func (p hostProcess) open() (*host.Processes, error) {
	if p == hostInProcess {
		return nil, nil
	}
	return host.NewProcesses(host.ProcessConfig{})
}

// openPool is open for a server, which keeps a few processes for the next call of
// the same unit, and books what they draw meanwhile (§15).
func (p hostProcess) openPool() (*host.Processes, *supervisor.Pool, error) {
	if p == hostInProcess {
		return nil, nil, nil
	}
	pool := supervisor.NewPool(meter.DefaultTable())
	processes, err := host.NewProcesses(host.ProcessConfig{Keep: 2 * runtime.NumCPU(), Idle: pool})
	return processes, pool, err
}

// adopted takes over the host process that is on its way since before main, if
// one is.
func adopted() *host.Processes {
	begun := early.Take()
	if begun == nil {
		return nil
	}
	p, err := hostJailed.open()
	if err != nil {
		return nil // it will be said where it is asked for; what was begun ends with this process
	}
	p.Adopt(begun)
	return p
}

// openProcesses is open, with what was started early.
func (c *console) openProcesses(p hostProcess) (*host.Processes, error) {
	early := c.processes
	c.processes = nil
	if p != hostInProcess && early != nil {
		return early, nil
	}
	if early != nil {
		_ = early.Close()
	}
	return p.open()
}

// executors is what this host can do, the whole of it.
func executors(e *host.Engine, processes *host.Processes) []host.Executor {
	list := []host.Executor{host.S0(e), host.S1(e), host.S2(e)}
	if processes != nil {
		for i, x := range list {
			list[i] = processes.Jailed(x)
		}
	}
	return append(list, host.NativeS1(), host.S3())
}

// examineJail says what holds a host process in here. What is only a second wall
// is not trouble.
func examineJail() (list []finding) {
	processes, err := hostJailed.open()
	if err != nil {
		return []finding{{"host process", false, err.Error()}}
	}
	defer processes.Close()
	for _, m := range processes.Mechanisms() {
		f := finding{Name: m.Name, OK: m.Missing == nil, Detail: m.Detail}
		if m.Missing != nil {
			f.Detail = m.Missing.Error()
		}
		list = append(list, f)
	}
	return list
}

// examinePartition says what native units are held and watched with.
func examinePartition() (list []finding) {
	for _, m := range host.PartitionMechanisms() {
		f := finding{Name: m.Name, OK: m.Missing == nil, Detail: m.Detail}
		if m.Missing != nil {
			f.Detail = m.Missing.Error()
		}
		list = append(list, f)
	}
	return list
}

// nativeWorks reports whether native units can be run here.
func nativeWorks() bool {
	x, ok := host.S3().(host.Unavailable)
	return ok && x.Unavailable() == nil
}
