package wasm

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// diskCache is a directory of entries that processes share:
//
//	secret       32 random bytes, readable by this user alone
//	entries/KEY  one directory a module
//	work/…       entries in the making, and ones being removed
//
// Entries appear and go by rename, so a reader sees one whole or not at all.
type diskCache struct {
	dir    string
	limit  int64
	secret []byte
}

const secretBytes = 32

func openDiskCache(dir string, limit int64) (*diskCache, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &diskCache{dir: dir, limit: limit}
	for _, d := range []string{dir, c.path("entries"), c.path("work")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("wasm cache: %w", err)
		}
	}
	if err := onlyOurs(dir, 0o022); err != nil {
		return nil, err
	}
	c.secret, err = readSecret(c.path("secret"))
	return c, err
}

func (c *diskCache) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}

func (c *diskCache) entryDir(key entryKey) string { return c.path("entries", key.String()) }

// onlyOurs refuses a path that another user owns or has any of the bits on.
func onlyOurs(path string, bits fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("wasm cache: %w", err)
	}
	if info.Mode()&bits != 0 || !ownedByUs(info) {
		return fmt.Errorf("wasm cache: %s has mode %v and may be changed or read by others: remove it, or chmod go-rwx", path, info.Mode())
	}
	return nil
}

// readSecret reads the sealing secret, or makes one on first use. Two processes
// that make one at once end up with the same: link doesn't replace.
func readSecret(path string) ([]byte, error) {
	secret, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeSecret(path); err != nil {
			return nil, fmt.Errorf("wasm cache: %w", err)
		}
		secret, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("wasm cache: %w", err)
	}
	if len(secret) != secretBytes {
		return nil, fmt.Errorf("wasm cache: %s has %d bytes, want %d: remove it, and everything is compiled anew", path, len(secret), secretBytes)
	}
	return secret, onlyOurs(path, 0o077)
}

func makeSecret(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "secret-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	_, err = f.Write(secret)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// read finds a whole entry and marks it as used.
func (c *diskCache) read(key entryKey) (*entry, error) {
	e, err := readEntry(c.entryDir(key), key, c.secret)
	if err == nil {
		c.markUsed(e.dir)
	}
	return e, err
}

// markUsed sets the time that eviction goes by, once a minute at most.
func (c *diskCache) markUsed(dir string) {
	now := time.Now()
	if info, err := os.Stat(dir); err == nil && now.Sub(info.ModTime()) > time.Minute {
		_ = os.Chtimes(dir, now, now) // an entry that is used unmarked is evicted early, no more
	}
}

// workDir makes a directory for an entry in the making.
func (c *diskCache) workDir() (string, error) { return os.MkdirTemp(c.path("work"), "") }

// add seals what a work directory holds and moves it into place.
func (c *diskCache) add(key entryKey, work string) error {
	e, info, err := readParts(work)
	if err != nil {
		return err
	}
	seal, err := e.seal(key, info, c.secret)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, sealFile), seal, 0o600); err != nil {
		return err
	}
	c.makeRoom(e.size() + int64(len(info)))
	return c.replace(key, work)
}

// replace moves a sealed entry into place. One that is there already and whole
// stays: another process was faster, and someone may be reading it.
func (c *diskCache) replace(key entryKey, work string) error {
	dir := c.entryDir(key)
	err := os.Rename(work, dir)
	if err == nil {
		return nil
	}
	if _, bad := readEntry(dir, key, c.secret); bad == nil {
		return nil
	}
	c.discard(dir)
	return os.Rename(work, dir)
}

// discard removes an entry: out of sight first, then for good.
func (c *diskCache) discard(dir string) {
	work, err := c.workDir()
	if err != nil {
		return
	}
	_ = os.Rename(dir, filepath.Join(work, "gone"))
	_ = os.RemoveAll(work)
}
