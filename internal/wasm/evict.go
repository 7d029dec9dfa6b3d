package wasm

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// staleWork is how old a work directory has to be to be someone's leftover: no
// compilation may take that long.
const staleWork = time.Hour

type usedEntry struct {
	dir  string
	at   time.Time
	size int64
}

// makeRoom removes the entries that were used longest ago until need more bytes
// fit, and what killed processes left behind. It is best effort: a cache that
// can't be tidied still works.
func (c *diskCache) makeRoom(need int64) {
	c.removeLeftovers()
	entries, total := c.list()
	slices.SortFunc(entries, func(a, b usedEntry) int { return a.at.Compare(b.at) })
	for _, e := range entries {
		if total+need <= c.limit {
			return
		}
		c.discard(e.dir)
		total -= e.size
	}
}

func (c *diskCache) list() (entries []usedEntry, total int64) {
	dirs, _ := os.ReadDir(c.path("entries"))
	for _, d := range dirs {
		info, err := d.Info()
		if err != nil {
			continue
		}
		e := usedEntry{dir: c.path("entries", d.Name()), at: info.ModTime(), size: treeBytes(c.path("entries", d.Name()))}
		entries = append(entries, e)
		total += e.size
	}
	return entries, total
}

func treeBytes(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // removed by someone else meanwhile
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

func (c *diskCache) removeLeftovers() {
	dirs, _ := os.ReadDir(c.path("work"))
	for _, d := range dirs {
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > staleWork {
			_ = os.RemoveAll(c.path("work", d.Name()))
		}
	}
}
