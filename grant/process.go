package grant

import (
	"fmt"

	"github.com/joulebox/joulebox"
)

// process is the compiled process grant.
type process struct {
	exec     bool
	programs []rule
	allow    map[joulebox.ID]string
	deny     map[joulebox.ID]string
	max      uint32
}

func newProcess(p Process) process {
	return process{
		exec:     p.Exec,
		programs: compileRules("process.programs", p.Programs),
		allow:    hashReasons("process.allow_hashes", p.AllowHashes),
		deny:     hashReasons("process.deny_hashes", p.DenyHashes),
		max:      p.MaxProcesses,
	}
}

func hashReasons(field string, list []joulebox.ID) map[joulebox.ID]string {
	m := make(map[joulebox.ID]string, len(list))
	for i, id := range list {
		m[id] = fmt.Sprintf("%s[%d] %v", field, i, id)
	}
	return m
}

// MayExec answers whether a program may be spawned (§5.5), by its absolute path
// and the content address of the executable's bytes. The denylist overrides
// everything; a hash allowlist is authoritative if there is one; else the name
// decides. A zero hash means that the content isn't known, which no grant with
// hash lists allows.
func (e *Enforcer) MayExec(program string, hash joulebox.ID) Decision {
	p := &e.process
	if !p.exec {
		return deny("process.exec: true", "process.exec is false")
	}
	if hash.IsZero() && len(p.allow)+len(p.deny) > 0 {
		return deny("", "the grant holds hashes, and the content of %q isn't known", program)
	}
	if reason, bad := p.deny[hash]; bad {
		return deny("", "%s refuses %q whatever its name", reason, program)
	}
	if len(p.allow) > 0 {
		if reason, ok := p.allow[hash]; ok {
			return allow(reason)
		}
		return deny(fmt.Sprintf("process.allow_hashes: %v", hash), "%v of %q is not on process.allow_hashes", hash, program)
	}
	return p.mayName(program)
}

func (p *process) mayName(program string) Decision {
	path, err := CanonicalPath(program)
	if err != nil {
		return deny("", "program: %v", err)
	}
	if reason, ok := firstMatch(p.programs, path); ok {
		return allow(reason)
	}
	return deny("process.programs: "+globFor(path), "no entry of process.programs covers %q", path)
}

// MaxProcesses bounds how many spawned processes there are at once (§5.5).
func (e *Enforcer) MaxProcesses() uint32 { return e.process.max }
