package host

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/joulebox/joulebox/internal/wasm"
	"github.com/joulebox/joulebox/journal"
)

// beforeRun, if set, is called before the unit runs. Tests let a hostile process
// act from here.
var beforeRun func(*order)

// run runs the unit once, in an instance and with a Broker of its own.
func (h *hosted) run(o *order) (*ending, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	over, release := context.WithTimeout(ctx, o.Wall)
	defer release()
	h.over = over.Done()
	h.begin(o.Number, cancel)
	defer h.begin(0, nil)
	config, err := h.brokerConfig(o)
	if err != nil {
		return nil, err
	}
	if in, ok := config.Stdin.(*handedInput); ok {
		defer in.file.Close()
	}
	b, err := NewBroker(config)
	if err != nil {
		return nil, err
	}
	if beforeRun != nil {
		beforeRun(o)
	}
	e, err := h.execute(ctx, b, o)
	if closeErr := b.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	return endingOf(e, b), nil
}

func (h *hosted) begin(number uint64, cancel context.CancelFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.number, h.cancel = number, cancel
	if number != 0 && h.page.cancel.Load() == number { // the signal came first
		cancel()
	}
}

func (h *hosted) execute(ctx context.Context, b *Broker, o *order) (e wasm.Exit, err error) {
	limits := Limits{Units: o.Units, Vector: o.Vector, CPU: o.CPU, Wall: o.Wall, Memory: h.setup.Memory}
	var watch wasm.Watcher
	if o.Journal {
		if watch, err = b.beginJournal(h.setup.Unit, h.setup.Module, o.Entry, limits); err != nil {
			return e, err
		}
	}
	return h.module.Run(ctx, wasm.Params{
		Entry:  o.Entry,
		State:  b,
		Limits: limits.engine(time.Now()),
		Live:   &h.page.live,
		Watch:  watch,
	})
}

func (h *hosted) brokerConfig(o *order) (c BrokerConfig, err error) {
	c = BrokerConfig{
		Grants: h.setup.Grants, Args: o.Args, Env: o.Env, Terminal: o.Terminal, Image: h.image, WorkDir: h.setup.WorkDir,
		Stdout: &handedOutput{h, streamStdout}, Stderr: &handedOutput{h, streamStderr}, Log: &handedOutput{h, streamLog},
		handed: &handedOver{storage: h.storage, egress: h.egress},
	}
	t := h.setup.Tolls
	c.Tolls = Tolls{Call: t[0], Storage: t[1], Connect: t[2], BytesPerUnit: t[3]}
	if o.KV {
		c.KV = remoteKV{h}
	}
	if o.Journal {
		c.Journal = &JournalConfig{W: &handedOutput{h, streamJournal}, Secrets: o.Secrets, Limit: int64(o.Limit), Every: o.Every}
		if copy(c.Journal.Salt[:], o.Salt) != journal.SaltSize {
			return c, fmt.Errorf("supervisor: journal: got a salt of %d bytes, want %d", len(o.Salt), journal.SaltSize)
		}
	}
	fds := h.channel.descriptors()
	if want := o.Stdin != stdinEmpty; len(fds) != 1 && want || len(fds) != 0 && !want {
		return c, fmt.Errorf("supervisor: order: got %d descriptors", len(fds))
	}
	if o.Stdin != stdinEmpty {
		c.Stdin = &handedInput{h: h, file: os.NewFile(uintptr(fds[0]), "stdin"), steady: o.Stdin == stdinSteady}
	}
	return c, nil
}

func endingOf(e wasm.Exit, b *Broker) *ending {
	u := b.Usage()
	return &ending{
		Cause: byte(e.Cause), Code: e.Code, Trap: e.Trap, Trace: e.Trace,
		Instructions: e.Instructions, SIMD: e.SIMDInstructions, Fuel: e.FuelUsed, Peak: e.PeakMemoryBytes,
		Taken:   b.stdin.given,
		Usage:   [6]uint64{u.IOReads, u.IOReadBytes, u.IOWrites, u.IOWrittenBytes, u.IODenied, u.LogDropped},
		Probing: b.Probing(), Denials: b.Denials(),
	}
}
