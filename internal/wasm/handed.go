package wasm

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

// Handed is a module that was compiled and not loaded: what one process hands to
// another to load it. Info and Module were read and checked by whoever hands them
// over; the machine code is what Dir holds.
type Handed struct {
	Info   []byte // rewrite.Info as JSON
	Module []byte // what wazero is given
	Dir    string // where wazero looks for the machine code
	Code   bool   // that there is machine code, and not only something to interpret
}

// Prepared is a Handed as the process has it that keeps the cache.
type Prepared struct {
	Handed
	entry *entry
}

// Info is what the scan found out about the module. It mustn't be changed.
func (p *Prepared) Info() *rewrite.Info { return p.entry.info }

// Size is how many bytes loading it takes.
func (p *Prepared) Size() int64 { return p.entry.size() }

// Unchanged reports whether the machine code is still the file whose seal was
// checked. It is asked after another process has loaded it, and before that
// process runs any of it.
func (p *Prepared) Unchanged() bool { return p.entry.unchanged() }

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
	h := Handed{Info: found.encoded, Module: found.module, Dir: found.dir, Code: found.hasCode()}
	return &Prepared{h, found}, nil
}

// ErrGone says that the machine code of a Handed isn't there any more: the cache
// was tidied in between. Preparing it again helps.
var ErrGone = errors.New("wasm engine: the machine code is gone")

// Loader loads what was handed over, in a process that has no cache and compiles
// nothing.
type Loader struct{ engine *Engine }

// NewLoader makes a loader with all that guests may import.
func NewLoader(funcs []HostFunc) *Loader {
	return &Loader{&Engine{hosts: hostTable(funcs)}}
}

// Load loads a module. Close it when done.
func (l *Loader) Load(h Handed, metered bool) (*Module, error) {
	found := &entry{dir: h.Dir, module: h.Module, info: &rewrite.Info{}}
	if err := json.Unmarshal(h.Info, found.info); err != nil {
		return nil, &InternalError{err}
	}
	loader := &Engine{hosts: l.engine.hosts, config: Config{Interpreter: !h.Code}}
	if h.Code {
		var err error
		if found.code, err = findCode(h.Dir); err != nil || !found.hasCode() {
			return nil, ErrGone
		}
		if found.file, err = os.Stat(found.code); err != nil {
			return nil, ErrGone
		}
	}
	m, err := loader.load(found, metered)
	if errors.Is(err, errStale) {
		err = ErrGone
	}
	return m, err
}
