package grant

import (
	"slices"

	"github.com/joulebox/joulebox"
)

// Exec grants spawning a program: an absolute path or a glob (§5.5).
func (b *Builder) Exec(program string) error {
	g, err := normalGlob(program)
	if err != nil {
		return flagError("--exec", err)
	}
	b.set.Process.Exec = true
	b.set.Process.Programs = append(b.set.Process.Programs, g)
	return nil
}

// ExecHash grants spawning by content; the list is authoritative (§5.5).
func (b *Builder) ExecHash(id string) error {
	v, err := joulebox.ParseID(id)
	if err != nil {
		return flagError("--exec-hash", err)
	}
	b.set.Process.Exec = true
	b.set.Process.AllowHashes = append(b.set.Process.AllowHashes, v)
	return nil
}

// DenyHash refuses an executable by content, over every allow rule (§5.5).
func (b *Builder) DenyHash(id string) error {
	v, err := joulebox.ParseID(id)
	if err != nil {
		return flagError("--deny-hash", err)
	}
	b.set.Process.DenyHashes = append(b.set.Process.DenyHashes, v)
	return nil
}

// MaxProcesses bounds how many spawned processes there are at once.
func (b *Builder) MaxProcesses(n uint32) { b.set.Process.MaxProcesses, b.maxSet = n, true }

// Browse grants navigation to an origin (§5.6).
func (b *Builder) Browse(origin string) error {
	o, err := normalOrigin(origin)
	if err != nil {
		return flagError("--browse", err)
	}
	b.set.Browser.Enabled = true
	b.set.Browser.Origins = append(b.set.Browser.Origins, o)
	return nil
}

// Headless forbids rendering on a screen.
func (b *Builder) Headless() { b.set.Browser.Headless = true }

// Display grants a framebuffer of at most that many pixels (§5.7).
func (b *Builder) Display(width, height uint32, vnc bool) {
	b.set.Display = Display{Enabled: true, VNC: vnc, MaxWidth: width, MaxHeight: height}
}

// clone shares nothing with s.
func (s Set) clone() Set {
	s.Compute.Devices = slices.Clone(s.Compute.Devices)
	s.Storage.Read = slices.Clone(s.Storage.Read)
	s.Storage.Write = slices.Clone(s.Storage.Write)
	s.Storage.Delete = slices.Clone(s.Storage.Delete)
	s.Storage.Ceilings = s.Storage.Ceilings.clone()
	s.Network.Outbound = slices.Clone(s.Network.Outbound)
	s.KV.Prefixes = slices.Clone(s.KV.Prefixes)
	s.Process.Programs = slices.Clone(s.Process.Programs)
	s.Process.AllowHashes = slices.Clone(s.Process.AllowHashes)
	s.Process.DenyHashes = slices.Clone(s.Process.DenyHashes)
	s.Browser.Origins = slices.Clone(s.Browser.Origins)
	return s
}
