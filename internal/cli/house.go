package cli

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/custody"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/store"
	"github.com/joulebox/joulebox/supervisor"
)

// house is this host's supervisor with all that it is made of, open.
type house struct {
	supervisor *supervisor.Supervisor
	key        *custody.Key
	store      *store.Dir
	engine     *host.Engine
	processes  *host.Processes // nil where units run in this process
	pool       *supervisor.Pool
	table      meter.Table
	model      joulebox.ID // of the calibration that table is from
	meters     *supervisor.Meters
}

// openHouse opens store, key and engine, and takes over the host processes. A key is made at the first use, and
// said to be; where there are records and no key, none is made.
func openHouse(c *console, p *host.Processes) (h *house, err error) {
	h = &house{processes: p}
	defer func() {
		if err != nil {
			h.close()
			h = nil
		}
	}()
	state, err := custody.StateDir()
	if err != nil {
		return h, err
	}
	records := exists(storeDir(state))
	var made bool
	if h.key, made, err = custody.Ensure(custody.DefaultReference, records); err != nil {
		return h, err
	}
	if made {
		c.note("made this host's key, %x; joulebox key show tells about it", h.key.Public())
	}
	if err = h.key.Check(); err != nil {
		return h, err
	}
	if h.store, err = store.Open(storeDir(state)); err != nil {
		return h, err
	}
	go h.store.Settle(context.Background()) // Close waits for it
	if h.engine, err = openEngine(); err != nil {
		return h, err
	}
	h.table, h.model = c.priced(h.key.Public().(ed25519.PublicKey))
	h.meters = supervisor.HostMeters(h.table)
	h.supervisor, err = supervisor.New(h.config())
	return h, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func openEngine() (*host.Engine, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	return host.NewEngine(host.EngineConfig{CacheDir: cache})
}

func (h *house) config() supervisor.Config {
	return supervisor.Config{
		Signer: h.key, Sequence: h.key.Next,
		Objects: h.store, Log: h.store,
		Executors: executors(h.engine, h.processes), Meters: h.meters.Find, Table: h.table, EnergyModel: h.model,
		Ceilings: hostCeilings(), Pool: h.pool,
	}
}

// hostCeilings are the largest I/O ceilings that this host takes for a bound
// (§2.4): above them a neighbour could still be observed through the disk.
func hostCeilings() grant.Ceilings {
	iops, rate := uint64(1000), uint64(100<<20)
	return grant.Ceilings{MaxIOPS: &iops, MaxReadBPS: &rate}
}

func (h *house) runOnce(ctx context.Context, r supervisor.Request, handed host.BrokerConfig) (*supervisor.Record, error) {
	plan, err := h.supervisor.Plan(r)
	if err != nil {
		return nil, err
	}
	return h.supervisor.Run(ctx, plan, handed)
}

func (h *house) close() {
	if h.processes != nil {
		_ = h.processes.Close()
	}
	if h.engine != nil {
		_ = h.engine.Close()
	}
	if h.store != nil {
		_ = h.store.Close()
	}
	if h.key != nil {
		_ = h.key.Close()
	}
}

// openStore opens the records to read them; reading makes none.
func openStore() (*store.Dir, error) {
	state, err := custody.StateDir()
	if err != nil {
		return nil, err
	}
	if !exists(storeDir(state)) {
		return nil, errNoStore
	}
	return store.Open(storeDir(state))
}
