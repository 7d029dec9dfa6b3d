//go:build !linux || !(amd64 || arm64)

package jailtest

// Attacks are none where there is no jail.
func Attacks() []Attack { return nil }

// Find finds none.
func Find(string) (Attack, bool) { return Attack{}, false }
