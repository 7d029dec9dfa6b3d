package wasm

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

// Prepared is a module that was compiled, and whose entry in the cache was
// checked, but that isn't loaded: what one process hands to another to load it.
type Prepared struct{ entry *entry }

// Handed is what the other process needs of the cache: one directory, to read.
type Handed struct {
	Dir string
	// Code says that there is machine code. Without it the module is interpreted.
	Code bool
}

// Handed is what to hand over.
func (p *Prepared) Handed() Handed { return Handed{Dir: p.entry.dir, Code: p.entry.hasCode()} }

// Info is what the scan found out about the module. It mustn't be changed.
func (p *Prepared) Info() *rewrite.Info { return p.entry.info }

// Size is how many bytes loading it takes.
func (p *Prepared) Size() int64 { return p.entry.size() }

// Unchanged reports whether the files are still those whose seal was checked. It
// is asked after another process has loaded them, and before that process runs
// any of it.
func (p *Prepared) Unchanged() bool {
	for i, name := range []string{infoFile, moduleFile} {
		if !sameAs(p.entry.parts[i], filepath.Join(p.entry.dir, name)) {
			return false
		}
	}
	return p.entry.unchanged()
}

// Prepare compiles a module, or finds it in the cache, and checks that it can be
// linked. It loads nothing. A module that can't be run gives a *RefusedError.
func (e *Engine) Prepare(ctx context.Context, image []byte, opts Options) (*Prepared, error) {
	if opts.ImageID.IsZero() {
		opts.ImageID = joulebox.Sum(image)
	}
	key := moduleKey{e.entryKey(opts), opts.Metered}
	defer e.kept.alone(key)()
	found, err := e.disk.read(key.entry)
	for try := 0; errors.Is(err, errStale) && try < 3; try++ {
		if err := e.make(ctx, image, opts, key.entry); err != nil {
			return nil, err
		}
		found, err = e.disk.read(key.entry)
	}
	if errors.Is(err, errStale) {
		err = fmt.Errorf("wasm cache: %s is changed by others while in use: use another directory", e.disk.dir)
	}
	if err != nil {
		return nil, err
	}
	if _, err := e.link(found.info); err != nil {
		return nil, err
	}
	return &Prepared{found}, nil
}

// ErrGone says that a directory doesn't hold a whole module any more: the cache
// was tidied in between. Preparing it again helps.
var ErrGone = errors.New("wasm engine: the compiled module is gone")

// Loader loads what was handed over, in a process that has no cache and compiles
// nothing.
type Loader struct {
	hosts map[string]map[string]*HostFunc
}

// NewLoader makes a loader with all that guests may import.
func NewLoader(funcs []HostFunc) *Loader { return &Loader{hostTable(funcs)} }

// Load loads a module that whoever handed it over has checked. Close it when done.
func (l *Loader) Load(h Handed, metered bool) (*Module, error) {
	found, info, err := readParts(h.Dir)
	if err == nil && found.hasCode() != h.Code {
		err = errStale
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	found.info = &rewrite.Info{}
	if err := json.Unmarshal(info, found.info); err != nil {
		return nil, &InternalError{err}
	}
	e := &Engine{hosts: l.hosts, config: Config{Interpreter: !h.Code}}
	m, err := e.load(found, metered)
	if errors.Is(err, errStale) {
		err = ErrGone
	}
	return m, err
}
