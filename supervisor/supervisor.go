// Package supervisor is where executors, meters and the signer meet: it runs a
// unit at the tier that its request requires, meters it, seals the receipt and
// the attestation, verifies its own seal and keeps the record (§2.1). It is
// handed a signer and never sees a key.
package supervisor

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/internal/sig"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/store"
)

// Config is what a supervisor is made of.
type Config struct {
	Signer crypto.Signer
	// Sequence reserves the signer's next receipt number durably (§6.1).
	Sequence  func(context.Context) (uint64, error)
	Objects   store.Objects
	Log       store.Log
	Executors []host.Executor
	// Meters finds the meter of a class for runs that are counted this way.
	Meters func(host.Counting, joulebox.DeviceClass) (meter.Meter, bool)
	Table  meter.Table
	// EnergyModel addresses the calibration that Table is from; zero without one.
	EnergyModel joulebox.ID
	// MultiTenant says that units of several parties share this host (§2.4).
	MultiTenant bool
	// Ceilings are the largest I/O ceilings that count as a bound (§2.4).
	Ceilings grant.Ceilings

	// Pool books what kept processes draw, if any are kept.
	Pool *Pool

	Now  func() time.Time // defaults to time.Now
	Rand io.Reader        // defaults to crypto/rand
}

// Supervisor runs units. It is safe for concurrent use; two runs share nothing
// but the store, the signer and compiled modules.
type Supervisor struct {
	config Config
	public ed25519.PublicKey
}

// New checks that nothing is missing.
func New(c Config) (*Supervisor, error) {
	switch {
	case c.Signer == nil || c.Sequence == nil:
		return nil, errors.New("supervisor: no signer: nothing could be sealed")
	case c.Objects == nil || c.Log == nil:
		return nil, errors.New("supervisor: no store: nothing could be kept")
	case len(c.Executors) == 0:
		return nil, errors.New("supervisor: no executor: nothing could run")
	case c.Meters == nil:
		return nil, errors.New("supervisor: no meter, and metering is not optional (§5.1)")
	}
	public, err := sig.Public(c.Signer)
	if err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	return &Supervisor{config: c, public: public}, nil
}

// Public is the key that the supervisor's records verify under.
func (s *Supervisor) Public() ed25519.PublicKey { return s.public }
