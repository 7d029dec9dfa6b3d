package supervisor

import (
	"context"
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
)

// errand begins what must be on disk before a run's record is, and returns what
// waits for the run's sequence number. It goes there while the unit is got ready
// and runs. For a unit whose objects this process has put before, next to nothing
// is left to do, which two more goroutines would cost more than; an error is then
// known before the unit runs.
func (s *Supervisor) errand(ctx context.Context, p *Plan) (wait func() (uint64, error), err error) {
	sequence := func() (uint64, error) { return s.config.Sequence(ctx) }
	objects := func() (struct{}, error) { return struct{}{}, s.keepObjects(ctx, p) }
	if !s.hasPut(p.UnitID) {
		sequence, objects = async(sequence), async(objects)
		return func() (uint64, error) { return both(sequence, objects) }, nil
	}
	n, err := both(sequence, objects)
	if err != nil {
		return nil, fmt.Errorf("the unit didn't run, for its record could not be made: %w", err)
	}
	return func() (uint64, error) { return n, nil }, nil
}

func both(sequence func() (uint64, error), objects func() (struct{}, error)) (uint64, error) {
	n, err := sequence()
	_, objectsErr := objects()
	return n, errors.Join(err, objectsErr)
}

// hasPut reports that the store has seen a unit's descriptor become durable, which
// is put last of its objects.
func (s *Supervisor) hasPut(unit joulebox.ID) bool {
	known, ok := s.config.Objects.(interface{ Known(joulebox.ID) bool })
	return ok && known.Known(unit)
}

// async begins f at once; the function that it returns waits for it.
func async[T any](f func() (T, error)) func() (T, error) {
	var v T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		v, err = f()
	}()
	return func() (T, error) {
		<-done
		return v, err
	}
}

// keepObjects puts the unit's bytes, its grants and its descriptor.
func (s *Supervisor) keepObjects(ctx context.Context, p *Plan) error {
	image, err := p.imageParts()
	if err != nil {
		return err
	}
	for _, o := range append(image, p.Unit.Grants, p.unitBytes) {
		if _, err := s.config.Objects.Put(ctx, o); err != nil {
			return err
		}
	}
	return nil
}
