package meter

import (
	"context"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/receipt"
)

// acceleratorWatts is more than an accelerator can draw.
const acceleratorWatts = 2000

// held estimates a class from the time for which a run holds its device, at the
// device's full power: coarse, and never too little.
type held struct {
	id    Identity
	watts uint64
	now   func() Instant
}

func (m held) Class() joulebox.DeviceClass { return m.id.Class }
func (m held) Identity() Identity          { return m.id }

func (m held) Begin(context.Context, Source) (Span, error) { return &heldSpan{m, m.now().Awake}, nil }

type heldSpan struct {
	held
	since time.Duration
}

func (s *heldSpan) Read() (receipt.Energy, bool, error) {
	uj, err := scale(uint64(s.now().Awake-s.since), s.watts*1_000_000, uint64(time.Second))
	if err != nil {
		return receipt.Energy{}, false, err
	}
	// Whether a held device did any work can't be seen from outside. It drew.
	return receipt.Estimated(s.id.Class, max(uj, 1)), true, nil
}

func (*heldSpan) Close() error { return nil }

// integral turns a reading of power into a counter, for devices that have no
// other. The figure is a model's: between two readings nobody looked.
type integral struct {
	name  string
	watts func() (microwatts uint64, err error)
	now   func() Instant

	begun bool
	at    time.Duration
	last  uint64 // µW
	sum   uint64 // µJ
	rest  uint64 // below a microjoule, in µW·µs
}

// sampling is how often power is read, and unread the time after which what it was
// in between isn't known any more.
const (
	sampling = 100 * time.Millisecond
	unread   = time.Second
)

func (p *integral) Name() string { return p.name }

func (p *integral) Domains() []Domain {
	return []Domain{{Key: p.name, Name: "power", Watts: acceleratorWatts, Gap: unread}}
}

// Read adds the mean of the last two readings for the time between them.
func (p *integral) Read() ([]uint64, error) {
	w, err := p.watts()
	if err != nil {
		p.begun = false
		return nil, err
	}
	if w > acceleratorWatts*1_000_000 {
		return nil, notMeasured("%s: got %d µW, more than %d W", p.name, w, acceleratorWatts)
	}
	at := p.now().Awake
	if d := at - p.at; p.begun && d > 0 && d <= unread {
		area := (p.last+w)/2*uint64(d/time.Microsecond) + p.rest
		p.sum, p.rest = p.sum+area/1_000_000, area%1_000_000
	}
	p.begun, p.at, p.last = true, at, w
	return []uint64{p.sum}, nil
}
