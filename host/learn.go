package host

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/joulebox/joulebox"
)

// Learner watches what a trusted native unit needs while nearly everything is there
// for it: its paths, connections, programs and processes. What it has seen grants
// nothing.
type Learner struct {
	mu        sync.Mutex
	files     map[string]*NeededFile
	made      map[string]bool // by the unit: what lies beneath hasn't been there before
	endpoints map[string]bool
	names     map[string]bool
	loopback  map[string]bool
	programs  map[NeededProgram]bool
	processes int
}

// NeededFile is a path that a unit named, and what it takes.
type NeededFile struct {
	Path                string
	Read, Write, Delete bool
	Folder              bool
}

// NeededProgram is a file that ran, or was read to run another.
type NeededProgram struct {
	Path string
	ID   joulebox.ID
	// Role is "program", "script", "interpreter" or "loader".
	Role string
}

// Needs is what was seen.
type Needs struct {
	Files []NeededFile // by path; what the unit made itself is the folder that it made it in
	// Endpoints are what it connected to, and Names what it only looked up.
	Endpoints, Names []string
	// Loopback are ports of the loopback that it tried. Somebody of the unit's own may
	// have listened, or a server of the host be meant, which it didn't reach.
	Loopback []string
	Programs []NeededProgram
	// Processes is the most that there were beside its first one.
	Processes int
}

// newLearner has seen nothing.
func newLearner() *Learner {
	return &Learner{files: map[string]*NeededFile{}, made: map[string]bool{}, endpoints: map[string]bool{}, names: map[string]bool{},
		loopback: map[string]bool{}, programs: map[NeededProgram]bool{}}
}

// needs is what was seen until now.
func (l *Learner) needs() Needs {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := Needs{Endpoints: sorted(l.endpoints), Loopback: sorted(l.loopback), Processes: l.processes}
	reached := map[string]bool{}
	for e := range l.endpoints {
		name, _ := cutPort(e)
		reached[name] = true
	}
	for _, name := range sorted(l.names) {
		if !reached[name] {
			n.Names = append(n.Names, name)
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(l.files), strings.Compare) {
		n.Files = append(n.Files, *l.files[p])
	}
	byPath := func(a, b NeededProgram) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.ID.String(), b.ID.String()), cmp.Compare(a.Role, b.Role))
	}
	n.Programs = slices.SortedFunc(maps.Keys(l.programs), byPath)
	return n
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

func cutPort(endpoint string) (host, port string) {
	i := strings.LastIndexByte(endpoint, ':')
	return endpoint[:max(i, 0)], endpoint[i+1:]
}

// mostSeen bounds what is kept of a unit that names paths without end.
const mostSeen = 1 << 18

// file notes a path. A unit can't be granted what isn't there when it begins, so what
// it made stands for the folder that it made it in.
func (l *Learner) file(f NeededFile, isNew bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if isNew {
		l.made[f.Path] = true
	}
	for at := f.Path; at != "/" && at != "."; at = path.Dir(at) {
		if l.made[at] {
			f.Path, f.Folder = path.Dir(at), true
		}
	}
	if f.Delete && !f.Folder { // a folder's entry is removed from it
		f.Path, f.Folder = path.Dir(f.Path), true
	}
	have := l.files[f.Path]
	if have == nil {
		if len(l.files) >= mostSeen {
			return
		}
		have = &NeededFile{Path: f.Path}
		l.files[f.Path] = have
	}
	have.Read, have.Write, have.Delete = have.Read || f.Read, have.Write || f.Write, have.Delete || f.Delete
	have.Folder = have.Folder || f.Folder
}

// dial notes an attempt to connect to the loopback; all else comes by the network.
func (l *Learner) dial(to netip.AddrPort) {
	if !to.Addr().Unmap().IsLoopback() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.loopback) < mostSeen {
		l.loopback[netip.AddrPortFrom(to.Addr().Unmap(), to.Port()).String()] = true
	}
}

func (l *Learner) program(p NeededProgram) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.programs) < mostSeen {
		l.programs[p] = true
	}
}

// Learn runs a trusted unit at S1 and watches what it needs. What its Broker's grants
// show of files is there for it, and everything else: nothing of such a run is held
// to a grant, so nothing of it is recorded.
func Learn(ctx context.Context, job Job) (Needs, Exit, error) {
	x := NativeS1()
	if u, ok := x.(Unavailable); ok {
		if err := u.Unavailable(); err != nil {
			return Needs{}, Exit{}, err
		}
	}
	job.Learner = newLearner()
	run, err := x.Start(ctx, job)
	if err != nil {
		return Needs{}, Exit{}, err
	}
	exit, err := run.Wait()
	return job.Learner.needs(), exit, err
}
