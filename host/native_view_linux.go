package host

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/jail/cell"
)

// The share that a native unit has of disks, where its grant says nothing, and of
// processors, and how many threads and files it may have. At S3 both are always
// shared out (§2.4).
const (
	shareIOPS     = 20_000
	shareBPS      = 1 << 30
	nativeTasks   = 1024
	nativeHandles = 16384
	shareCPU      = 100 // of a processor that others want too: as much as each of them
)

// nativeHome is a program's own folder, in memory: the one that its /etc/passwd
// names.
func nativeHome(uid uint32) string {
	if uid == 0 {
		return "/root"
	}
	return "/home/unit"
}

// nativeEnv is what every native unit finds, the same on every host (§7.5); what
// the image and the caller name comes over it.
var nativeEnv = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "USER=unit"}, cell.Env...)

// cellSpec is what the unit's cell is made of, but for its streams. What it opened
// is closed by release.
func (j Job) cellSpec() (spec cell.Spec, release func(), err error) {
	b, n := j.Broker, j.Native
	release = func() {
		for _, m := range spec.Mounts {
			m.File.Close()
		}
	}
	spec = cell.Spec{
		Argv: b.config.Args, Env: mergeEnv(nativeEnv, []string{"HOME=" + nativeHome(n.UID)}, n.Env, b.config.Env), Path: j.Unit.Entrypoint[0], Program: n.Program,
		UID: n.UID, GID: n.GID, Root: cell.Root{Dir: n.Root, Writable: n.Root != nil && !hashesBind(b.config.Grants)},
		Limits: cell.Limits{Memory: j.Limits.Memory, CPUWeight: shareCPU, Processes: nativeTasks, OpenFiles: nativeHandles,
			ReadIOPS: shareIOPS, WriteIOPS: shareIOPS, ReadBPS: shareBPS, WriteBPS: shareBPS},
	}
	if p := b.config.Grants.Process; p.Exec {
		most := p.MaxProcesses
		spec.Limits.Programs, spec.Crowded = &most, b.crowded
	}
	if c := b.config.Grants.Storage.Ceilings; c.MaxIOPS != nil {
		spec.Limits.ReadIOPS, spec.Limits.WriteIOPS = min(*c.MaxIOPS, shareIOPS), min(*c.MaxIOPS, shareIOPS)
	}
	if c := b.config.Grants.Storage.Ceilings; c.MaxReadBPS != nil {
		spec.Limits.ReadBPS = min(*c.MaxReadBPS, shareBPS)
	}
	views, err := b.config.Grants.Views()
	if err != nil {
		return spec, release, &RefusedError{Reason: "the storage grants", Hint: "grant whole folders with --read, --write and --delete", Err: err}
	}
	if spec.Mounts, spec.Hidden, err = b.storage.show(views); err != nil {
		release()
		return spec, release, err
	}
	spec.Dir = b.config.nativeDir(n, views)
	// A granted path in /tmp takes the private one's place.
	if slices.ContainsFunc(views, func(v grant.View) bool { return holds("/tmp", v.Path) }) {
		spec.Env = mergeEnv([]string{"TMPDIR=/var/tmp"}, spec.Env)
	}
	return spec, release, nil
}

// crowded counts a process that wasn't made.
func (b *Broker) crowded() {
	b.deny(tooMany)
	b.counts.execsDenied.Add(1)
}

// nativeDir is where the program begins: where the caller is, if it is shown there,
// else where the image says.
func (c BrokerConfig) nativeDir(n *Native, views []grant.View) string {
	if c.Start != "" {
		return c.Start
	}
	if c.WorkDir != "" && slices.ContainsFunc(views, func(v grant.View) bool { return v.Whole(grant.Read) && holds(v.Path, c.WorkDir) }) {
		return c.WorkDir
	}
	switch {
	case n.WorkDir != "":
		return n.WorkDir
	case n.Root != nil:
		return "/"
	}
	return nativeHome(n.UID)
}

// mergeEnv takes the last value of each variable, in the order of their first.
func mergeEnv(lists ...[]string) (env []string) {
	at := map[string]int{}
	for _, v := range slices.Concat(lists...) {
		name, _, _ := strings.Cut(v, "=")
		if i, ok := at[name]; ok {
			env[i] = v
			continue
		}
		at[name] = len(env)
		env = append(env, v)
	}
	return env
}

// show makes the mounts of the views, and lists what lies beneath them and is shown
// to no one.
func (s *storage) show(views []grant.View) (mounts []cell.Mount, covered []string, err error) {
	for _, v := range views {
		if v.Path == "/" {
			return mounts, nil, &RefusedError{Reason: "storage grant for \"/\"", Hint: "grant folders; the system's own are there without a grant", Err: ErrDenied}
		}
		m, source, err := s.mountOf(v)
		if err != nil {
			return mounts, nil, &RefusedError{Reason: fmt.Sprintf("storage grant for %q", v.Path), Err: err}
		}
		mounts = append(mounts, m)
		for _, h := range s.hidden {
			if holds(source, h) {
				covered = append(covered, path.Join(m.Target, strings.TrimPrefix(h, source)))
			}
		}
	}
	return mounts, covered, nil
}

// mountOf finds what a view shows, and where that is on this host.
func (s *storage) mountOf(v grant.View) (m cell.Mount, source string, err error) {
	r := s.rootOf(v.Path)
	if r == nil {
		return m, "", unix.ENOENT
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(v.Path, r.guest), "/")
	if rest == "" {
		rest = "."
	}
	n, err := s.pin(r, r.fd, rest, 0)
	if errors.Is(err, unix.ENOENT) {
		return m, "", fmt.Errorf("it isn't there, and a native unit's view is made before it runs: %w", err)
	}
	if err != nil {
		return m, "", err
	}
	if err := mountable(v, n); err != nil {
		return m, "", errors.Join(err, n.close())
	}
	if source, err = nameOf(n.fd); err != nil {
		return m, "", errors.Join(err, n.close())
	}
	return cell.Mount{
		File: os.NewFile(uintptr(n.fd), source), Target: v.Path,
		Read: v.Exact[grant.Read], Write: v.Exact[grant.Write], Delete: v.Exact[grant.Delete], Exec: v.Exact[grant.Read],
	}, source, nil
}

// mountable says why what was found can't be shown as the view has it.
func mountable(v grant.View, n *node) error {
	if n.path != v.Path {
		return fmt.Errorf("it is a link to %q; grant that", n.path)
	}
	switch n.kind() {
	case unix.S_IFREG:
		return nil
	case unix.S_IFDIR:
		for mode := grant.Read; mode <= grant.Delete; mode++ {
			if v.Exact[mode] && !v.Below[mode] {
				return fmt.Errorf("storage.%s grants the folder without what is in it, and a native unit's view is made of whole folders; grant %s/** too", mode, v.Path)
			}
		}
		return nil
	}
	return errors.New("it is neither a file nor a folder")
}

// hashesBind reports whether a grant decides about programs by their content: then
// nothing that can be written to is run from.
func hashesBind(g grant.Set) bool { return len(g.Process.AllowHashes)+len(g.Process.DenyHashes) > 0 }
