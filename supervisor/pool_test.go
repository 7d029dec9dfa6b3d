package supervisor_test

import (
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/supervisor"
)

// pooled is a house that keeps processes, and books what they draw.
func pooled(t *testing.T, keep int) (house, *supervisor.Pool, *host.Processes) {
	pool := supervisor.NewPool(meter.DefaultTable())
	p, err := host.NewProcesses(host.ProcessConfig{Keep: keep, Idle: pool})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	h := newHouse(t, func(c *supervisor.Config) {
		inProcess(c)
		for i, x := range c.Executors {
			c.Executors[i] = p.Jailed(x)
		}
		c.Pool = pool
		if err := c.Executors[2].(host.Unavailable).Unavailable(); err != nil {
			t.Skip(err)
		}
	})
	return h, pool, p
}

// TestAFastStartHasItsPrice: what a process drew while it waited is in the receipt
// of the run that it waited for, and shown apart (§15).
func TestAFastStartHasItsPrice(t *testing.T) {
	h, pool, _ := pooled(t, 1)
	r := request(returns(0))
	cold := h.run(t, r, host.BrokerConfig{})
	if idle := cold.Bundle.Result().Usage.IdleUJ; idle != 0 {
		t.Errorf("a cold start has %d microjoules of idle energy", idle)
	}
	time.Sleep(300 * time.Millisecond)
	warm := h.run(t, r, host.BrokerConfig{})
	idle := warm.Bundle.Result().Usage.IdleUJ
	if idle == 0 {
		t.Error("a process that waited for 300 ms has drawn nothing")
	}
	if got, want := estimate(warm), estimate(cold)+idle; got != want {
		t.Errorf("the warm run cost %d microjoules, want %d: what the cold one cost, and what was drawn in between", got, want)
	}
	if report := h.verify(t, warm.Bundle.Marshal()); report.Verdict != bundle.Valid {
		t.Errorf("%s: %v", report.Verdict, report.Failures())
	}
	totals, err := pool.Totals()
	if err != nil || uint64(totals.Claimed) != idle || totals.Slots != 1 || totals.Drawn != totals.Claimed+totals.Overhead+totals.Pending {
		t.Errorf("got %+v, %v, want %d claimed", totals, err, idle)
	}
}

func estimate(r *supervisor.Record) uint64 {
	for _, e := range r.Receipt().Devices() {
		if e.Class() == joulebox.CPU {
			return uint64(e.Estimated())
		}
	}
	return 0
}

// TestBooksOfThePoolBalance: every microjoule is a run's, the operator's, or of a
// process that waits.
func TestBooksOfThePoolBalance(t *testing.T) {
	h, pool, processes := pooled(t, 2)
	var claimed uint64
	for i := range 12 {
		record := h.run(t, request(returns(i%3)), host.BrokerConfig{})
		claimed += record.Bundle.Result().Usage.IdleUJ
		time.Sleep(20 * time.Millisecond)
	}
	processes.Settle()
	totals, err := pool.Totals()
	if err != nil || totals.Drawn != totals.Claimed+totals.Overhead+totals.Pending || uint64(totals.Claimed) != claimed {
		t.Errorf("got %+v, %v, want %d claimed", totals, err, claimed)
	}
	if totals.Slots != 2 || totals.Pending == 0 || totals.Overhead == 0 {
		t.Errorf("got %+v, want two that wait and overhead of those that nobody claimed", totals)
	}
	before := totals.Pending
	time.Sleep(50 * time.Millisecond)
	processes.Settle()
	if totals, _ = pool.Totals(); totals.Pending <= before {
		t.Errorf("pending stays at %d microjoules", before)
	}
	processes.Close()
	if totals, err = pool.Totals(); err != nil || totals.Pending != 0 || totals.Slots != 0 || totals.Drawn != totals.Claimed+totals.Overhead {
		t.Errorf("after the end: got %+v, %v", totals, err)
	}
}
