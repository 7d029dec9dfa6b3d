//go:build !linux

package host

// handedStorage is none: no process is handed directories here.
type handedStorage struct{}

func (handedStorage) open(*Broker) *storage { return &storage{} }
