// Package hostspawn starts this program once more, to become a host process
// (§2.1). It needs next to nothing, so that it can do so before the rest of the
// program has initialised itself: a command that runs one unit and ends waits for
// little else than its two processes to come up.
package hostspawn

// Name is the argv[0] by which a host process knows what it is. It isn't an
// argument, so no command line of a user can be taken for it.
const Name = "joulebox-host"

// Process is a host process that was just started. It is a plain pid, for the one
// who has to wait for it: nothing of package os is kept of it, which would start a
// process more to find out what the kernel can do.
type Process struct {
	Pid    int
	Socket int // the supervisor's end of the socket pair
	Report int // what a process that crashes has to say can be read from it
}
