package rootfs

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// store keeps trees by image id, for all processes of one user.
//
//	trees/ID/tree    the root filesystem
//	trees/ID/record  its image, and the state of each file when that was taken
//	trees/ID/lock    shared by those who use the tree; its time is that of the last use
//	keys/KEY         the image id of what was unpacked before: layers, or a directory's state
//	documents/DIGEST manifests and configurations of registries
//	locks/           so that one process unpacks or checks a thing and others wait for it
//	tmp/             trees under way, and trees that nobody wants any more
type store struct {
	path string
	most int64 // bytes of all trees
}

const (
	treesDir     = "trees"
	keysDir      = "keys"
	documentsDir = "documents"
	locksDir     = "locks"
	tmpDir       = "tmp"

	treeName   = "tree"
	recordName = "record"
	lockName   = "lock"
)

// openStore makes the store's folders where they are missing. They must be ours
// alone: what lies there is run.
func openStore(path string, most int64) (*store, error) {
	if path == "" {
		return nil, errors.New("store: no directory for unpacked images was given")
	}
	for _, name := range []string{"", treesDir, keysDir, documentsDir, locksDir, tmpDir} {
		dir := filepath.Join(path, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		st, err := disk.OS.Stat(dir)
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		if !st.Mode.IsDir() || st.Owner != os.Geteuid() || st.Mode.Perm()&0o077 != 0 {
			return nil, fmt.Errorf("store: %s: got %v of user %d, want a directory of user %d alone; chmod 700 it or name another", dir, st.Mode, st.Owner, os.Geteuid())
		}
	}
	return &store{path: path, most: most}, nil
}

func (s *store) join(names ...string) string {
	return filepath.Join(append([]string{s.path}, names...)...)
}

func (s *store) treeDir(id joulebox.ID) string { return s.join(treesDir, hex.EncodeToString(id[:])) }

// lookup finds the image id of what was unpacked before.
func (s *store) lookup(k key) (id joulebox.ID, ok bool) {
	name := s.join(keysDir, k.String())
	b, err := os.ReadFile(name)
	if err != nil {
		return id, false
	}
	id, err = joulebox.ParseID(strings.TrimSuffix(string(b), "\n"))
	if err == nil {
		touch(name)
	}
	return id, err == nil
}

func (s *store) remember(k key, id joulebox.ID) error {
	return s.write(s.join(keysDir, k.String()), []byte(id.String()+"\n"))
}

// write puts a file in its place whole. Nothing in the store is made durable: each
// file is checked when it is read, a tree is read whole after the machine was
// started anew, and what was lost is made again.
func (s *store) write(name string, b []byte) (err error) {
	f, err := os.CreateTemp(s.join(tmpDir), "file-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// document finds a small file by its digest, which is checked.
func (s *store) document(d digest) ([]byte, bool) {
	name := s.join(documentsDir, d.hex())
	b, err := os.ReadFile(name)
	if err != nil || digestOf(b) != d {
		return nil, false
	}
	touch(name)
	return b, true
}

func (s *store) keepDocument(b []byte) error {
	return s.write(s.join(documentsDir, digestOf(b).hex()), b)
}

// touch notes a use, for those who look for what isn't used. Once a minute is
// enough; that it failed is their loss alone.
func touch(name string) {
	now := time.Now()
	if info, err := os.Lstat(name); err == nil && now.Sub(info.ModTime()) > time.Minute {
		_ = os.Chtimes(name, now, now)
	}
}

// lockFile waits for one of a few locks that stand for all keys of a kind.
func (s *store) lockFile(ctx context.Context, kind string, k [32]byte) (io.Closer, error) {
	f, err := disk.OS.Open(s.join(locksDir, fmt.Sprintf("%s-%02x", kind, k[0])), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := f.Lock(ctx, disk.Exclusive); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// bootID is of this start of the machine; empty if it can't be told, which no
// record's is.
func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(b))
}

// stillThere reports whether an open file is the one at its path.
func stillThere(f disk.File, path string) (bool, error) {
	open, err := f.Stat()
	if err != nil {
		return false, err
	}
	at, err := disk.OS.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && open.Inode == at.Inode && open.Device == at.Device, err
}
