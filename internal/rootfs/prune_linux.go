package rootfs

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// forgotten is how long a key or document is kept that nobody uses.
const forgotten = 90 * 24 * time.Hour

// used is a tree and when that was.
type used struct {
	path  string
	at    time.Time
	bytes int64
}

// prune removes the trees that were not used for the longest time until the rest
// fits. One that is held stays.
func (s *store) prune() {
	trees, total := s.trees()
	slices.SortFunc(trees, func(a, b used) int { return a.at.Compare(b.at) })
	for _, t := range trees {
		if total <= s.most {
			break
		}
		if s.drop(t.path) {
			total -= t.bytes
		}
	}
	for _, dir := range []string{keysDir, documentsDir} {
		s.forget(s.join(dir))
	}
}

func (s *store) trees() (all []used, total int64) {
	names, _ := disk.OS.List(s.join(treesDir))
	for _, name := range names {
		path := s.join(treesDir, name)
		info, err := os.Lstat(filepath.Join(path, lockName))
		if b, decodeErr := hex.DecodeString(name); err != nil || decodeErr != nil || len(b) != len(joulebox.ID{}) {
			continue
		}
		u := used{path: path, at: info.ModTime(), bytes: weigh(path)}
		all, total = append(all, u), total+u.bytes
	}
	return all, total
}

// nameBytes is what a name takes of the disk at least, beside a file's bytes.
const nameBytes = 256

// weigh is what a tree takes of the disk, about.
func weigh(path string) int64 {
	b, err := os.ReadFile(filepath.Join(path, recordName))
	if err != nil {
		return 0
	}
	r, err := parseRecord(b)
	if err != nil {
		return 0
	}
	return r.bytes + nameBytes*int64(len(r.entries))
}

// drop removes a tree unless somebody holds it.
func (s *store) drop(path string) bool {
	name := filepath.Join(path, lockName)
	f, err := disk.OS.Open(name, os.O_RDWR)
	if err != nil {
		return false
	}
	defer f.Close()
	if ok, err := f.TryLock(disk.Exclusive); !ok || err != nil {
		return false
	}
	if there, err := stillThere(f, name); !there || err != nil {
		return false
	}
	aside := s.aside()
	if err := os.Rename(path, aside); err != nil {
		return false
	}
	return removeTree(aside) == nil
}

// putAside takes a tree from where it is found. It goes when nobody holds it.
func (s *store) putAside(path string) error {
	err := os.Rename(path, s.aside())
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another did
	}
	return err
}

func (s *store) aside() string { return s.join(tmpDir, "old-"+randomName()) }

// grace is how long a folder may be without a lock: it was made just now.
const grace = time.Minute

// sweep removes what nobody works on or holds any more.
func (s *store) sweep() {
	names, _ := disk.OS.List(s.join(tmpDir))
	for _, name := range names {
		path := s.join(tmpDir, name)
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		if !info.IsDir() {
			if time.Since(info.ModTime()) > time.Hour {
				_ = os.Remove(path)
			}
			continue
		}
		s.sweepDir(path, time.Since(info.ModTime()) > grace)
	}
}

func (s *store) sweepDir(path string, old bool) {
	f, err := disk.OS.Open(filepath.Join(path, lockName), os.O_RDWR)
	if err != nil {
		if old && errors.Is(err, fs.ErrNotExist) {
			_ = removeTree(path)
		}
		return
	}
	defer f.Close()
	if ok, err := f.TryLock(disk.Exclusive); ok && err == nil {
		_ = removeTree(path)
	}
}

func (s *store) forget(dir string) {
	names, _ := disk.OS.List(dir)
	for _, name := range names {
		path := filepath.Join(dir, name)
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > forgotten {
			_ = os.Remove(path)
		}
	}
}

// removeTree removes folders too that their owner may not write to.
func removeTree(path string) error {
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
