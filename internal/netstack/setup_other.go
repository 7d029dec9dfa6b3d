//go:build !linux

package netstack

import "os"

// Setup needs a kernel with network namespaces.
func Setup([]byte) ([]*os.File, error) { return nil, errOther }
