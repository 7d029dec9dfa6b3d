package grant

import (
	"fmt"
	"slices"
	"strings"
)

func (x *Explanation) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(x.Notes, n) {
		x.Notes = append(x.Notes, n)
	}
}

// notes say where a grant is narrower, wider or weaker than it may look.
func (x *Explanation) notes(r Request) {
	s := r.Grants
	for _, list := range [][]string{s.Storage.Read, s.Storage.Write, s.Storage.Delete, s.Process.Programs} {
		for _, g := range list {
			x.globNotes(g, list)
		}
	}
	x.storageNotes(s.Storage, r.Limits)
	x.networkNotes(s.Network)
	x.kvNotes(s.KV)
	x.processNotes(s.Process, r.Artifact)
	if s.Browser.Enabled && len(s.Browser.Origins) == 0 {
		x.note("browser.enabled without origins: no page can be visited")
	}
	if d := s.Display; d.Enabled && (d.MaxWidth == 0 || d.MaxHeight == 0) {
		x.note("display.enabled with a surface of no pixels: nothing can be shown")
	}
}

func (x *Explanation) globNotes(g string, list []string) {
	dir, last := g[:strings.LastIndexByte(g, '/')+1], g[strings.LastIndexByte(g, '/')+1:]
	switch {
	case g == everything || g == "/**":
		x.note("%q is every path there is", g)
	case last == "*":
		x.note("%q is one level; write %s** for the tree", g, dir)
	case last == everything:
		base := strings.TrimSuffix(dir, "/")
		if !strings.Contains(base, "*") && !slices.Contains(list, base) {
			x.note("%q doesn't cover %s itself, so it can't be listed; add %s", g, base, base)
		}
	}
	for seg := range strings.SplitSeq(g, "/") {
		if seg != everything && strings.Contains(seg, "**") {
			x.note("%q: two stars within a segment are one star; they don't cross a slash", g)
		}
	}
}

func (x *Explanation) storageNotes(s Storage, limits Ceilings) {
	if len(s.Write) > 0 && len(s.Read) == 0 {
		x.note("storage.write doesn't imply read")
	}
	if (s.MaxIOPS != nil || s.MaxReadBPS != nil) && !s.counts(limits) {
		x.note("the I/O ceilings hold but don't lower the tier: both must be set, within what the host states (§2.4)")
	}
}

func (x *Explanation) networkNotes(n Network) {
	if len(n.Outbound) > 0 {
		x.note("a granted name reaches no loopback, private, link-local or metadata address unless that address is granted too")
	}
}

func (x *Explanation) kvNotes(kv KV) {
	switch {
	case (kv.Read || kv.Write) && len(kv.Prefixes) == 0:
		x.note("kv without prefixes is the whole keyspace")
	case !kv.Read && !kv.Write && len(kv.Prefixes) > 0:
		x.note("kv.prefixes without kv.read or kv.write grant nothing")
	}
}

func (x *Explanation) processNotes(p Process, a Artifact) {
	switch {
	case a == Native && !p.Exec:
		x.note("the unit's own entrypoint needs no exec grant; whatever it starts does, also a shell's children")
	case !p.Exec:
		return
	case len(p.AllowHashes) > 0:
		x.note("process.allow_hashes is authoritative: process.programs decides nothing")
	case len(p.Programs) == 0:
		x.note("process.exec without programs or hashes: nothing can be spawned")
	default:
		x.note("process.programs is advisory: a rename, a copy or a wrapper defeats names; hashes bind (§5.5)")
	}
	if p.Exec && p.MaxProcesses == 0 {
		x.note("process.max_processes is 0: nothing can be spawned")
	}
	if p.Exec && len(p.AllowHashes)+len(p.DenyHashes) > 0 {
		x.note("with hash lists, programs that make code while they run (JITs, build-then-run) fail, and an allowed interpreter can still act out a denied program")
	}
}
