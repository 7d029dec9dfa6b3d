package custody

import (
	"context"
	"crypto/ed25519"
	"errors"
	"path/filepath"
	"strings"

	"github.com/joulebox/joulebox"
)

// State is whether a key signs.
type State string

// The states of a key.
const (
	Active  State = "active"
	Copied  State = "copied"  // its folder isn't where its counter was kept
	Retired State = "retired" // rotated away
	Damaged State = "damaged" // the key or its counter can't be read
)

// Info is what can be told about a key.
type Info struct {
	Path   string            // the key folder
	Public ed25519.PublicKey // nil if it can't be read
	HostID joulebox.ID
	State  State
	Reason string // why it doesn't sign; empty for an active key
	// NextSequence is the first number that no process has reserved.
	NextSequence uint64
}

// Info tells about an open key.
func (k *Key) Info() (Info, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	if err := k.enter(ctx); err != nil {
		return Info{}, err
	}
	defer k.unblock()
	if k.sequence == nil {
		return Info{}, ErrClosed
	}
	c, err := k.look(ctx)
	if err != nil {
		return Info{}, err
	}
	info := Info{Path: k.vault.base, Public: k.public, HostID: k.HostID(), State: Active, NextSequence: c.next}
	info.explain(k.Check())
	return info, nil
}

func (i *Info) explain(why error) {
	if why == nil {
		return
	}
	i.State, i.Reason = Damaged, why.Error()
	var copied *CopiedError
	var retired *RetiredError
	switch {
	case errors.As(why, &copied):
		i.State = Copied
	case errors.As(why, &retired):
		i.State = Retired
	}
}

// Show tells about the key that a reference names, also where it may not sign.
// Errors are those of Open.
func Show(reference string) (Info, error) {
	k, err := Open(reference)
	if err != nil {
		return Info{}, err
	}
	defer k.Close()
	return k.Info()
}

// RetiredKeys tells about the keys that were rotated away from a reference, so
// that what they signed can still be verified.
func RetiredKeys(reference string) ([]Info, error) {
	v, err := openVault(reference)
	if err != nil {
		return nil, err
	}
	names, err := v.fs.List(v.parent())
	if err != nil {
		return nil, err
	}
	var all []Info
	for _, name := range names {
		if strings.HasPrefix(name, filepath.Base(v.base)+retiredMark) {
			all = append(all, v.retiredInfo(filepath.Join(v.parent(), name)))
		}
	}
	return all, nil
}

// retiredInfo has no pinned public key beside the folder to go by, and makes none.
func (v *vault) retiredInfo(folder string) Info {
	old := *v
	old.base = folder
	info := Info{Path: folder, State: Retired, Reason: (&RetiredError{Path: folder}).Error()}
	seed, err := old.readSeed()
	if err != nil {
		info.explain(err)
		return info
	}
	private := ed25519.NewKeyFromSeed(seed)
	clear(seed)
	defer clear(private)
	info.Public = private.Public().(ed25519.PublicKey)
	info.HostID = HostID(info.Public)
	return info
}
