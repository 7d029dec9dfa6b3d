//go:build amd64 || arm64

package cell

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func testNetwork(config []byte) ([]*os.File, error) {
	if string(config) == "fail" {
		return nil, errors.New("as told")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	_, err = w.Write(config)
	w.Close()
	return []*os.File{r}, err
}

// testExec takes away what is told: the right to make folders.
func testExec(config []byte) error {
	if string(config) == "fail" {
		return errors.New("as told")
	}
	unix.Umask(0o777)
	return nil
}
