package execwatch

import (
	"sync"
	"time"

	"github.com/joulebox/joulebox"
)

// identity is a file in one state, as far as the file system tells.
type identity struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // ns
}

// content is what is known of a file's bytes.
type content struct {
	hash joulebox.ID
	header
}

// Cache keeps the hashes of files. What it gives is as good as reading the file
// again: see keep for what goes in. It is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	known map[key]content
}

// key is a file in one state, and whether nobody could write to it while it was
// read. What was read otherwise doesn't speak for a file that is still.
type key struct {
	identity
	still bool
}

// cached bounds a cache: some 200 bytes each.
const cached = 4096

// NewCache is an empty cache.
func NewCache() *Cache { return &Cache{known: map[key]content{}} }

func (c *Cache) get(k key) (content, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.known[key{k.identity, true}]
	if !ok && !k.still {
		v, ok = c.known[k]
	}
	return v, ok
}

// settled is how old a change of a file must be before its hash is kept. A change
// after the hash then shows in ctime, however coarse the clock of the file system
// is; nobody can set ctime.
const settled = 2 * time.Second

// keep remembers a hash that was computed since began. When the file was still, a
// writer that comes later has to open it or map its pages anew, and either shows in
// ctime on the file systems that are trusted with it.
func (c *Cache) keep(k key, v content, began time.Time) {
	if c.known == nil || began.UnixNano()-k.ctime < int64(settled) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= cached {
		for old := range c.known { // any one: the order of a map is no one's to choose
			delete(c.known, old)
			break
		}
	}
	c.known[k] = v
}
