package custody

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// New makes a key and opens it. It never overwrites one: where a key is the
// error is fs.ErrExist, where one was it is a *LostError.
func New(reference string) (*Key, error) {
	v, err := openVault(reference)
	if err != nil {
		return nil, err
	}
	return v.newKey()
}

func (v *vault) newKey() (*Key, error) {
	err := v.locked(func() error {
		_, err := v.fs.Stat(v.base)
		if err == nil {
			return fmt.Errorf("custody: %s: there is a key: %w: `joulebox key rotate` replaces it", v.base, fs.ErrExist)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if gone := v.missing(); !errors.Is(gone, ErrNoKey) {
			return gone
		}
		public, folder, err := v.prepare()
		if err != nil {
			return err
		}
		return v.install(public, folder)
	})
	if err != nil {
		return nil, err
	}
	return v.openKey()
}

// Ensure opens a key, and makes it first if there never was one; made says so.
// The caller says whether there are records that the key would have signed: if
// so a missing key is lost, not new, and the error is a *LostError. A key file that
// was put in another's place may be found out only by Next and Sign.
func Ensure(reference string, recordsExist bool) (k *Key, made bool, err error) {
	v, err := openVault(reference)
	if err != nil {
		return nil, false, err
	}
	return v.ensure(recordsExist)
}

func (v *vault) ensure(recordsExist bool) (k *Key, made bool, err error) {
	k, err = v.openSoon()
	if !errors.Is(err, ErrNoKey) {
		return k, false, err
	}
	if recordsExist {
		return nil, false, &LostError{Path: v.base, Reason: "there are records and no key"}
	}
	k, err = v.newKey()
	if errors.Is(err, fs.ErrExist) { // another process was first
		k, err = v.openSoon()
		return k, false, err
	}
	return k, err == nil, err
}

const unfinished = ".new-"

// prepare makes a complete key folder under a name that nobody opens. The caller
// holds the lock, so what lies there already was left by a crash.
func (v *vault) prepare() (ed25519.PublicKey, string, error) {
	if err := v.sweep(); err != nil {
		return nil, "", err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, "", err
	}
	defer clear(private)
	folder := disk.RandomName(v.base + unfinished)
	if err := v.fs.Mkdir(folder); err != nil {
		return nil, "", err
	}
	if err := v.fill(folder, private); err != nil {
		_ = v.sweep() // what failed matters more
		return nil, "", err
	}
	return public, folder, nil
}

func (v *vault) fill(folder string, private ed25519.PrivateKey) error {
	text, err := encodeKey(private)
	if err != nil {
		return err
	}
	defer clear(text)
	if err := disk.WriteNew(v.fs, filepath.Join(folder, "key"), text); err != nil {
		return err
	}
	if err := v.fillCounter(folder, HostID(private.Public().(ed25519.PublicKey))); err != nil {
		return err
	}
	return v.fs.SyncDir(folder)
}

// fillCounter makes the counter of a new key. It must know its own inode, so it
// is made first and written then.
func (v *vault) fillCounter(folder string, host joulebox.ID) error {
	dir, err := v.fs.Open(folder, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := v.fs.Open(filepath.Join(folder, "sequence"), disk.CreateNew)
	if err != nil {
		return err
	}
	defer f.Close()
	c := counter{host: host, next: firstSequence}
	if c.place, err = v.placeOf(dir, f); err != nil {
		return err
	}
	if _, err := f.WriteAt(freshCounters(c), 0); err != nil {
		return err
	}
	return f.Sync()
}

// install gives a prepared folder its name, and with it key and counter at once.
func (v *vault) install(public ed25519.PublicKey, folder string) error {
	if err := v.fs.Rename(folder, v.base); err != nil {
		return err
	}
	return v.durable(public)
}

// sweep removes folders that a crash left half made. They held keys that nothing
// was ever signed with.
func (v *vault) sweep() error {
	names, err := v.fs.List(v.parent())
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, filepath.Base(v.base)+unfinished) {
			continue
		}
		folder := filepath.Join(v.parent(), name)
		for _, file := range []string{"key", "sequence"} {
			if err := v.fs.Remove(filepath.Join(folder, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if err := v.fs.Remove(folder); err != nil {
			return err
		}
	}
	return nil
}
