package rootfs

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/unit"
)

// settled is how old the last change of a directory must be for its state to say
// that it is still the same: two changes within one tick of a clock look like one.
const settled = 2 * time.Second

// Dir opens a directory as a root filesystem. What runs is a copy in the store,
// which shares its blocks where the file system can: what was hashed is what runs,
// and the directory may change meanwhile. If no file of the directory has changed
// since it was copied last, that copy is taken.
func Dir(ctx context.Context, path string, o Options) (*Root, error) {
	root, err := openTree(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("directory %s: %w", path, err)
	}
	return root, nil
}

func openTree(ctx context.Context, path string, o Options) (*Root, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s, err := openStore(o.Store, cmp.Or(o.StoreBytes, defaultStoreBytes))
	if err != nil {
		return nil, err
	}
	dir, err := again(func() (int, error) { return unix.Open(full, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	if stored, err := filepath.EvalSymlinks(o.Store); err != nil || beneath(stored, full) {
		return nil, cmp.Or(err, fmt.Errorf("holds the store of unpacked images, %s", stored))
	}
	now := time.Now()
	before, err := scan(ctx, dir, newBudget(o.Limits), new(LeftOut))
	if err != nil {
		return nil, err
	}
	copyAll := func(ctx context.Context, w *work) (*node, LeftOut, error) { return before.copy(ctx, dir, w, o.Limits) }
	h, err := s.obtainDir(ctx, before, now, o.Rehash, copyAll)
	if err != nil {
		return nil, err
	}
	return h.root(), nil
}

// beneath reports whether a path lies in a directory, or is it.
func beneath(path, dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// obtainDir takes a copy by the state of the directory only if that says enough.
func (s *store) obtainDir(ctx context.Context, before *scanner, now time.Time, rehash bool, copyAll fill) (*held, error) {
	if now.UnixNano()-before.newest > int64(settled) {
		return s.obtain(ctx, before.key(), rehash, copyAll)
	}
	h, err := s.make(ctx, copyAll)
	if err == nil {
		s.prune()
	}
	return h, err
}

// key is the state of all that was found, on this start of this machine or another.
func (s *scanner) key() key {
	h := joulebox.NewHasher()
	buf := make([]byte, 0, 256)
	for _, f := range s.found {
		buf = appendEntry(buf[:0], "", f.Entry, f.state)
		h.Write(buf)
	}
	id := h.ID()
	return newKey("directory", fmt.Sprint(s.device), string(id[:]))
}

// copy stages the files and gives the tree that they are of. What a directory was
// before and after must be the same, or the copy is of neither.
func (s *scanner) copy(ctx context.Context, dir int, w *work, l Limits) (*node, LeftOut, error) {
	n := runtime.GOMAXPROCS(0)
	if err := w.stage(n); err != nil {
		return nil, LeftOut{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	contents := make([]*content, len(s.found))
	var workers sync.WaitGroup
	for worker := range n {
		workers.Go(func() {
			stage := stageDir{fd: w.stages[worker], layer: worker}
			for i := worker; i < len(s.found) && ctx.Err() == nil; i += n {
				if f := &s.found[i]; f.Type == unit.File {
					contents[i] = &content{mode: f.Mode, size: f.size}
					if err := stage.copy(dir, f, contents[i]); err != nil {
						cancel(fmt.Errorf("%q: %w", f.Path, err))
					}
				}
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, LeftOut{}, err
	}
	after, err := scan(ctx, dir, newBudget(l), new(LeftOut))
	if err != nil {
		return nil, LeftOut{}, err
	}
	if !slices.Equal(after.found, s.found) || *after.left != *s.left {
		return nil, LeftOut{}, fmt.Errorf("%w while it was read; try again when nothing writes there", errChanged)
	}
	return treeOf(s.found, contents), *s.left, nil
}

// copy shares a file's blocks, and hashes the copy, or copies while hashing.
func (s *stageDir) copy(dir int, f *found, c *content) error {
	from, err := openBeneath(dir, f.Path, unix.O_RDONLY)
	if err != nil {
		return named("open", "", err)
	}
	defer unix.Close(from)
	var t unix.Stat_t
	if err := unix.Fstat(from, &t); err != nil || stateOf(&t) != f.state {
		return cmp.Or(err, errChanged)
	}
	return s.put(c, func(to int) error {
		// Blocks that are shared are the copy's own as soon as they are, so the copy is what
		// is hashed. Most file systems can't, and say so.
		if unix.IoctlFileClone(to, from) == nil {
			c.b3, err = hashRead(to, c.size, s.buf)
			return err
		}
		c.b3, err = copyHashed(to, fdReader(from), c.size, s.buf)
		return err
	})
}

// treeOf makes nodes of what was found; folders come before what they hold.
func treeOf(all []found, contents []*content) *node {
	byPath := map[string]*node{}
	var root *node
	for i, f := range all {
		n := &node{mode: f.Mode, file: contents[i], target: f.Target}
		if f.Type == unit.Dir {
			n = newDir(f.Mode)
			byPath[f.Path] = n
		}
		if f.Path == "/" {
			root = n
			byPath[""] = n
			continue
		}
		parent, name := filepath.Split(f.Path)
		byPath[strings.TrimSuffix(parent, "/")].children[name] = n
	}
	return root
}
