package supervisor_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/supervisor"
)

var processes = sync.OnceValues(func() (*host.Processes, error) { return host.NewProcesses(host.ProcessConfig{}) })

// jailedExecutors run units as the command does: in processes of their own, where
// there is a jail for them.
func jailedExecutors(t testing.TB, e *host.Engine) []host.Executor {
	t.Helper()
	p, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	list := inProcessExecutors(e)
	for i, x := range list {
		jailed := p.Jailed(x)
		if jailed.(host.Unavailable).Unavailable() != nil {
			return list
		}
		list[i] = jailed
	}
	return list
}

func inProcessExecutors(e *host.Engine) []host.Executor {
	return []host.Executor{host.S0(e), host.S1(e), host.S2(e)}
}

// inProcess is a house whose units run beside the supervisor.
func inProcess(c *supervisor.Config) {
	e, err := engine()
	if err != nil {
		panic(err)
	}
	c.Executors = inProcessExecutors(e)
}

// TestRecordsAreTheSameInBothPlaces: where a unit ran is nothing that its record
// or its price depends on, but for the time it took.
func TestRecordsAreTheSameInBothPlaces(t *testing.T) {
	here, there := newHouse(t, inProcess), newHouse(t)
	for name, image := range map[string][]byte{"returns": returns(3), "traps": unreachable(), "counts": counts(100_000), "grows": grows()} {
		r := request(image)
		a, b := here.run(t, r, host.BrokerConfig{}), there.run(t, r, host.BrokerConfig{})
		if !slices.Equal(a.Receipt().Devices(), b.Receipt().Devices()) {
			t.Errorf("%s: got %+v, want %+v", name, b.Receipt().Devices(), a.Receipt().Devices())
		}
		x, y := a.Bundle.Result(), b.Bundle.Result()
		x.Usage.CPUUS, x.Usage.WallUS, y.Usage.CPUUS, y.Usage.WallUS = 0, 0, 0, 0
		i, err := x.ID()
		j, err2 := y.ID()
		if err != nil || err2 != nil || i != j {
			t.Errorf("%s: got %+v, want %+v", name, y, x)
		}
		if f, g := a.Bundle.Statement().Fields(), b.Bundle.Statement().Fields(); f.Outcome != g.Outcome || f.UnitID != g.UnitID {
			t.Errorf("%s: got %s, want %s", name, g.Outcome, f.Outcome)
		}
		if report := there.verify(t, b.Bundle.Marshal()); report.Verdict != bundle.Valid {
			t.Errorf("%s: %s: %v", name, report.Verdict, report.Failures())
		}
	}
}

// staged is an executor whose runs end as they are told to.
type staged struct {
	host.Executor
	exit    host.Exit
	missing error
}

func (s staged) Unavailable() error { return s.missing }

func (s staged) Start(context.Context, host.Job) (host.Run, error) { return s, nil }
func (s staged) Counts() host.Counts                               { return s.exit.Counts }
func (s staged) Wait() (host.Exit, error)                          { return s.exit, nil }

func stageExecutor(change func(*staged)) func(*supervisor.Config) {
	return func(c *supervisor.Config) {
		x := staged{Executor: c.Executors[2]}
		change(&x)
		c.Executors = []host.Executor{x}
	}
}

// TestEscapeIsOnRecord: a unit that got out of its engine and was caught there has
// a record, which nobody takes for a valid one (§7.5).
func TestEscapeIsOnRecord(t *testing.T) {
	h := newHouse(t, stageExecutor(func(x *staged) {
		x.exit = host.Exit{Outcome: joulebox.Terminated(joulebox.VMEscape), Counts: host.Counts{Units: 10, Instructions: 10}}
	}))
	record := h.run(t, request(returns(0)), host.BrokerConfig{})
	report := h.verify(t, record.Bundle.Marshal())
	if report.Verdict != bundle.Invalid || record.Bundle.Statement().Fields().Outcome.Breach() != joulebox.VMEscape {
		t.Errorf("verdict %s, outcome %s", report.Verdict, record.Bundle.Statement().Fields().Outcome)
	}
}

// TestNoJailIsDeclined: a host that can't jail a process doesn't run the unit in a
// weaker place, and says how to have it run there.
func TestNoJailIsDeclined(t *testing.T) {
	h := newHouse(t, stageExecutor(func(x *staged) { x.missing = errors.New("seccomp: it isn't there") }))
	_, err := h.Plan(request(returns(0)))
	var declined *supervisor.DeclinedError
	if !errors.As(err, &declined) || !strings.Contains(declined.What, "seccomp") || !strings.Contains(declined.Hint, "--host-process=in-process") {
		t.Errorf("got %v", err)
	}
}
