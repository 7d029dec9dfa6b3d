package rootfs

import "crypto/rand"

// randomName is one that nobody else has.
func randomName() string { return rand.Text() }
