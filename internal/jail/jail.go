// Package jail is what a host process gives up before a unit runs in it (§2.1,
// §7.4). It keeps the descriptors that it was handed, what lies beneath the
// directories among them, its memory and its processor; it loses the rest of the
// machine for good. It goes in by one call, when it has all that it needs and
// before the first instruction of a unit.
package jail

import (
	"fmt"
	"strings"
)

// Access is what a process may do beneath a path, as the kernel enforces it. It
// is coarser than a grant, which the Broker enforces.
type Access uint8

// The accesses, to be or'ed.
const (
	Read   Access = 1 << iota // read files and list directories
	Write                     // change files, make files, directories and links, replace by rename
	Delete                    // remove files and directories
)

// Path is a handed file or directory.
type Path struct {
	FD     int
	Access Access
}

// Profile is what a process keeps.
type Profile struct {
	// Paths are what the unit may reach. With none of them, every system call that
	// takes a path goes.
	Paths []Path
	// Memory is how much address space may be taken beyond what there is on
	// entering, in bytes. Zero bounds nothing.
	Memory uint64
	// OpenFiles bounds the descriptors. Zero leaves the bound as it is.
	OpenFiles uint64
	// Parent is the process whose end ends this one.
	Parent int
}

// Mechanism is one thing that holds a process in.
type Mechanism struct {
	Name string
	// Missing says why it isn't there; nil when it is.
	Missing error
	// Needed says that no unit runs without it, or none with storage.
	Needed Need
	// Detail is for people: a version, a uid.
	Detail string
}

// Need is for which units a mechanism has to be there.
type Need int

// The needs.
const (
	Never        Need = iota // it is a second wall behind others
	WithStorage              // units that were handed directories
	EveryProcess             // all units
)

// MissingError says which mechanisms a process can't be jailed without.
type MissingError struct{ Mechanisms []Mechanism }

func (e *MissingError) Error() string {
	var parts []string
	for _, m := range e.Mechanisms {
		parts = append(parts, fmt.Sprintf("%s: %v", m.Name, m.Missing))
	}
	return "a process can't be jailed here: " + strings.Join(parts, "; ")
}

// Missing are the mechanisms of a list that are needed and not there. With
// storage says that directories are to be handed over.
func Missing(list []Mechanism, storage bool) error {
	least := EveryProcess
	if storage {
		least = WithStorage
	}
	e := &MissingError{}
	for _, m := range list {
		if m.Missing != nil && m.Needed >= least {
			e.Mechanisms = append(e.Mechanisms, m)
		}
	}
	if len(e.Mechanisms) == 0 {
		return nil
	}
	return e
}
