package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/hostspawn"
	"github.com/joulebox/joulebox/internal/jail"
	"github.com/joulebox/joulebox/internal/wasm"
	"github.com/joulebox/joulebox/unit"
)

// hosted is the host process, from within: it holds one module, in a jail, and
// runs it when it is told to.
type hosted struct {
	channel *channel
	page    *mapping
	setup   setup
	storage handedStorage
	image   *Tree
	module  *wasm.Module

	mu     sync.Mutex
	number uint64 // of the run under way, or zero
	cancel context.CancelFunc
	over   <-chan struct{} // closed when the run under way is cancelled or its time is up
}

// hostedSocket is the descriptor that a host process finds its supervisor at.
const hostedSocket = 0

// runHostedIfAsked turns this process into a host process if it was started as
// one, and then doesn't return.
func runHostedIfAsked() {
	if len(os.Args) != 1 || os.Args[0] != hostspawn.Name {
		return
	}
	jail.CloseInherited(0, 1, 2)
	h := &hosted{channel: newChannel(hostedSocket, maxSetup, true)}
	if err := h.serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve gets ready once and then runs the unit as often as it is told to. It
// returns nil when the supervisor has closed its end.
func (h *hosted) serve() error {
	if err := h.prepare(); err != nil {
		return errors.Join(err, h.confess(err))
	}
	for {
		k, payload, err := h.channel.receive()
		if err != nil {
			return fmt.Errorf("supervisor: %w", err)
		}
		var o order
		if k != kindRun {
			return fmt.Errorf("supervisor: %w: message %#x, want an order", errNonsense, byte(k))
		}
		if err := decode(payload, &o); err != nil {
			return fmt.Errorf("supervisor: order: %w", err)
		}
		end, err := h.run(&o)
		if err != nil {
			return errors.Join(err, h.confess(err))
		}
		if err := h.channel.send(kindExit, end); err != nil {
			return fmt.Errorf("supervisor: %w", err)
		}
	}
}

// prepare does what comes before the first run: read what this process is for,
// load the module, and give up the rest of the machine. Up to here it has run
// nothing but its own code, on what the supervisor and the compiler have written.
func (h *hosted) prepare() error {
	if err := h.receiveSetup(); err != nil {
		return err
	}
	if err := h.load(h.channel.descriptors()[1]); err != nil {
		return err
	}
	paths := h.storage.jailPaths(h.setup.Grants.Bases())
	mechanisms, err := jail.Enter(jail.Profile{
		Paths: paths, Memory: h.setup.AddressRoom, OpenFiles: hostedFiles, Parent: int(h.setup.Parent),
	})
	if err != nil {
		return err
	}
	h.storage.closeRules(paths)
	// Until here the signal would end the process, and nobody sends it before the
	// first order. What is started so late comes into the world jailed.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go h.listen(signals)
	return h.channel.send(kindReady, readyOf(mechanisms))
}

// load loads the module from the directory of a descriptor.
func (h *hosted) load(code int) (err error) {
	defer func() { err = errors.Join(err, unix.Close(code)) }()
	handed := wasm.Handed{Dir: "/proc/self/fd/" + strconv.Itoa(code), Code: h.setup.Code}
	h.module, err = wasm.NewLoader(hostFuncs()).Load(handed, h.setup.Metered)
	return err
}

// hostedFiles is how many descriptors a host process can have: those of its unit,
// which has a bound of its own below that, and a handful more.
const hostedFiles = 4096

func readyOf(list []jail.Mechanism) *ready {
	r := &ready{}
	for _, m := range list {
		missing := ""
		if m.Missing != nil {
			missing = m.Missing.Error()
		}
		r.Mechanisms = append(r.Mechanisms, mechanism{m.Name, missing, m.Detail})
	}
	return r
}

// receiveSetup reads what this process is for. The descriptors stay with the
// channel until prepare has the code's.
func (h *hosted) receiveSetup() (err error) {
	k, payload, err := h.channel.receive()
	if err != nil {
		return fmt.Errorf("supervisor: %w", err)
	}
	if k != kindSetup {
		return fmt.Errorf("supervisor: %w: message %#x, want a setup", errNonsense, byte(k))
	}
	if err := decode(payload, &h.setup); err != nil {
		return fmt.Errorf("supervisor: setup: %w", err)
	}
	s := &h.setup
	fds := h.channel.fds
	if s.Version != childVersion || len(fds) != 2+len(s.Roots) {
		return fmt.Errorf("supervisor: setup: got version %d with %d descriptors, want %d with %d; was joulebox replaced while it ran?",
			s.Version, len(fds), childVersion, 2+len(s.Roots))
	}
	if h.page, err = mapPage(fds[0]); err != nil {
		return fmt.Errorf("shared page: %w", err)
	}
	for i, r := range s.Roots {
		h.storage.roots = append(h.storage.roots, &root{guest: r.Guest, host: r.Host, fd: fds[2+i]})
	}
	h.storage.hidden = s.Hidden
	if len(s.Roots) > 0 {
		if err := checkMechanism(); err != nil { // opens what names are read through
			return err
		}
	}
	h.image, err = h.tree()
	return err
}

// tree is the unit's image, whose contents stay with the supervisor.
func (h *hosted) tree() (*Tree, error) {
	if len(h.setup.Image) == 0 {
		return nil, nil
	}
	image, err := unit.ParseImage(h.setup.Image)
	if err != nil {
		return nil, fmt.Errorf("supervisor: image: %w", err)
	}
	t := &Tree{image: image, contents: map[joulebox.ID]Content{}, root: newImageRoot(image.Entries)}
	sizes := h.setup.Sizes
	for _, e := range image.Entries {
		if e.Type != unit.File {
			continue
		}
		if len(sizes) == 0 {
			return nil, fmt.Errorf("supervisor: image: fewer sizes than files")
		}
		t.contents[e.B3] = &remoteContent{h: h, id: e.B3, size: int64(sizes[0])}
		sizes = sizes[1:]
	}
	return t, nil
}

// listen waits for the supervisor's signal, which is to look whether the run
// under way is to end.
func (h *hosted) listen(signals <-chan os.Signal) {
	for range signals {
		h.mu.Lock()
		if h.number != 0 && h.number == h.page.cancel.Load() {
			h.cancel()
		}
		h.mu.Unlock()
	}
}

// confess tells the supervisor why this process ends.
func (h *hosted) confess(err error) error {
	var refused *wasm.RefusedError
	switch {
	case errors.As(err, &refused):
		return h.channel.send(kindRefused, &refusal{string(refused.Reason), refused.Msg, uint64(refused.Offset), refused.Needed, refused.Granted})
	case errors.Is(err, wasm.ErrGone):
		return h.channel.send(kindGone, empty{})
	}
	return h.channel.send(kindFault, &fault{err.Error()})
}
