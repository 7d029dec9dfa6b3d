package custody

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
	"github.com/joulebox/joulebox/internal/sig"
)

// TrustedKey is a public key that someone decided to believe, and a name for it.
type TrustedKey struct {
	Name   string
	Public ed25519.PublicKey
}

// HostID is the id of the host that has the key.
func (t TrustedKey) HostID() joulebox.ID { return HostID(t.Public) }

// Trust is the list of pinned public keys. A signature proves nothing but that
// some key made it; whose it is, only such a list can say (§7.3). One value is
// for one goroutine; any number of processes may change the file. It is text:
//
//	joulebox-trust 1
//	<64 hex digits> <name>
type Trust struct {
	fs   disk.FS
	path string
	keys []TrustedKey
}

const (
	trustHeader  = "joulebox-trust 1\n"
	maxTrustFile = 1 << 20
)

// OpenTrust reads the list at path, or the one of the state folder if path is
// empty. A list that isn't there is empty.
func OpenTrust(path string) (*Trust, error) {
	if path == "" {
		state, err := StateDir()
		if err != nil {
			return nil, err
		}
		path = filepath.Join(state, "trusted-keys")
	}
	t := &Trust{fs: disk.OS, path: path}
	return t, t.load()
}

// Keys lists the trusted keys in the order they were added.
func (t *Trust) Keys() []TrustedKey { return slices.Clone(t.keys) }

// Lookup finds a trusted key.
func (t *Trust) Lookup(public ed25519.PublicKey) (TrustedKey, bool) {
	i := slices.IndexFunc(t.keys, func(k TrustedKey) bool { return k.Public.Equal(public) })
	if i < 0 {
		return TrustedKey{}, false
	}
	return t.keys[i], true
}

// Add trusts a key under a name, durably. Neither may be there already.
func (t *Trust) Add(name string, public ed25519.PublicKey) error {
	if err := sig.CheckPublic(public); err != nil {
		return err
	}
	return t.update(func(keys []TrustedKey) ([]TrustedKey, error) {
		return withKey(keys, TrustedKey{name, slices.Clone(public)})
	})
}

// Remove no longer trusts the key with a name, durably.
func (t *Trust) Remove(name string) error {
	return t.update(func(keys []TrustedKey) ([]TrustedKey, error) {
		i := slices.IndexFunc(keys, func(k TrustedKey) bool { return k.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("custody: trusted keys: got %q, want one of the names there", name)
		}
		return slices.Delete(keys, i, i+1), nil
	})
}

// update changes the list as it is on disk now, so that two processes that add
// a key both keep theirs.
func (t *Trust) update(change func([]TrustedKey) ([]TrustedKey, error)) error {
	if err := disk.MakeDirs(t.fs, filepath.Dir(t.path)); err != nil {
		return err
	}
	lock, err := t.fs.Open(t.path+".lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer lock.Close()
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	if err := lock.Lock(ctx, disk.Exclusive); err != nil {
		return err
	}
	if err := t.load(); err != nil {
		return err
	}
	keys, err := change(slices.Clone(t.keys))
	if err != nil {
		return err
	}
	if err := disk.Replace(t.fs, t.path, t.path+".new", encodeTrust(keys)); err != nil {
		return err
	}
	if err := disk.SyncUp(t.fs, filepath.Dir(t.path)); err != nil {
		return err
	}
	t.keys = keys
	return nil
}
