//go:build amd64 || arm64

package cell

import "sync"

// ahead is the first process that was started before there was a cell to be.
var ahead struct {
	sync.Mutex
	uid, gid uint32
	coming   chan *first // gets one, or nil
}

// Ahead begins a cell for the host's view and a unit of these numbers, in the
// background, and returns at once. The next [Start] that can use it does. It is for
// who knows that a unit will come and has something else to do meanwhile; who
// calls it calls [EndAhead] too.
func Ahead(uid, gid uint32) {
	ahead.Lock()
	defer ahead.Unlock()
	if !hooked || ahead.coming != nil {
		return
	}
	coming := make(chan *first, 1)
	ahead.uid, ahead.gid, ahead.coming = uid, gid, coming
	go func() {
		f, err := newFirst(uid, gid, base{Host: true}, Limits{})
		if err != nil {
			f = nil // Start will find out and say it
		}
		coming <- f
	}()
}

// EndAhead ends what [Ahead] has begun and no cell has used.
func EndAhead() {
	if f := take(nil); f != nil {
		_ = f.end()
	}
}

// take takes what was begun, if a spec can use it; nil can use any.
func take(s *Spec) *first {
	ahead.Lock()
	coming := ahead.coming
	if coming == nil || s != nil && (s.UID != ahead.uid || s.GID != ahead.gid || s.Root.Dir != nil) {
		ahead.Unlock()
		return nil
	}
	ahead.coming = nil
	ahead.Unlock()
	return <-coming
}
