//go:build !linux

package hostspawn

import "errors"

// Begin fails: there is no jail for a process here.
func Begin() func() (Process, error) {
	return func() (Process, error) { return Process{}, errors.New("host process: not on this system") }
}
