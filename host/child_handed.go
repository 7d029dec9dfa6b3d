package host

import "context"

// handedOver is what a Broker has from a supervisor in another process: the
// directories, already open, and a way to ask for what lies outside.
type handedOver struct {
	storage handedStorage
	// egress asks the supervisor, which decides by the same grants, and dials.
	egress func(ctx context.Context, endpoint string, request, response []byte) (int, error)
}

// report is what a Broker in another process counted and saw, for the Broker that
// the supervisor has of the run.
type report struct {
	usage   Usage
	probing []string
	denials []Denial
}
