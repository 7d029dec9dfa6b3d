package execwatch

import (
	"errors"
	"os"
	"slices"
)

// deepest is how many scripts may run each other: the kernel ends with ELOOP
// before.
const deepest = 6

// stopped decides a process that stands in execve, before its first instruction:
//
//  1. the file that runs, which the kernel keeps from being written to
//  2. the script that it runs for, if it is an interpreter, and those between
//  3. the loader that it asks for
func (j *judge) stopped(p process, entry bool) bool {
	e := Exec{PID: int(p), Entry: entry}
	exe, err := os.Open(p.proc("exe"))
	if err != nil {
		e.Path, _ = os.Readlink(p.proc("exe"))
		return j.unreadable(e, err)
	}
	defer exe.Close()
	chain, err := p.chain(exe)
	defer closeAll(chain)
	if err != nil && j.Sealed {
		e.Path = pathOf(exe)
		return j.refuse(e, "what was called can't be told: %v", err)
	}
	for i, script := range chain {
		e.Role = Interpreter
		if i == 0 {
			e.Role = Program // examine sees that it is a script
		}
		if _, ok := j.examine(script, e, false); !ok {
			return false
		}
	}
	e.Role = Program
	if len(chain) > 0 {
		e.Role = Interpreter
	}
	c, ok := j.examine(exe, e, true)
	return ok && (c.loader == "" || j.loader(p, c.loader, e))
}

// unreadable is a program that may be run and not read, or that is gone.
func (j *judge) unreadable(e Exec, err error) bool {
	if errors.Is(err, os.ErrNotExist) {
		return false // killed meanwhile: there is nothing to decide
	}
	return j.judge(e, false)
}

func (j *judge) loader(p process, name string, e Exec) bool {
	e.Role = Loader
	f, err := p.open(name)
	if err != nil {
		e.Path = name
		return j.refuse(e, "%v", err)
	}
	defer f.Close()
	_, ok := j.examine(f, e, false)
	return ok
}

var errMoved = errors.New("the path leads elsewhere by now")

// chain opens the scripts that lead from the path that was called to what runs;
// none if it was called itself. Paths may have been changed meanwhile: then there
// is no telling.
func (p process) chain(exe *os.File) (scripts []*os.File, err error) {
	name, err := p.called()
	if err != nil {
		return nil, err
	}
	for range deepest {
		f, err := p.open(name)
		if err != nil {
			if _, byFD := descriptorPath(name); byFD && len(scripts) == 0 {
				return nil, nil // closed on exec, which no script survives
			}
			return scripts, err
		}
		if sameFile(f, exe) {
			f.Close()
			return scripts, nil
		}
		scripts = append(scripts, f)
		h := parseHeader(f)
		if !h.script() {
			return scripts[:len(scripts)-1], errors.Join(errMoved, f.Close())
		}
		name = h.interpreter
	}
	return scripts, errMoved
}

func sameFile(a, b *os.File) bool {
	x, err1 := a.Stat()
	y, err2 := b.Stat()
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

func closeAll(files []*os.File) {
	for _, f := range slices.Backward(files) {
		f.Close()
	}
}
