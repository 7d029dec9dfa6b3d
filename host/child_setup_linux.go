package host

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/wasm"
	"github.com/joulebox/joulebox/unit"
)

// canLeave refuses what only works in the supervisor's own process.
func (j Job) canLeave() error {
	b := j.Broker
	for _, own := range []struct {
		what string
		ok   bool
	}{
		{"clock", b.defaults.clock}, {"source of randomness", b.defaults.random},
		{"recorder", b.config.Recorder == nil || b.journaling != nil},
	} {
		if !own.ok {
			return &RefusedError{Reason: "a " + own.what + " of the embedder's own can't be handed to a host process",
				Hint: "leave it out, or run the unit in-process"}
		}
	}
	return nil
}

// setUp tells a new process what it is for, and waits until it is in its jail
// with the module loaded. Nothing of the unit has run then. It takes milliseconds
// and isn't broken off: a run that is cancelled meanwhile has its record too.
func (p *process) setUp(x wasmExecutor, job Job, prepared *wasm.Prepared) error {
	late := time.AfterFunc(setupTime, p.kill)
	defer late.Stop()
	handed := prepared.Handed()
	code, err := unix.Open(handed.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", wasm.ErrGone, err)
	}
	defer unix.Close(code)
	s, err := p.setup(x, job, handed)
	if err != nil {
		return err
	}
	s.AddressRoom = addressRoom(job.Limits.Memory, prepared.Size())
	fds := []int{p.page.fd, code}
	for _, r := range job.Broker.storage.roots {
		fds = append(fds, r.fd)
	}
	if err := p.channel.send(kindSetup, s, fds...); err != nil {
		return p.failed(err)
	}
	p.page.handedOver()
	return p.awaitReady()
}

// addressRoom is generous: an instance's memory is reserved whole, in sizes that
// are powers of two, and the runtime reserves far more than it uses.
func addressRoom(memory uint64, code int64) uint64 {
	const runtime = 2 << 30
	reserved := uint64(1) << bits.Len64(min(memory, 4<<30))
	return runtime + 2*reserved + 4*uint64(code)
}

func (p *process) setup(x wasmExecutor, job Job, handed wasm.Handed) (*setup, error) {
	c := job.Broker.config
	s := &setup{
		Version: childVersion, Metered: x.metered, Code: handed.Code, WorkDir: c.WorkDir, Memory: job.Limits.Memory,
		Tolls:  [4]uint64{c.Tolls.Call, c.Tolls.Storage, c.Tolls.Connect, c.Tolls.BytesPerUnit},
		Hidden: job.Broker.storage.hidden, Parent: uint32(os.Getpid()), Unit: p.key.unit, Module: p.key.module,
		Grants: c.Grants,
	}
	for _, r := range job.Broker.storage.roots {
		s.Roots = append(s.Roots, handedRoot{r.guest, r.host})
	}
	if c.Image == nil {
		return s, nil
	}
	for _, e := range c.Image.image.Entries {
		if e.Type == unit.File {
			s.Sizes = append(s.Sizes, uint64(c.Image.contents[e.B3].Size()))
		}
	}
	var err error
	s.Image, err = c.Image.image.Canonical()
	return s, err
}

// awaitReady waits for the first message.
func (p *process) awaitReady() error {
	k, payload, err := p.channel.receive()
	if err != nil {
		return p.failed(err)
	}
	switch k {
	case kindReady:
		var r ready
		if err := decode(payload, &r); err != nil {
			return fmt.Errorf("host process: ready: %w", err)
		}
		p.established = r.Mechanisms
		return nil
	case kindGone:
		return wasm.ErrGone
	}
	return p.confession(k, payload)
}

// confession is what a process says before it ends itself.
func (p *process) confession(k kind, payload []byte) error {
	switch k {
	case kindRefused:
		var r refusal
		if err := decode(payload, &r); err != nil {
			return fmt.Errorf("host process: refusal: %w", err)
		}
		return refused(&wasm.RefusedError{Reason: wasm.Refusal(printable(r.Reason)), Msg: printable(r.Text),
			Offset: int64(r.Offset), Needed: r.Needed, Granted: r.Granted})
	case kindFault:
		var f fault
		if err := decode(payload, &f); err != nil {
			return fmt.Errorf("host process: fault: %w", err)
		}
		return fmt.Errorf("host process: %s", printable(f.Text))
	}
	return fmt.Errorf("host process: %w: message %#x", errNonsense, byte(k))
}

// failed says why a process can't be talked to before it has run anything.
func (p *process) failed(err error) error {
	return errors.Join(fmt.Errorf("host process: %w", err), p.complaint())
}

// complaint is what the process said when it ended.
func (p *process) complaint() error {
	if words := firstLine(p.lastWords()); words != "" {
		return errors.New(printable(words))
	}
	return nil
}
