package grant_test

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
)

func enforcer(t testing.TB, edit func(*grant.Set)) *grant.Enforcer {
	t.Helper()
	s := grant.Empty(budgets())
	edit(&s)
	e, err := grant.NewEnforcer(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// check compares a decision and wants a reason either way; a denial that some
// grant could turn names that grant.
func check(t *testing.T, query string, d grant.Decision, want bool, reason string) {
	t.Helper()
	if d.Allowed != want || !strings.Contains(d.Reason, reason) || d.Reason == "" {
		t.Errorf("%s: got %+v, want allowed %v with %q", query, d, want, reason)
	}
	if d.Allowed && d.Grant != "" {
		t.Errorf("%s: allowed, yet names the grant %q", query, d.Grant)
	}
}

// TestEmptyDeniesAll is deny by default (§1.2): every query but Cpu.
func TestEmptyDeniesAll(t *testing.T) {
	e := enforcer(t, func(*grant.Set) {})
	check(t, "Cpu", e.MayDispatch(joulebox.CPU), true, "compute.devices")
	for _, c := range joulebox.DeviceClasses()[1:] {
		check(t, c.String(), e.MayDispatch(c), false, "compute.devices")
	}
	check(t, "no class", e.MayDispatch(99), false, "no device class")
	for m := range grant.Mode(4) {
		for _, p := range []string{"/", "/a", "a", "", "/a/../b"} {
			check(t, p, e.MayPath(m, p), false, "")
		}
	}
	for s := range grant.Service(5) {
		check(t, s.String(), e.MayHost(s), false, "")
	}
	for d := range grant.Dir(3) {
		check(t, d.String(), e.MayKV(d, []byte("k")), false, "")
		check(t, d.String(), e.MayKV(d, nil), false, "")
	}
	check(t, "egress", e.MayEgress("example.com:443"), false, "network.outbound")
	check(t, "resolve", e.MayResolve("example.com"), false, "network.outbound")
	check(t, "reach", e.MayReach("example.com:443", netip.MustParseAddr("1.1.1.1")), false, "network.outbound")
	check(t, "listen", e.MayListen(), false, "network.inbound")
	check(t, "exec", e.MayExec("/bin/true", joulebox.ID{1}), false, "process.exec")
	check(t, "navigate", e.MayNavigate("https://example.com/"), false, "browser.enabled")
	check(t, "render", e.MayRender(), false, "browser.enabled")
	check(t, "display", e.MayDisplay(1, 1), false, "display.enabled")
	check(t, "vnc", e.MayVNC(), false, "display.enabled")
	check(t, "list", e.MayList("/"), false, "storage.read")
	check(t, "rename", e.MayRename("/a", "/b"), false, "storage.delete")
	check(t, "link", e.MayLink("/a", "/b"), false, "storage.write")
	check(t, "sustain", e.MaySustainIO(1<<62, 1<<62), true, "ceiling")
}

func TestMayDispatch(t *testing.T) {
	e := enforcer(t, func(s *grant.Set) { s.Compute.Devices = []joulebox.DeviceClass{joulebox.CPU, joulebox.GPU} })
	for _, c := range joulebox.DeviceClasses() {
		check(t, c.String(), e.MayDispatch(c), c == joulebox.CPU || c == joulebox.GPU, "compute.devices")
	}
}

// TestModesAreApart: no mode implies another.
func TestModesAreApart(t *testing.T) {
	e := enforcer(t, func(s *grant.Set) {
		s.Storage.Read, s.Storage.Write, s.Storage.Delete = []string{"/r"}, []string{"/w"}, []string{"/d"}
	})
	for m := range grant.Mode(3) {
		for i, p := range []string{"/r", "/w", "/d"} {
			check(t, m.String()+" "+p, e.MayPath(m, p), int(m) == i, "storage."+m.String())
		}
	}
}

func TestMayPathSpellings(t *testing.T) {
	e := enforcer(t, func(s *grant.Set) { s.Storage.Read = []string{"/data", "/data/**"} })
	for _, p := range []string{"/data", "/data/", "//data//x", "/data/./x", "/etc/../data/x", "/data/x/../y/"} {
		check(t, p, e.MayPath(grant.Read, p), true, "storage.read[")
	}
	for _, p := range []string{"/data/../etc", "/datax", "/Data/x", "/data/../../data/x", "data/x", "/data\x00/x", "/", "/data/.."} {
		check(t, p, e.MayPath(grant.Read, p), false, "")
	}
	if d := e.MayPath(grant.Read, "/etc//hosts"); d.Grant != "storage.read: /etc/hosts" {
		t.Errorf("got the grant %q", d.Grant)
	}
}

// TestRootIsNotDeleted even when everything is granted.
func TestRootIsNotDeleted(t *testing.T) {
	e := enforcer(t, func(s *grant.Set) { s.Storage.Delete, s.Storage.Read = []string{"**", "/"}, []string{"**"} })
	for _, p := range []string{"/", "//", "/.", "/a/..", ""} {
		check(t, p, e.MayPath(grant.Delete, p), false, "")
	}
	check(t, "/a", e.MayPath(grant.Delete, "/a"), true, `"**"`)
	check(t, "list /", e.MayList("/"), true, `"**"`)
}

func TestMayRename(t *testing.T) {
	e := enforcer(t, func(s *grant.Set) {
		s.Storage.Delete = []string{"/tmp/*", "/secret/*"}
		s.Storage.Write = []string{"/tmp/*", "/out/*", "/drop/*"}
		s.Storage.Read = []string{"/tmp/*", "/out/*"}
	})
	check(t, "move", e.MayRename("/tmp/a", "/out/a"), true, "storage.delete on the old name")
	check(t, "no delete on the old", e.MayRename("/out/a", "/tmp/a"), false, "storage.delete")
	check(t, "no write on the new", e.MayRename("/tmp/a", "/etc/a"), false, "storage.write")
	// Neither mode implies read: what can't be read can't be moved to be read.
	check(t, "launder", e.MayRename("/secret/key", "/out/key"), false, "storage.read")
	check(t, "unreadable stays so", e.MayRename("/secret/key", "/drop/key"), true, "storage.delete on the old name")
}

func TestMayLink(t *testing.T) {
	e := enforcer(t, func(s *grant.Set) {
		s.Storage.Read = []string{"/data/**", "/out/**", "/ro/**"}
		s.Storage.Write = []string{"/out/**", "/ro/links/*", "/wo/**"}
	})
	check(t, "within", e.MayLink("/out/l", "/out/f"), true, "its target granted")
	check(t, "no write on the link", e.MayLink("/data/l", "/out/f"), false, "storage.write")
	check(t, "target not granted", e.MayLink("/out/l", "/etc/passwd"), false, "storage.read")
	check(t, "to be written through", e.MayLink("/out/l", "/data/f"), false, "storage.write")
	check(t, "to be read through", e.MayLink("/out/l", "/wo/f"), false, "storage.read")
	check(t, "target by dots", e.MayLink("/out/l", "/out/../etc/passwd"), false, "storage.read")
}

func TestIOCeilings(t *testing.T) {
	iops, bps := uint64(100), uint64(0)
	e := enforcer(t, func(s *grant.Set) { s.Storage.MaxIOPS, s.Storage.MaxReadBPS = &iops, &bps })
	check(t, "at it", e.MaySustainIO(100, 0), true, "ceiling")
	check(t, "above", e.MaySustainIO(101, 0), false, "storage.max_iops")
	check(t, "none at all", e.MaySustainIO(0, 1), false, "storage.max_read_bps")
	one := enforcer(t, func(s *grant.Set) { s.Storage.MaxIOPS = &iops })
	check(t, "unset doesn't bound", one.MaySustainIO(100, 1<<62), true, "ceiling")
	// A caller can't change what is enforced.
	*e.IOCeilings().MaxIOPS = 1 << 40
	iops = 1 << 40
	check(t, "still above", e.MaySustainIO(101, 0), false, "storage.max_iops")
	if one.IOCeilings().MaxReadBPS != nil {
		t.Error("an unset ceiling came up")
	}
}

// TestSetCantMutateEnforcer: the grants are fixed before the run (§1.2).
func TestSetCantMutateEnforcer(t *testing.T) {
	s := grant.Empty(budgets())
	s.Storage.Read = []string{"/a"}
	s.KV = grant.KV{Read: true, Prefixes: []grant.Prefix{"a"}}
	s.Network.Outbound = []string{"a.example:1"}
	e, err := grant.NewEnforcer(s)
	if err != nil {
		t.Fatal(err)
	}
	s.Storage.Read[0], s.KV.Prefixes[0], s.Network.Outbound[0] = "**", "", "b.example:1"
	check(t, "path", e.MayPath(grant.Read, "/b"), false, "")
	check(t, "key", e.MayKV(grant.Get, []byte("b")), false, "")
	check(t, "egress", e.MayEgress("b.example:1"), false, "")
}

func TestMayHost(t *testing.T) {
	for i := range grant.Service(4) {
		e := enforcer(t, func(s *grant.Set) {
			*[]*bool{&s.Host.Logging, &s.Host.Clock, &s.Host.Random, &s.Host.Inference}[i] = true
		})
		for j := range grant.Service(4) {
			check(t, j.String(), e.MayHost(j), i == j, "host."+j.String())
		}
	}
}

func TestMayKV(t *testing.T) {
	e := enforcer(t, func(s *grant.Set) {
		s.KV = grant.KV{Read: true, Prefixes: []grant.Prefix{"user/", "\x00\xff"}}
	})
	for key, want := range map[string]bool{"user/": true, "user/1": true, "user": false, "User/1": false, "": false, "\x00\xff\x00": true, "\x00": false} {
		check(t, key, e.MayKV(grant.Get, []byte(key)), want, "kv.prefixes")
		check(t, key, e.MayKV(grant.Put, []byte(key)), false, "kv.write")
	}
	whole := enforcer(t, func(s *grant.Set) { s.KV.Write = true })
	check(t, "whole", whole.MayKV(grant.Put, nil), true, "whole keyspace")
	check(t, "whole", whole.MayKV(grant.Get, nil), false, "kv.read")
}

// TestMayExec is §5.5: the denylist overrides, an allowlist of hashes is
// authoritative, else names decide.
func TestMayExec(t *testing.T) {
	good, bad, other, none := joulebox.Sum([]byte("good")), joulebox.Sum([]byte("bad")), joulebox.Sum([]byte("other")), joulebox.ID{}
	names := []string{"/usr/bin/git", "/opt/**"}
	for _, c := range []struct {
		what    string
		process grant.Process
		program string
		hash    joulebox.ID
		want    bool
		reason  string
	}{
		{"exec false", grant.Process{Programs: names, AllowHashes: []joulebox.ID{good}}, "/usr/bin/git", good, false, "process.exec"},
		{"empty", grant.Process{Exec: true}, "/usr/bin/git", good, false, "process.programs"},
		{"by name", grant.Process{Exec: true, Programs: names}, "/usr/bin/git", none, true, "process.programs[0]"},
		{"by name with hash", grant.Process{Exec: true, Programs: names}, "/usr/bin/git", other, true, "process.programs[0]"},
		{"by glob", grant.Process{Exec: true, Programs: names}, "/opt/x/y", other, true, "process.programs[1]"},
		{"other name", grant.Process{Exec: true, Programs: names}, "/usr/bin/gitx", other, false, "process.programs"},
		{"dots", grant.Process{Exec: true, Programs: names}, "/usr/bin/../bin/git", other, true, "process.programs[0]"},
		{"relative", grant.Process{Exec: true, Programs: []string{"**"}}, "git", other, false, "relative"},
		{"denied content", grant.Process{Exec: true, Programs: names, DenyHashes: []joulebox.ID{bad}}, "/usr/bin/git", bad, false, "process.deny_hashes[0]"},
		{"other content", grant.Process{Exec: true, Programs: names, DenyHashes: []joulebox.ID{bad}}, "/usr/bin/git", other, true, "process.programs[0]"},
		{"unknown content", grant.Process{Exec: true, Programs: names, DenyHashes: []joulebox.ID{bad}}, "/usr/bin/git", none, false, "isn't known"},
		{"allowed content, any name", grant.Process{Exec: true, AllowHashes: []joulebox.ID{good}}, "whatever", good, true, "process.allow_hashes[0]"},
		{"authoritative", grant.Process{Exec: true, Programs: names, AllowHashes: []joulebox.ID{good}}, "/usr/bin/git", other, false, "process.allow_hashes"},
		{"deny over allow", grant.Process{Exec: true, Programs: names, AllowHashes: []joulebox.ID{bad}, DenyHashes: []joulebox.ID{bad}}, "/usr/bin/git", bad, false, "process.deny_hashes"},
	} {
		e := enforcer(t, func(s *grant.Set) { s.Process = c.process })
		check(t, c.what, e.MayExec(c.program, c.hash), c.want, c.reason)
	}
}

func TestMayDisplay(t *testing.T) {
	e := enforcer(t, func(s *grant.Set) { s.Display = grant.Display{Enabled: true, MaxWidth: 800, MaxHeight: 600} })
	check(t, "at it", e.MayDisplay(800, 600), true, "display.enabled")
	check(t, "wider", e.MayDisplay(801, 600), false, "801x600")
	check(t, "higher", e.MayDisplay(800, 601), false, "800x601")
	check(t, "turned", e.MayDisplay(600, 800), false, "600x800")
	check(t, "nothing", e.MayDisplay(0, 600), false, "0x600")
	check(t, "vnc", e.MayVNC(), false, "display.vnc")
	vnc := enforcer(t, func(s *grant.Set) { s.Display = grant.Display{Enabled: true, VNC: true} })
	check(t, "vnc", vnc.MayVNC(), true, "display.vnc")
	alone := enforcer(t, func(s *grant.Set) { s.Display = grant.Display{VNC: true, MaxWidth: 1, MaxHeight: 1} })
	check(t, "vnc alone", alone.MayVNC(), false, "display.enabled")
	check(t, "surface without enabled", alone.MayDisplay(1, 1), false, "display.enabled")
}

func TestMayRender(t *testing.T) {
	check(t, "on screen", enforcer(t, func(s *grant.Set) { s.Browser.Enabled = true }).MayRender(), true, "browser.enabled")
	check(t, "headless", enforcer(t, func(s *grant.Set) { s.Browser.Enabled, s.Browser.Headless = true, true }).MayRender(), false, "headless")
}

// TestDenialNamesWhatWouldAllow: adding the named glob turns the denial.
func TestDenialNamesWhatWouldAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := "/" + rapid.StringMatching(`[a-c./*?\[\\\n\x{202e}é]{0,12}`).Draw(t, "path")
		s := grant.Empty(budgets())
		e, err := grant.NewEnforcer(s)
		if err != nil {
			t.Fatal(err)
		}
		glob, ok := strings.CutPrefix(e.MayPath(grant.Read, path).Grant, "storage.read: ")
		if !ok {
			return // a path that no grant could name
		}
		s.Storage.Read = []string{glob}
		if e, err = grant.NewEnforcer(s); err != nil {
			t.Fatal(err)
		}
		if d := e.MayPath(grant.Read, path); !d.Allowed {
			t.Fatalf("%q: granted %q, still %+v", path, glob, d)
		}
	})
}

