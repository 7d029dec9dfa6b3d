package supervisor_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/receipt"
	"github.com/joulebox/joulebox/store"
	"github.com/joulebox/joulebox/supervisor"
	"github.com/joulebox/joulebox/unit"
)

func TestMain(m *testing.M) {
	host.RunChildIfAsked()
	code := m.Run()
	if e, err := engine(); err == nil {
		_ = e.Close() // its cache is a folder of its own
	}
	os.Exit(code)
}

// house is a supervisor over memory, with a key of its own.
type house struct {
	*supervisor.Supervisor
	store *store.Memory
	key   ed25519.PrivateKey
}

var engine = sync.OnceValues(func() (*host.Engine, error) { return host.NewEngine(host.EngineConfig{}) })

func newHouse(t testing.TB, change ...func(*supervisor.Config)) house {
	t.Helper()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var sequence atomic.Uint64
	memory := store.NewMemory()
	c := supervisor.Config{
		Signer:    key,
		Sequence:  func(context.Context) (uint64, error) { return sequence.Add(1), nil },
		Objects:   memory,
		Log:       memory,
		Executors: jailedExecutors(t, e),
		Meters:    supervisor.HostMeters(meter.DefaultTable()).Find,
		Table:     meter.DefaultTable(),
	}
	for _, f := range change {
		f(&c)
	}
	s, err := supervisor.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return house{s, memory, key}
}

func budgets() grant.Compute {
	return grant.Compute{Devices: []joulebox.DeviceClass{joulebox.CPU}, EnergyBudgetUJ: 5_000_000, CPUTimeMS: 10_000, MemoryBytes: 16 << 20}
}

func request(image []byte, change ...func(*supervisor.Request)) supervisor.Request {
	r := supervisor.Request{Image: image, Entrypoint: []string{"run"}, Grants: grant.Empty(budgets())}
	for _, f := range change {
		f(&r)
	}
	return r
}

