package host

import (
	"context"
	"time"

	"github.com/joulebox/joulebox/internal/wasi"
)

// system is the broker as WASI's System.
type system struct{ b *Broker }

func (s system) Args() []string     { return s.b.config.Args }
func (s system) Environ() []string  { return s.b.config.Env }
func (s system) Tolls() Tolls       { return s.b.config.Tolls }
func (s system) Recorder() Recorder { return s.b.config.Recorder }

func (s system) Now(id wasi.ClockID, counted uint64) (uint64, error) {
	return s.b.clock.now(id, counted)
}

// Resolution is the same on every host (§7.5).
func (s system) Resolution(id wasi.ClockID) (uint64, error) {
	_, err := s.b.clock.now(id, 0)
	return s.b.clock.resolution(id), err
}

func (s system) Wait(ctx context.Context, d time.Duration, ready <-chan struct{}) bool {
	return s.b.clock.wait(ctx, d, ready)
}

func (s system) Virtual() bool { return !s.b.clock.granted }

func (s system) Random(ctx context.Context, p []byte) error { return s.b.random(ctx, p) }

func (s system) Stdin() wasi.Stream  { return s.b.stdin }
func (s system) Stdout() wasi.Stream { return s.b.stdout }
func (s system) Stderr() wasi.Stream { return s.b.stderr }
func (s system) Terminal() bool      { return s.b.config.Terminal }

func (s system) Preopens() ([]wasi.Preopen, error) { return s.b.preopens() }
