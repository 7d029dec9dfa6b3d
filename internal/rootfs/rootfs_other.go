//go:build !linux

package rootfs

import (
	"context"
	"errors"
)

var errNoTree = errors.New("root filesystems of native units need Linux")

// Open is for Linux.
func Open(context.Context, string, Options) (*Root, error) { return nil, errNoTree }

// Dir is for Linux.
func Dir(context.Context, string, Options) (*Root, error) { return nil, errNoTree }

// LookPath is for Linux.
func LookPath(string, string) (string, error) { return "", errNoTree }