// TestAllowedPathAllocatesNothing: the query is asked on every host call.
func TestAllowedPathAllocatesNothing(t *testing.T) {
	e := pathEnforcer(t)
	for _, p := range []string{"/data/a/b/c.txt", "/etc/hosts", "/var/log/x/y/z.log", "/usr/lib/libc.so.6"} {
		if !e.MayPath(grant.Read, p).Allowed {
			t.Fatalf("%q is denied", p)
		}
		if n := testing.AllocsPerRun(100, func() { e.MayPath(grant.Read, p) }); n != 0 {
			t.Errorf("%q: %v allocations", p, n)
		}
	}
}

func pathEnforcer(t testing.TB) *grant.Enforcer {
	return enforcer(t, func(s *grant.Set) {
		s.Storage.Read = []string{"/etc/hosts", "/usr/lib/lib*.so.*", "/var/**/*.log", "/data/**", "/srv/*/public/**"}
	})
}

func BenchmarkMayPath(b *testing.B) {
	e := pathEnforcer(b)
	for name, p := range map[string]string{"literal": "/etc/hosts", "tree": "/data/a/b/c.txt", "star": "/usr/lib/libc.so.6", "log": "/var/log/x/y/z.log"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !e.MayPath(grant.Read, p).Allowed {
					b.Fatal("denied")
				}
			}
		})
	}
}

func BenchmarkMayEgress(b *testing.B) {
	e := enforcer(b, func(s *grant.Set) { s.Network.Outbound = []string{"example.com:443"} })
	b.ReportAllocs()
	for b.Loop() {
		if !e.MayEgress("example.com:443").Allowed {
			b.Fatal("denied")
		}
	}
}

func BenchmarkNewEnforcer(b *testing.B) {
	s := grant.Empty(budgets())
	s.Storage.Read = []string{"/etc/hosts", "/data/**"}
	s.Network.Outbound = []string{"example.com:443"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := grant.NewEnforcer(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkID(b *testing.B) {
	s := grant.Empty(budgets())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.ID(); err != nil {
			b.Fatal(err)
		}
	}
}
