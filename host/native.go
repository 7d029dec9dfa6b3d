package host

import (
	"context"
	"fmt"
	"os"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jail/cell"
	"github.com/joulebox/joulebox/unit"
)

// Native is what a native unit is executed from: the host's own filesystem, of
// which one program is pinned, or an unpacked tree, which is pinned whole (§3).
type Native struct {
	Image unit.Image
	ID    joulebox.ID // of Image
	// Program is a host image's program: what was hashed is what is executed.
	Program *os.File
	// Root is the unpacked directory of a tree.
	Root *os.File
	// Again addresses anew what Program or Root hold (§7.5).
	Again func(context.Context) (joulebox.ID, error)
	// Env are the variables that the image itself declares.
	Env []string
	// UID and GID are who the program is, within.
	UID, GID uint32
	// WorkDir is where the image's programs begin. Empty is anywhere.
	WorkDir string
}

// Intact reports a difference between what was run and what the image id says,
// which is tampering.
func (n *Native) Intact() error {
	id, err := n.Again(context.Background())
	if err == nil && id != n.ID {
		err = fmt.Errorf("image: got %s after the run, want %s", id, n.ID)
	}
	return err
}

// TTY is the terminal that a native unit gets.
type TTY struct {
	Window  Window      // when it begins
	Resized chan Window // later; closed or not
}

// Window is the size of a terminal in characters.
type Window struct{ Rows, Columns uint16 }

// Shown reports whether a native unit sees a path of the host without a grant.
func Shown(path string) bool { return cell.HostShows(path) }
