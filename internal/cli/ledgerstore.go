package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/custody"
	"github.com/joulebox/joulebox/internal/disk"
	"github.com/joulebox/joulebox/ledger"
	"github.com/joulebox/joulebox/store"
)

// hostLedger is this host's ledger on disk: an append-only log of sealed receipts,
// and the head that was signed last.
type hostLedger struct {
	dir  string
	log  *store.DirLog
	lock disk.File
}

var errNoLedger = errors.New("there are no builds yet")

// openLedger opens the ledger; reading makes none.
func openLedger(create bool) (*hostLedger, error) {
	state, err := custody.StateDir()
	if err != nil {
		return nil, err
	}
	l := &hostLedger{dir: filepath.Join(state, "ledger")}
	if !create && !exists(l.dir) {
		return nil, errNoLedger
	}
	if err := disk.MakeDirs(disk.OS, l.dir); err != nil {
		return nil, err
	}
	if l.lock, err = disk.OS.Open(filepath.Join(l.dir, "lock"), os.O_RDWR|os.O_CREATE); err != nil {
		return nil, err
	}
	if l.log, err = store.OpenLog(filepath.Join(l.dir, "log")); err != nil {
		l.lock.Close()
		return nil, err
	}
	return l, nil
}

func (l *hostLedger) close() {
	_ = l.log.Close()
	_ = l.lock.Close()
}

// each goes through the receipts and the chain that they make. A receipt that
// doesn't fit where it stands is an error.
func (l *hostLedger) each(ctx context.Context, take func(ledger.Signed) error) (c ledger.Chain, err error) {
	for record, err := range l.log.Records(ctx, 0) {
		if err != nil {
			return c, err
		}
		s, err := ledger.ParseSigned(record.Data)
		if err == nil {
			err = c.Append(s)
		}
		if err == nil {
			err = take(s)
		}
		if err != nil {
			return c, fmt.Errorf("receipt %d: %w", c.Len(), err)
		}
	}
	return c, nil
}

// append chains, signs and keeps a build: one lock from reading the head to
// appending, so that two builds never follow the same one. The head is signed
// afterwards; a crash between leaves a receipt that the last signed head doesn't
// cover, and the next build's does.
func (l *hostLedger) append(ctx context.Context, key *custody.Key, b ledger.Build) (*ledger.Signed, error) {
	if err := l.lock.Lock(ctx, disk.Exclusive); err != nil {
		return nil, err
	}
	defer l.lock.Unlock()
	chain, err := l.each(ctx, func(ledger.Signed) error { return nil })
	if err != nil {
		return nil, err
	}
	b.Prev = chain.Prev()
	signed, err := ledger.Sign(key, b)
	if err != nil {
		return nil, err
	}
	text, err := signed.Canonical()
	if err != nil {
		return nil, err
	}
	if _, err := l.log.Append(ctx, text, receiptKeys(b, text)...); err != nil {
		return nil, err
	}
	if err := chain.Append(signed); err != nil {
		return nil, err
	}
	return &signed, l.writeHead(key, chain)
}

// receiptKeys are what a receipt is found by: the build, itself, and as many of its
// runs as a record may have keys.
func receiptKeys(b ledger.Build, text []byte) []joulebox.ID {
	keys := []joulebox.ID{b.ID(), joulebox.Sum(text)}
	for _, s := range b.Steps[:min(len(b.Steps), store.MaxKeys-len(keys))] {
		keys = append(keys, s.AttestationID)
	}
	return keys
}

func (l *hostLedger) headPath() string { return filepath.Join(l.dir, "head.json") }

func (l *hostLedger) writeHead(key *custody.Key, c ledger.Chain) error {
	head, err := c.SignHead(key)
	if err != nil {
		return err
	}
	return writeFile(l.headPath(), func(f *os.File) error {
		if _, err := f.Write(append(head, '\n')); err != nil {
			return err
		}
		return f.Sync()
	})
}

// head is the head that was signed last; false without one.
func (l *hostLedger) head() (ledger.SignedHead, bool, error) {
	src, err := os.ReadFile(l.headPath())
	if errors.Is(err, fs.ErrNotExist) {
		return ledger.SignedHead{}, false, nil
	}
	if err != nil {
		return ledger.SignedHead{}, false, err
	}
	h, err := ledger.ParseHead(src)
	return h, err == nil, err
}

// find is the newest receipt that has an id beginning so: the build's, the
// receipt's, or that of one of its runs.
func (l *hostLedger) find(ctx context.Context, prefix string) (found ledger.Signed, err error) {
	id, err := l.log.Resolve(ctx, "b3:"+strings.TrimPrefix(prefix, "b3:"))
	if err != nil {
		return found, err
	}
	for record, err := range l.log.Find(ctx, id) {
		if err != nil {
			return found, err
		}
		if found, err = ledger.ParseSigned(record.Data); err != nil {
			return found, err
		}
	}
	return found, nil
}
