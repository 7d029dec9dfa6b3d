//go:build !unix

package disk

import (
	"errors"
	"fmt"
	"runtime"
)

// OS refuses: owners, permissions and locks that keys need aren't to be had here.
var OS FS = noFS{}

var errNoFS = fmt.Errorf("disk: keys and records are kept on unix systems only, not on %s: %w", runtime.GOOS, errors.ErrUnsupported)

type noFS struct{}

func (noFS) Open(string, int) (File, error) { return nil, errNoFS }
func (noFS) Mkdir(string) error             { return errNoFS }
func (noFS) Rename(string, string) error    { return errNoFS }
func (noFS) Remove(string) error            { return errNoFS }
func (noFS) List(string) ([]string, error)  { return nil, errNoFS }
func (noFS) Stat(string) (Stat, error)      { return Stat{}, errNoFS }
func (noFS) SyncDir(string) error           { return errNoFS }
