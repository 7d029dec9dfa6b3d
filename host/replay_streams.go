package host

import (
	"encoding/binary"
	"io"
	"strings"

	"github.com/joulebox/joulebox/journal"
)

// followed are a replayed unit's standard output and error, through whatever it
// does to their descriptors.
type followed struct {
	out, err sink
	open     map[uint64]*sink // by descriptor
}

// sink is one stream: its address, and where it goes.
type sink struct {
	hash digest
	w    io.Writer
}

func follow(stdout, stderr io.Writer) *followed {
	s := &followed{out: sink{w: stdout}, err: sink{w: stderr}}
	s.open = map[uint64]*sink{1: &s.out, 2: &s.err}
	return s
}

// mostGathered is what one write moves at the most.
const mostGathered = 1 << 20

// gather is what an fd_write to a stream is about to write. The answer may be
// written over it, so it comes first.
func (s *followed) gather(mem []byte, e *journal.Call) (all []byte) {
	if wasiName(e) != "fd_write" || e.Broke || e.Result != 0 || s.open[e.Args[0]] == nil {
		return nil
	}
	list, count := e.Args[1], e.Args[2]
	for ; count > 0 && list+8 <= uint64(len(mem)) && len(all) < mostGathered; list, count = list+8, count-1 {
		at, n := uint64(binary.LittleEndian.Uint32(mem[list:])), uint64(binary.LittleEndian.Uint32(mem[list+4:]))
		if at+n > uint64(len(mem)) {
			break
		}
		all = append(all, mem[at:][:min(n, uint64(mostGathered-len(all)))]...)
	}
	return all
}

// called takes note of what a call meant for the streams.
func (s *followed) called(mem []byte, e *journal.Call, output []byte) error {
	if e.Result != 0 {
		return nil
	}
	switch wasiName(e) {
	case "fd_write":
		if to := s.open[e.Args[0]]; to != nil && e.Args[3]+4 <= uint64(len(mem)) {
			n := min(uint64(binary.LittleEndian.Uint32(mem[e.Args[3]:])), uint64(len(output)))
			return to.write(output[:n])
		}
	case "fd_close":
		delete(s.open, e.Args[0])
	case "fd_renumber":
		from, to := e.Args[0], e.Args[1]
		if from == to {
			return nil
		}
		moved := s.open[from]
		delete(s.open, from)
		delete(s.open, to)
		if moved != nil {
			s.open[to] = moved
		}
	}
	return nil
}

func (s *sink) write(p []byte) error {
	s.hash.write(p)
	if s.w == nil {
		return nil
	}
	_, err := s.w.Write(p)
	return err
}

// wasiName is the function's name, if it is WASI's.
func wasiName(e *journal.Call) string {
	module, name, _ := strings.Cut(e.Name, ".")
	if !strings.HasPrefix(module, "wasi_") {
		return ""
	}
	return name
}