func (h house) run(t testing.TB, r supervisor.Request, handed host.BrokerConfig) *supervisor.Record {
	t.Helper()
	p, err := h.Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	record, err := h.Run(t.Context(), p, handed)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// verify is a stranger's verification of a record with the house's key pinned.
func (h house) verify(t testing.TB, data []byte) bundle.Report {
	t.Helper()
	b, err := bundle.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return b.Verify(bundle.Options{Pinned: []bundle.Key{{Name: "house", Public: h.Public()}}})
}

func TestRecordVerifies(t *testing.T) {
	h := newHouse(t)
	record := h.run(t, request(returns(0)), host.BrokerConfig{})
	if report := h.verify(t, record.Bundle.Marshal()); report.Verdict != bundle.Valid {
		t.Errorf("verdict %s: %v", report.Verdict, report.Failures())
	}
	if got := record.Exit.Outcome; got != joulebox.Completed {
		t.Errorf("outcome %s", got)
	}
	if record.Receipt().Tier() != joulebox.S2 {
		t.Errorf("tier %s, want S2: code is untrusted unless it is said to be trusted", record.Receipt().Tier())
	}
	total := record.Receipt().Total()
	if total.HasMeasured || total.EstimatedUJ == 0 {
		t.Errorf("total %+v: want an estimate and nothing measured", total)
	}
}

func TestRecordAndObjectsAreKept(t *testing.T) {
	h := newHouse(t)
	image := returns(0)
	record := h.run(t, request(image), host.BrokerConfig{})
	for what, id := range map[string]joulebox.ID{
		"image":  joulebox.Sum(image),
		"unit":   record.Bundle.UnitID(),
		"grants": record.Bundle.Statement().Fields().GrantsID,
	} {
		if _, err := h.store.Get(t.Context(), id); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	n := 0
	for rec, err := range h.store.Find(t.Context(), record.Bundle.Statement().ID()) {
		if err != nil || !bytes.Equal(rec.Data, record.Bundle.Marshal()) {
			t.Errorf("the log holds another record (%v)", err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("found %d records of the run, want 1", n)
	}
}

func TestOutcomes(t *testing.T) {
	h := newHouse(t)
	code := func(n uint32) *uint32 { return &n }
	for name, c := range map[string]struct {
		image   []byte
		change  func(*supervisor.Request)
		outcome joulebox.Outcome
		code    *uint32
		cause   string
	}{
		"completed":        {returns(0), nil, joulebox.Completed, code(0), ""},
		"failed":           {returns(3), nil, joulebox.Failed, code(3), ""},
		"failed with 2^31": {returns(-1), nil, joulebox.Failed, code(0xffffffff), ""},
		"trap":             {unreachable(), nil, joulebox.Failed, nil, host.CauseTrap},
		"energy":           {spins(), nil, joulebox.Terminated(joulebox.BreachEnergy), nil, ""},
		"time": {spins(), func(r *supervisor.Request) {
			r.Grants.Compute.CPUTimeMS, r.Grants.Compute.EnergyBudgetUJ = 50, 1<<50
		}, joulebox.Terminated(joulebox.BreachTime), nil, ""},
		"memory": {grows(), nil, joulebox.Terminated(joulebox.BreachMemory), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(c.image)
			if c.change != nil {
				c.change(&r)
			}
			record := h.run(t, r, host.BrokerConfig{})
			result := record.Bundle.Result()
			if record.Exit.Outcome != c.outcome || result.Cause != c.cause {
				t.Errorf("got %s, cause %q", record.Exit.Outcome, result.Cause)
			}
			if (result.ExitCode == nil) != (c.code == nil) || c.code != nil && *result.ExitCode != *c.code {
				t.Errorf("exit code %v, want %v", result.ExitCode, c.code)
			}
			if report := h.verify(t, record.Bundle.Marshal()); report.Verdict != bundle.Valid {
				t.Errorf("verdict %s: %v", report.Verdict, report.Failures())
			}
		})
	}
}

// The energy budget is a limit on what is counted: the estimate never passes it by
// more than one straight run of code.
func TestEnergyBudgetIsHard(t *testing.T) {
	h := newHouse(t)
	for _, budget := range []joulebox.Microjoules{1, 10, 1000, 123_456} {
		r := request(spins(), func(r *supervisor.Request) { r.Grants.Compute.EnergyBudgetUJ = budget })
		got := h.run(t, r, host.BrokerConfig{}).Receipt().Total().EstimatedUJ
		if got > budget+1 {
			t.Errorf("a budget of %d µJ was passed: %d", budget, got)
		}
	}
}

func TestIdenticalRunsCostTheSame(t *testing.T) {
	h := newHouse(t)
	first := h.run(t, request(counts(1_000_000)), host.BrokerConfig{}).Receipt()
	for range 5 {
		again := h.run(t, request(counts(1_000_000)), host.BrokerConfig{}).Receipt()
		if again.Total() != first.Total() {
			t.Errorf("cost %+v, then %+v", first.Total(), again.Total())
		}
		if again.Nonce() == first.Nonce() || again.Sequence() == first.Sequence() || again.ID() == first.ID() {
			t.Error("two runs share nonce, sequence or id")
		}
	}
}

func TestTrustedRunsLowerAndByCPUTime(t *testing.T) {
	h := newHouse(t)
	trusted := func(r *supervisor.Request) { r.Placement.Trusted = true }
	clock := func(r *supervisor.Request) { r.Grants.Host.Clock = true }
	for want, r := range map[joulebox.Tier]supervisor.Request{
		joulebox.S0: request(counts(50_000_000), trusted),
		joulebox.S1: request(counts(50_000_000), trusted, clock),
	} {
		record := h.run(t, r, host.BrokerConfig{})
		if record.Receipt().Tier() != want {
			t.Errorf("ran at %s, want %s", record.Receipt().Tier(), want)
		}
		e := record.Receipt().Devices()[0]
		if e.Provenance() != receipt.Estimator || e.Estimated() == 0 {
			t.Errorf("%s: energy %+v", want, e)
		}
		if record.Bundle.Result().Usage.Instructions != 0 {
			t.Errorf("%s: claims counted instructions", want)
		}
	}
}

func TestTrustedUnitsEndAtTheirBounds(t *testing.T) {
	h := newHouse(t)
	trusted := func(r *supervisor.Request) { r.Placement.Trusted = true }
	for want, change := range map[joulebox.Breach]func(*supervisor.Request){
		joulebox.BreachTime:   func(r *supervisor.Request) { r.Grants.Compute.CPUTimeMS, r.Grants.Compute.EnergyBudgetUJ = 50, 1<<50 },
		joulebox.BreachEnergy: func(r *supervisor.Request) { r.Grants.Compute.EnergyBudgetUJ = 200_000 },
		joulebox.BreachMemory: func(r *supervisor.Request) { r.Image = grows() },
	} {
		record := h.run(t, request(spins(), trusted, change), host.BrokerConfig{})
		if got := record.Exit.Outcome; got != joulebox.Terminated(want) {
			t.Errorf("got %s, want a breach of %s", got, want)
		}
	}
}

func TestDeclined(t *testing.T) {
	h := newHouse(t)
	for name, c := range map[string]struct {
		change func(*supervisor.Request)
		says   string
	}{
		"tier":      {func(r *supervisor.Request) { r.Placement.Contention = unit.Sensitive }, "S3"},
		"gpu":       {func(r *supervisor.Request) { r.Grants.Compute.Devices = append(r.Grants.Compute.Devices, joulebox.GPU) }, "Gpu"},
		"inference": {func(r *supervisor.Request) { r.Grants.Host.Inference = true }, "host.inference"},
		"inbound":   {func(r *supervisor.Request) { r.Grants.Network.Inbound = true }, "network.inbound"},
		"display": {func(r *supervisor.Request) {
			r.Grants.Display.Enabled, r.Grants.Display.MaxWidth, r.Grants.Display.MaxHeight = true, 1, 1
		}, "display"},
		"browser": {func(r *supervisor.Request) { r.Grants.Browser.Enabled = true }, "browser.enabled"},
	} {
		_, err := h.Plan(request(returns(0), c.change))
		var declined *supervisor.DeclinedError
		if !errors.As(err, &declined) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want a decline that names %s", name, err, c.says)
		}
	}
}

// A class that can be confined but not metered is not granted (§5.1).
func TestClassWithoutMeterIsDeclined(t *testing.T) {
	h := newHouse(t, func(c *supervisor.Config) {
		all := c.Meters
		c.Meters = func(how host.Counting, class joulebox.DeviceClass) (meter.Meter, bool) {
			if class == joulebox.SIMD {
				return nil, false
			}
			return all(how, class)
		}
	})
	_, err := h.Plan(request(returns(0), func(r *supervisor.Request) {
		r.Grants.Compute.Devices = append(r.Grants.Compute.Devices, joulebox.SIMD)
	}))
	var declined *supervisor.DeclinedError
	if !errors.As(err, &declined) || !strings.Contains(err.Error(), "Simd") {
		t.Errorf("got %v, want a decline that names Simd", err)
	}
}

func TestRefusedUnitLeavesNoRecord(t *testing.T) {
	h := newHouse(t)
	for name, r := range map[string]supervisor.Request{
		"not a module": request([]byte("MZ")),
		"no entry":     request(returns(0), func(r *supervisor.Request) { r.Entrypoint = []string{"absent"} }),
	} {
		p, err := h.Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		var refused *host.RefusedError
		if _, err := h.Run(t.Context(), p, host.BrokerConfig{}); !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
	for range h.store.Records(t.Context(), 0) {
		t.Error("a unit that never ran has a record")
	}
}

func TestCancelledRunIsRecorded(t *testing.T) {
	h := newHouse(t)
	p, err := h.Plan(request(spins(), func(r *supervisor.Request) { r.Grants.Compute.EnergyBudgetUJ = 1 << 50 }))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(30*time.Millisecond, cancel)
	record, err := h.Run(ctx, p, host.BrokerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if record.Exit.Outcome != joulebox.Failed || record.Bundle.Result().Cause != bundle.CauseCancelled {
		t.Errorf("got %s, cause %q", record.Exit.Outcome, record.Bundle.Result().Cause)
	}
}

// A store that can't keep the record means no record is handed out.
func TestRecordThatCannotBeKeptIsNotReturned(t *testing.T) {
	full := errors.New("disk full")
	h := newHouse(t, func(c *supervisor.Config) { c.Log = brokenLog{c.Log, full} })
	p, err := h.Plan(request(returns(0)))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := h.Run(t.Context(), p, host.BrokerConfig{}); !errors.Is(err, full) || r != nil {
		t.Errorf("got %v, %v", r, err)
	}
}

type brokenLog struct {
	store.Log
	err error
}

func (l brokenLog) Append(context.Context, []byte, ...joulebox.ID) (store.Offset, error) {
	return 0, l.err
}
