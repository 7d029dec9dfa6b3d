package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/host"
)

func TestCollapse(t *testing.T) {
	wide := tooWide("/home/a/project", "/home/a")
	for _, c := range []struct {
		name  string
		files []string // a folder ends in a slash
		want  []string
	}{
		{"single files stay", []string{"/srv/x/a", "/srv/y/b"}, []string{"/srv/x/a", "/srv/y/b"}},
		{"a listed folder is whole", []string{"/srv/x/", "/srv/x/a", "/srv/x/y/z"}, []string{"/srv/x", "/srv/x/**"}},
		{"several files are their folder", []string{"/srv/x/a", "/srv/x/b", "/srv/x/c", "/srv/x/d"}, []string{"/srv/x", "/srv/x/**"}},
		{"from below", []string{"/srv/x/a/1/", "/srv/x/b/", "/srv/x/c", "/srv/x/d"}, []string{"/srv/x/a/1", "/srv/x/a/1/**", "/srv/x/b", "/srv/x/b/**", "/srv/x/c", "/srv/x/d"}},
		{"the project is a folder", []string{"/home/a/project/1", "/home/a/project/2", "/home/a/project/3/", "/home/a/project/4"}, []string{"/home/a/project", "/home/a/project/**"}},
		{"what is above isn't", []string{"/home/a/1", "/home/a/2", "/home/a/3", "/home/a/4", "/home/a/", "/home/", "/"}, []string{"/home/a/1", "/home/a/2", "/home/a/3", "/home/a/4"}},
		{"nor what lies at the top", []string{"/data/1", "/data/2", "/data/3", "/data/4/", "/data/"}, []string{"/data/1", "/data/2", "/data/3", "/data/4", "/data/4/**"}},
	} {
		got := newCollapsed(wide)
		for _, f := range c.files {
			at, folder := strings.CutSuffix(f, "/")
			if at == "" {
				at = "/"
			}
			got.add(at, folder)
		}
		if got.collapse(); !slices.Equal(got.globs(), c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got.globs(), c.want)
		}
	}
}

// TestProposal: whatever names a program uses, the profile reads back as what is
// proposed, or isn't shown.
func TestProposal(t *testing.T) {
	needs := host.Needs{
		Files: []host.NeededFile{
			{Path: "/srv/x/a\"b # c", Read: true}, {Path: "/srv/x/it's", Write: true}, {Path: "/srv/y", Read: true, Write: true, Delete: true, Folder: true},
			{Path: "/srv/*", Read: true},
		},
		Endpoints: []string{"api.example:443", "[2001:db8::1]:80", "no endpoint"},
		Names:     []string{"other.example"},
		Loopback:  []string{"127.0.0.1:5432"},
		Programs:  []host.NeededProgram{{Path: "/tmp/go-build1/x", Role: "program"}, {Path: "/usr/bin/cc", Role: "program"}, {Path: "/usr/lib/ld.so", Role: "loader"}},
		Processes: 7,
	}
	code := uint32(0)
	f := &learnFlags{runFlags: runFlags{env: []string{"SECRET=value", "NAME"}}}
	p := f.proposal(&program{path: "/usr/bin/it"}, host.BrokerConfig{WorkDir: "/srv/y"}, needs,
		host.Exit{Code: &code, Counts: host.Counts{Wall: 30 * time.Second, CPUTime: time.Minute, PeakMemory: 100 << 20}})
	text, err := p.profile()
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseProfile([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	g := got.grants
	if want := []string{"/srv/x/a\"b # c", "/srv/y", "/srv/y/**"}; !slices.Equal(g.Storage.Read, want) {
		t.Errorf("read: got %q, want %q", g.Storage.Read, want)
	}
	if want := []string{"/srv/y", "/srv/y/**"}; !slices.Equal(g.Storage.Delete, want) {
		t.Errorf("delete: got %q, want %q", g.Storage.Delete, want)
	}
	if want := []string{"[2001:db8::1]:80", "api.example:443"}; !slices.Equal(g.Network.Outbound, want) {
		t.Errorf("outbound: got %q, want %q", g.Network.Outbound, want)
	}
	if want := []string{"/tmp/**", "/usr/bin/cc"}; !slices.Equal(g.Process.Programs, want) || g.Process.MaxProcesses != 11 {
		t.Errorf("process: got %+v", g.Process)
	}
	if g.Compute.CPUTimeMS != 121_000 || g.Compute.MemoryBytes != 160<<20 {
		t.Errorf("compute: got %+v", g.Compute)
	}
	if want := []string{"SECRET", "NAME"}; !slices.Equal(got.Env, want) || got.WorkDir != "/srv/y" {
		t.Errorf("env: got %q, want %q; workdir %q", got.Env, want, got.WorkDir)
	}
	all := text + p.command() + strings.Join(p.notes, "\n")
	for _, want := range []string{`--write '/srv/x/it'\''s'`, "127.0.0.1:5432", "other.example", "/srv/x/it's", "can name \"/srv/*\" alone"} {
		if !strings.Contains(all, want) {
			t.Errorf("got %s, want %s in it", all, want)
		}
	}
	if strings.Contains(all, "value ") || strings.Contains(all, "SECRET=") {
		t.Errorf("a value was shown: %s", all)
	}
}
