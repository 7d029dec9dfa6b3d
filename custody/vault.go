package custody

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// vault is one key folder and what lies beside it.
type vault struct {
	fs    disk.FS
	base  string // the key folder
	here  machine
	owner int
}

func openVault(reference string) (*vault, error) {
	base, err := pathOf(reference)
	if err != nil {
		return nil, err
	}
	return &vault{fs: disk.OS, base: base, here: thisMachine(), owner: os.Geteuid()}, nil
}

func (v *vault) keyFile() string      { return filepath.Join(v.base, "key") }
func (v *vault) sequenceFile() string { return filepath.Join(v.base, "sequence") }
func (v *vault) publicFile() string   { return v.base + ".pub" }
func (v *vault) parent() string       { return filepath.Dir(v.base) }

const retiredMark = ".retired."

func (v *vault) retiredFolder(id joulebox.ID) string {
	return v.base + retiredMark + hex.EncodeToString(id[:8])
}

// checkFolder refuses a key folder that others could have had a hand in.
func (v *vault) checkFolder() error {
	s, err := v.fs.Stat(v.base)
	if err != nil {
		return err
	}
	if !s.Mode.IsDir() {
		return fmt.Errorf("custody: %s: got %v, want a folder that is no link", v.base, s.Mode.Type())
	}
	return v.private(v.base, s, "chmod 700")
}

func (v *vault) private(path string, s disk.Stat, mend string) error {
	if s.Owner != v.owner {
		return fmt.Errorf("custody: %s: got owner %d, want %d: a key is its owner's alone", path, s.Owner, v.owner)
	}
	if s.Mode.Perm()&0o077 != 0 {
		return fmt.Errorf("custody: %s: got mode %04o, and others may read or write it: `%s %s`, and rotate the key if they may have", path, s.Mode.Perm(), mend, path)
	}
	return nil
}

// open opens one of the key's files and checks who can read it.
func (v *vault) open(path string, flag int) (disk.File, error) {
	f, err := v.fs.Open(path, flag)
	if err != nil {
		return nil, err
	}
	s, err := f.Stat()
	if err == nil && !s.Mode.IsRegular() {
		err = fmt.Errorf("custody: %s: got %v, want a regular file", path, s.Mode.Type())
	}
	if err == nil {
		err = v.private(path, s, "chmod 600")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readSeed reads the key's secret.
func (v *vault) readSeed() ([]byte, error) {
	f, err := v.open(v.keyFile(), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := disk.ReadFile(f, v.keyFile(), maxKeyFile)
	if err != nil {
		return nil, err
	}
	defer clear(text)
	seed, err := parseSeed(text)
	if err != nil {
		return nil, &DamagedError{Path: v.keyFile(), Reason: err.Error()}
	}
	return seed, nil
}

// missing tells a key that never was from one that is gone.
func (v *vault) missing() error {
	pinned, err := v.readPublic()
	var failed *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w at %s: `joulebox key new` makes one", ErrNoKey, v.base)
	case errors.As(err, &failed):
		return err
	case err != nil:
		return &LostError{Path: v.base, Reason: "the key folder is gone, and " + err.Error()}
	}
	return &LostError{Path: v.base, HostID: HostID(pinned), Reason: "the key folder is gone"}
}

func (v *vault) readPublic() (ed25519.PublicKey, error) {
	text, err := disk.Read(v.fs, v.publicFile(), maxKeyFile)
	if err != nil {
		return nil, err
	}
	pub, err := ParsePublic(strings.TrimSuffix(string(text), "\n"))
	if err != nil {
		return nil, fmt.Errorf("custody: %s: %w", v.publicFile(), err)
	}
	return pub, nil
}

func (v *vault) writePublic(pub ed25519.PublicKey) error {
	return disk.Replace(v.fs, v.publicFile(), v.publicFile()+".new", []byte(hex.EncodeToString(pub)+"\n"))
}

// notePublic sees to it that the public key is noted beside the key folder. If
// it isn't, a crash came between making the key and making its name durable.
func (v *vault) notePublic(public ed25519.PublicKey) error {
	noted, err := v.readPublic()
	if err == nil && noted.Equal(public) {
		return nil
	}
	var failed *fs.PathError
	if errors.As(err, &failed) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return v.locked(func() error { return v.durable(public) })
}

// durable makes a key folder's name durable, and those above it, and only then
// notes the public key.
func (v *vault) durable(public ed25519.PublicKey) error {
	if err := disk.SyncUp(v.fs, v.base); err != nil {
		return err
	}
	return v.writePublic(public)
}

// lockWait bounds the wait for another process that makes or rotates the key.
const lockWait = 10 * time.Second

// locked runs f while no other process makes, rotates or adopts this key.
func (v *vault) locked(f func() error) error {
	if err := disk.MakeDirs(v.fs, v.parent()); err != nil {
		return err
	}
	lock, err := v.fs.Open(v.base+".lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer lock.Close() // and with it the lock
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	if err := lock.Lock(ctx, disk.Exclusive); err != nil {
		return fmt.Errorf("custody: another process holds %s.lock: %w", v.base, err)
	}
	return f()
}
