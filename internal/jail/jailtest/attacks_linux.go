//go:build amd64 || arm64

package jailtest

import "slices"

// Attacks are all of them.
func Attacks() []Attack {
	return slices.Concat(fileAttacks, storageAttacks, socketAttacks, processAttacks, kernelAttacks, privilegeAttacks)
}

// Outward are the attacks on files and sockets, which harm nothing but the scene
// when nobody stops them.
func Outward() []Attack { return slices.Concat(fileAttacks, storageAttacks, socketAttacks) }

// Find finds an attack by its name.
func Find(name string) (Attack, bool) {
	all := Attacks()
	if i := slices.IndexFunc(all, func(a Attack) bool { return a.Name == name }); i >= 0 {
		return all[i], true
	}
	return Attack{}, false
}
