package cli

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/host"
)

// terminal is this process's terminal while a unit has it: its keys go to the
// unit as they are, and it is as large for the unit as it is here.
type terminal struct {
	fd    int
	saved unix.Termios
	tty   *host.TTY
	sizes chan os.Signal
	done  chan struct{}
}

var errNoTerminal = errors.New("--tty: standard input is no terminal; leave it out for pipes and files")

// openTerminal takes the terminal over; close gives it back as it was.
func openTerminal(in *os.File) (*terminal, error) {
	t := &terminal{fd: int(in.Fd()), sizes: make(chan os.Signal, 1), done: make(chan struct{})}
	saved, err := unix.IoctlGetTermios(t.fd, unix.TCGETS)
	if err != nil {
		return nil, errNoTerminal
	}
	t.saved = *saved
	raw := t.saved
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	// Output is left to be processed here: our own lines end where they did.
	if err := unix.IoctlSetTermios(t.fd, unix.TCSETS, &raw); err != nil {
		return nil, err
	}
	t.tty = &host.TTY{Resized: make(chan host.Window, 1)}
	t.tty.Window = t.window()
	signal.Notify(t.sizes, syscall.SIGWINCH)
	go t.follow()
	return t, nil
}

func (t *terminal) window() (w host.Window) {
	if size, err := unix.IoctlGetWinsize(t.fd, unix.TIOCGWINSZ); err == nil {
		w = host.Window{Rows: size.Row, Columns: size.Col}
	}
	return w
}

func (t *terminal) follow() {
	for {
		select {
		case <-t.done:
			return
		case <-t.sizes:
			select {
			case t.tty.Resized <- t.window():
			case <-t.done:
				return
			}
		}
	}
}

func (t *terminal) close() {
	signal.Stop(t.sizes)
	close(t.done)
	_ = unix.IoctlSetTermios(t.fd, unix.TCSETS, &t.saved)
}
