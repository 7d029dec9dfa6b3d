package partition

import "sync"

// Unavailable says why no partition can be built on this host, if none can. What it
// finds holds for the life of the process.
func Unavailable() error { return unavailable() }

var unavailable = sync.OnceValue(func() error {
	_, err := ownGroups()
	return err
})
