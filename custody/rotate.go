package custody

import (
	"context"
	"errors"
	"io/fs"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// Rotate makes a new key in the place of one, which is kept as retired: it signs
// nothing more once every process that has it open has used up its block of
// numbers. Rotate is also the way on from a key that was copied, lost or
// damaged, and finishes a rotation that a crash cut short.
func Rotate(reference string) (*Key, error) {
	v, err := openVault(reference)
	if err != nil {
		return nil, err
	}
	return v.rotate()
}

func (v *vault) rotate() (*Key, error) {
	err := v.locked(func() error {
		public, folder, err := v.prepare()
		if err != nil {
			return err
		}
		if err := v.retire(); err != nil {
			_ = v.sweep()
			return err
		}
		return v.install(public, folder)
	})
	if err != nil {
		return nil, err
	}
	return v.openKey()
}

// retire marks the present key and moves it aside. What can't be read is moved
// as it is.
func (v *vault) retire() error {
	switch err := v.checkFolder(); {
	case errors.Is(err, fs.ErrNotExist):
		if gone := v.missing(); errors.Is(gone, ErrNoKey) {
			return gone
		}
		return nil // lost, or moved by a rotation that was cut short
	case err != nil:
		return err
	}
	id, err := v.markRetired()
	if err != nil {
		return err
	}
	to := v.retiredFolder(id)
	if _, err := v.fs.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		to = disk.RandomName(to + "-") // the same key again, out of a backup
	}
	return v.fs.Rename(v.base, to)
}

// markRetired writes into the counter that its key signs nothing more.
func (v *vault) markRetired() (joulebox.ID, error) {
	k, err := v.openKey()
	var lost *LostError
	var damaged *DamagedError
	if errors.As(err, &lost) || errors.As(err, &damaged) {
		public, _ := v.readPublic() // the best that is left to name it by
		return HostID(public), nil
	}
	if err != nil {
		return joulebox.ID{}, err
	}
	defer k.Close()
	return k.HostID(), k.rewrite(func(c counters, now place) (counter, error) {
		next, _, _ := c.advance(0)
		next.retired = true
		return next, nil
	})
}

// rewrite replaces what the counter says, under its lock.
func (k *Key) rewrite(change func(counters, place) (counter, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	return k.withCounter(ctx, func(c counters, now place) error {
		next, err := change(c, now)
		if err != nil {
			return err
		}
		return writeSlot(k.sequence, 1-c.slot, next)
	})
}
