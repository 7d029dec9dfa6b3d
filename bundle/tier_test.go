package bundle_test

import (
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/unit"
)

func hostImage() *unit.Image {
	return &unit.Image{Kind: unit.Host, Program: unit.Program{Path: "/bin/true", B3: joulebox.Sum([]byte("elf"))}}
}

func treeImage(kernel bool) *unit.Image {
	im := &unit.Image{Kind: unit.Tree, Entries: []unit.Entry{{Path: "/init", Type: unit.File, Mode: 0o755, B3: joulebox.Sum([]byte("elf"))}}}
	if kernel {
		im.Kernel, im.Agent = joulebox.Sum([]byte("k")), joulebox.Sum([]byte("a"))
	}
	return im
}

// moduleTree is an image in which the entrypoint that runs names a module.
func moduleTree() *unit.Image {
	file := func(p string) unit.Entry {
		return unit.Entry{Path: p, Type: unit.File, Mode: 0o444, B3: joulebox.Sum([]byte(p))}
	}
	return &unit.Image{Kind: unit.Tree, Entries: []unit.Entry{file("/a.wasm"), {Path: "/d.wasm", Type: unit.Dir, Mode: 0o755}, file("/init")}}
}

func entry(path string) func(*run) { return func(r *run) { r.unit.Entrypoint = []string{path} } }

func withStorage(r *run) { r.grants.Storage.Read = []string{"/data/**"} }

func withCeilings(r *run) {
	n := uint64(1000)
	r.grants.Storage.MaxIOPS, r.grants.Storage.MaxReadBPS = &n, &n
}

func sensitive(r *run) { r.unit.Placement.Contention = unit.Sensitive }

func trusted(r *run) { r.unit.Placement.Trusted = true }

// The tiers that a bundle of each request may claim are these and no others.
func TestTierIsTheRequestsOwn(t *testing.T) {
	for _, c := range []struct {
		name    string
		request []func(*run)
		image   *unit.Image
		tenants bool
		may     string
	}{
		{"untrusted module", nil, nil, false, "S2"},
		{"trusted module", []func(*run){trusted}, nil, false, "S0"},
		{"trusted module with storage", []func(*run){trusted, withStorage}, nil, false, "S1"},
		{"storage: several tenants may raise it", []func(*run){withStorage}, nil, false, "S2 S3"},
		{"storage, and several tenants for sure", []func(*run){withStorage}, nil, true, "S3"},
		{"storage with ceilings that may count", []func(*run){withStorage, withCeilings}, nil, true, "S2 S3"},
		{"sensitive", []func(*run){sensitive}, nil, false, "S3"},
		{"sensitive with ceilings that may count", []func(*run){sensitive, withCeilings}, nil, false, "S2 S3"},
		{"kv: its store may be on a disk", []func(*run){func(r *run) { r.grants.KV.Read = true }}, nil, false, "S2 S3"},
		{"exec", []func(*run){func(r *run) { r.grants.Process.Exec = true }}, nil, false, "S2"},
		{"machine", []func(*run){func(r *run) { r.unit.Placement.Boundary = unit.Machine }}, nil, false, "S4"},
		{"kernel", []func(*run){func(r *run) { r.unit.Placement.Boundary = unit.Kernel }}, nil, false, "S5"},
		{"host program", nil, hostImage(), false, "S3"},
		{"trusted host program", []func(*run){trusted}, hostImage(), false, "S1"},
		{"tree: a program or a guest", nil, treeImage(false), false, "S3 S4"},
		{"module of a tree", []func(*run){entry("/a.wasm")}, moduleTree(), false, "S2"},
		{"trusted module of a tree", []func(*run){entry("/a.wasm"), trusted}, moduleTree(), false, "S0"},
		{"tree with a module, and another program", []func(*run){entry("/init")}, moduleTree(), false, "S3 S4"},
		{"tree without the module", []func(*run){entry("/b.wasm")}, moduleTree(), false, "S3 S4"},
		{"folder with a module's name", []func(*run){entry("/d.wasm")}, moduleTree(), false, "S3 S4"},
		{"module of the host", []func(*run){entry("/bin/a.wasm")}, hostImage(), false, "S3"},
		{"tree with a kernel", []func(*run){func(r *run) { r.unit.Placement.Boundary = unit.Kernel }}, treeImage(true), false, "S5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, tier := range joulebox.Tiers()[:joulebox.S6] {
				r := honest()
				r.image, r.tier = c.image, tier
				for _, edit := range c.request {
					edit(r)
				}
				o := pinned(r.key)
				o.MultiTenant = c.tenants
				want := bundle.Fail
				if strings.Contains(c.may, tier.String()) {
					want = bundle.Pass
				}
				if got := status(t, r.bundle(t).Verify(o), "tier_required"); got.Status != want {
					t.Errorf("%s: got %s, want %s: %s", tier, got.Status, want, got.Detail)
				}
			}
		})
	}
}

func TestHostImageIsSaidToBeUnpinned(t *testing.T) {
	r := honest()
	r.image, r.tier, r.unit.Entrypoint = hostImage(), joulebox.S3, []string{"/bin/true"}
	wantNote(t, r, "host-image-unpinned", true)
	r.image = treeImage(false)
	wantNote(t, r, "host-image-unpinned", false)
}

func wantNote(t *testing.T, r *run, text string, want bool) {
	t.Helper()
	report := r.bundle(t).Verify(pinned(r.key))
	if got := strings.Contains(strings.Join(report.Notes, "\n"), text); got != want {
		t.Errorf("note with %q: got %v, want %v: %q", text, got, want, report.Notes)
	}
}
