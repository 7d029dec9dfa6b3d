//go:build !linux

package netstack

// Setup needs a kernel with network namespaces.
func Setup() (int, error) {
	return -1, errOther
}
