package custody

import (
	"cmp"
	"context"

	"github.com/joulebox/joulebox/internal/disk"
)

// Next returns a number that this key has never given out and never will again,
// here or in any other process (§6.1). Numbers rise within a Key, with gaps;
// across processes only their being different is sure. Errors: *CopiedError,
// *RetiredError, *ExhaustedError, *DamagedError, ErrClosed, or the disk's. A number
// is given out only for a key that can sign.
func (k *Key) Next(ctx context.Context) (uint64, error) {
	if err := k.enter(ctx); err != nil {
		return 0, err
	}
	defer k.unblock()
	derived := k.deriving() // while the disk is waited for
	n, err := k.number(ctx)
	return n, cmp.Or(derived(), err)
}

func (k *Key) number(ctx context.Context) (uint64, error) {
	if k.next == k.end {
		if err := k.reserve(ctx); err != nil {
			return 0, err
		}
	}
	n := k.next
	k.next++
	return n, nil
}

// enter waits its turn, but not longer than ctx: another caller may be waiting for
// a process that was stopped while it held the counter.
func (k *Key) enter(ctx context.Context) error {
	select {
	case k.block <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *Key) unblock() { <-k.block }

// reserve takes the next block for this process alone.
func (k *Key) reserve(ctx context.Context) error {
	if k.sequence == nil {
		return ErrClosed
	}
	if err := k.Check(); err != nil {
		return err
	}
	err := k.withCounter(ctx, func(c counters, now place) error {
		if err := k.vault.usable(c, now); err != nil {
			k.refuse(err)
			return err
		}
		next, first, ok := c.advance(k.size)
		if !ok {
			return &ExhaustedError{Path: k.vault.base}
		}
		next.place = c.place.seenFrom(now)
		if err := writeSlot(k.sequence, 1-c.slot, next); err != nil {
			return err
		}
		k.next, k.end = first, next.next
		return nil
	})
	if err == nil {
		k.size = min(2*k.size, maxBlock)
	}
	return err
}

// look reads the counter and notes whether the key may sign.
func (k *Key) look(ctx context.Context) (c counters, err error) {
	now, err := k.place()
	if err != nil {
		return counters{}, err
	}
	// Most of the time no one is writing, and the slots can be read as they are.
	if c, err = k.readCounter(); err != nil || c.damaged {
		err = k.withCounter(ctx, func(locked counters, _ place) error {
			c = locked
			return nil
		})
	}
	if err != nil {
		return counters{}, err
	}
	if why := k.vault.usable(c, now); why != nil {
		k.refuse(why)
	}
	return c, nil
}

// withCounter runs f while this Key alone holds the counter.
func (k *Key) withCounter(ctx context.Context, f func(counters, place) error) error {
	if err := k.sequence.Lock(ctx, disk.Exclusive); err != nil {
		return err
	}
	defer k.sequence.Unlock()
	now, err := k.place()
	if err != nil {
		return err
	}
	c, err := k.readCounter()
	if err != nil {
		return err
	}
	return f(c, now)
}

func (k *Key) readCounter() (counters, error) {
	path := k.vault.sequenceFile()
	file, err := disk.ReadFile(k.sequence, path, maxCounterFile)
	if err != nil {
		return counters{}, err
	}
	c, err := parseCounters(file)
	if err != nil {
		return counters{}, &DamagedError{Path: path, Reason: err.Error()}
	}
	if c.host != k.HostID() {
		return counters{}, &DamagedError{Path: path, Reason: "it counts for " + c.host.String() + ", and the key beside it is " + k.HostID().String()}
	}
	return c, nil
}

func writeSlot(f disk.File, slot int, c counter) error {
	if _, err := f.WriteAt(c.encode(), int64(slot)*slotStride); err != nil {
		return err
	}
	return f.Sync()
}

func (v *vault) usable(c counters, now place) error {
	if c.retired {
		return &RetiredError{Path: v.base}
	}
	if changed := c.place.moved(now); changed != "" {
		return &CopiedError{Path: v.base, Changed: changed}
	}
	return nil
}

func (k *Key) place() (place, error) { return k.vault.placeOf(k.folder, k.sequence) }

// placeOf is where an open counter in an open folder is now. Both are asked by
// descriptor, so that a folder that is moved while in use stays the same one.
func (v *vault) placeOf(folder, sequence disk.File) (place, error) {
	dir, err := folder.Stat()
	if err != nil {
		return place{}, err
	}
	file, err := sequence.Stat()
	if err != nil {
		return place{}, err
	}
	p := place{machine: v.here.id, boot: v.here.boot, folder: nodeOf(dir), file: nodeOf(file)}
	p.volume, p.device = volumeOf(v.base, dir.Device)
	return p, nil
}
