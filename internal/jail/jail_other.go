//go:build !linux || !(amd64 || arm64)

package jail

import (
	"errors"
	"runtime"
)

var errSystem = errors.New("there is no jail for " + runtime.GOOS + "/" + runtime.GOARCH + "; run on Linux on amd64 or arm64")

// Survey says what can be established here.
func Survey() []Mechanism {
	return []Mechanism{{Name: "jail", Missing: errSystem, Needed: EveryProcess}}
}

// Enter can't be done here.
func Enter(Profile) ([]Mechanism, error) { return nil, Missing(Survey(), false) }

// CloseInherited does nothing where no process is jailed.
func CloseInherited(...int) {}
