//go:build !linux

package host

import (
	"errors"

	"github.com/joulebox/joulebox/internal/wasi"
)

// storage has no mechanism here: resolving a path beneath a root and deciding on
// the file that was found needs openat2, which is Linux's. A unit that is granted
// storage is declined; one that isn't runs.
type storage struct{}

func newStorage(b *Broker) (*storage, error) {
	if len(b.config.Grants.Bases()) == 0 {
		return &storage{}, nil
	}
	return nil, errors.New("storage grants: this system has no mechanism for them (openat2 of Linux); leave them out, or run on Linux")
}

func (*storage) close() error { return nil }

func (*storage) preopens() ([]wasi.Preopen, error) { return nil, nil }

func (*storage) visible(string) bool { return false }

func (*storage) find(string, wasi.OpenHow) (wasi.Dir, string, error) {
	return nil, "", errDenied
}
