package cell

import "golang.org/x/sys/unix"

// archObserved is this processor's name for a call.
var archObserved = map[int][]named{unix.SYS_FSTATAT: {{dir: 0, path: 1, look: true, flags: 3}}}

// archMode: all calls that make files are everybody's.
func archMode(notice) (mode int, makes bool) { return -1, false }
