//go:build !linux

package cli

import (
	"errors"
	"os"

	"github.com/joulebox/joulebox/host"
)

// terminal isn't here: native units, which it is for, need Linux.
type terminal struct{ tty *host.TTY }

func openTerminal(*os.File) (*terminal, error) {
	return nil, errors.New("--tty: terminals are handed to native units, which need Linux")
}

func (*terminal) close() {}
