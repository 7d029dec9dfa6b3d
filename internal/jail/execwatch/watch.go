package execwatch

// Watch is a tree that is being watched.
type Watch struct {
	mechanism Mechanism
	stop      func()
	done      chan struct{}
	err       error
}

// Mechanism is how.
func (w *Watch) Mechanism() Mechanism { return w.mechanism }

// Done is closed when nothing is watched any more: a traced tree has ended, or
// watching has failed. Then Err says why, and what is left of the tree must be
// ended; until it is closed, what fanotify was asked stays unanswered.
func (w *Watch) Done() <-chan struct{} { return w.done }

// Err is why watching ended; nil when the tree did or Close was called. It waits
// for Done.
func (w *Watch) Err() error {
	<-w.done
	return w.err
}

// Close ends watching. A traced tree ends with it. One that the kernel asks about
// must have ended before: what is left of it could run anything.
func (w *Watch) Close() error {
	w.stop()
	return w.Err()
}

// Offer is a mechanism, and why it isn't there for this user on this host.
type Offer struct {
	Mechanism Mechanism
	Missing   error
}
