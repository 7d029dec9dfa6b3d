package grant_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
)

// features are grants that rows of the tier rules look at, one at a time.
var features = map[string]func(*grant.Set){
	"nothing":  func(*grant.Set) {},
	"simd":     func(s *grant.Set) { s.Compute.Devices = append(s.Compute.Devices, joulebox.SIMD) },
	"read":     func(s *grant.Set) { s.Storage.Read = []string{"/a"} },
	"write":    func(s *grant.Set) { s.Storage.Write = []string{"/a"} },
	"delete":   func(s *grant.Set) { s.Storage.Delete = []string{"/a"} },
	"outbound": func(s *grant.Set) { s.Network.Outbound = []string{"a.example:1"} },
	"inbound":  func(s *grant.Set) { s.Network.Inbound = true },
	"kv read":  func(s *grant.Set) { s.KV.Read = true },
	"kv write": func(s *grant.Set) { s.KV.Write = true },
	"log":      func(s *grant.Set) { s.Host.Logging = true },
	"clock":    func(s *grant.Set) { s.Host.Clock = true },
	"random":   func(s *grant.Set) { s.Host.Random = true },
	"model":    func(s *grant.Set) { s.Host.Inference = true },
	"gpu":      func(s *grant.Set) { s.Compute.Devices = append(s.Compute.Devices, joulebox.GPU) },
	"quantum":  func(s *grant.Set) { s.Compute.Devices = append(s.Compute.Devices, joulebox.Quantum) },
	"exec":     func(s *grant.Set) { s.Process.Exec = true },
	"browser":  func(s *grant.Set) { s.Browser.Enabled = true },
	"display":  func(s *grant.Set) { s.Display.Enabled = true },
}

var (
	storageFeatures = []string{"read", "write", "delete"}
	kvFeatures      = []string{"kv read", "kv write"}
	plainFeatures   = slices.Concat(storageFeatures, kvFeatures, []string{"outbound", "inbound", "log", "clock", "random", "model"})
	brokered        = []string{"gpu", "quantum", "exec", "browser", "display"}
)

// limits of the host in these tests, and ceilings around them.
const limit = 1000

func ceilings(iops, bps uint64) grant.Ceilings {
	return grant.Ceilings{MaxIOPS: &iops, MaxReadBPS: &bps}
}

// wantTier is the table of rules, row by row, as the highest that applies.
func wantTier(r grant.Request, feature string, counting bool) joulebox.Tier {
	tier := joulebox.S0
	row := func(applies bool, at joulebox.Tier) {
		if applies {
			tier = max(tier, at)
		}
	}
	row(r.Trusted && slices.Contains(plainFeatures, feature), joulebox.S1)
	row(r.Artifact == grant.Native, joulebox.S1)
	row(r.Artifact == grant.WASM && !r.Trusted, joulebox.S2)
	row(slices.Contains(brokered, feature), joulebox.S2)
	row(r.Artifact == grant.Native && !r.Trusted, joulebox.S3)
	row(r.Sensitive && !counting, joulebox.S3)
	shares := slices.Contains(storageFeatures, feature) || r.DiskKV && slices.Contains(kvFeatures, feature)
	row(r.MultiTenant && !r.Trusted && shares && !counting, joulebox.S3)
	row(r.Artifact == grant.Guest, joulebox.S4)
	row(r.Boundary == "machine", joulebox.S4)
	row(r.Boundary == "kernel", joulebox.S5)
	row(len(r.Passthrough) > 0, joulebox.S5)
	row(r.Confidential, joulebox.S6)
	row(r.Locality, joulebox.S7)
	return tier
}

// TestRequiredTier goes through every combination of what the rules look at.
func TestRequiredTier(t *testing.T) {
	bools := []bool{false, true}
	seen := map[joulebox.Tier]int{}
	for feature, edit := range features {
		for bits := range 1 << 7 {
			on := func(i int) bool { return bits>>i&1 == 1 }
			for _, artifact := range []grant.Artifact{grant.WASM, grant.Native, grant.Guest} {
				for _, boundary := range []string{"", "machine", "kernel"} {
					for _, counting := range bools {
						r := grant.Request{
							Grants: grant.Empty(budgets()), Artifact: artifact, Boundary: boundary,
							Trusted: on(0), Sensitive: on(1), MultiTenant: on(2), DiskKV: on(3),
							Confidential: on(4), Locality: on(5), Limits: ceilings(limit, limit),
						}
						if on(6) {
							r.Passthrough = []joulebox.DeviceClass{joulebox.GPU}
						}
						if counting {
							r.Grants.Storage.Ceilings = ceilings(limit, limit)
						}
						edit(&r.Grants)
						seen[checkTier(t, r, feature, counting)]++
					}
				}
			}
		}
	}
	for _, tier := range joulebox.Tiers() {
		if seen[tier] == 0 {
			t.Errorf("no request came to %v", tier)
		}
	}
}

func checkTier(t *testing.T, r grant.Request, feature string, counting bool) joulebox.Tier {
	t.Helper()
	tier, reasons := grant.RequiredTier(r)
	if want := wantTier(r, feature, counting); tier != want {
		t.Fatalf("%s, counting %v, %+v: got %v, want %v", feature, counting, r, tier, want)
	}
	if len(reasons) == 0 || reasons[0].Tier != tier {
		t.Fatalf("%s: the reasons don't begin with %v: %v", feature, tier, reasons)
	}
	if !slices.IsSortedFunc(reasons, func(a, b grant.Reason) int { return cmp.Compare(b.Tier, a.Tier) }) {
		t.Fatalf("%s: reasons aren't highest first: %v", feature, reasons)
	}
	return tier
}

// TestCeilingsThatCount: both must be set, within what the host states.
func TestCeilingsThatCount(t *testing.T) {
	one := uint64(1)
	for _, c := range []struct {
		what     string
		ceilings grant.Ceilings
		limits   grant.Ceilings
		want     joulebox.Tier
	}{
		{"none", grant.Ceilings{}, ceilings(limit, limit), joulebox.S3},
		{"both", ceilings(1, 1), ceilings(limit, limit), joulebox.S2},
		{"zero", ceilings(0, 0), ceilings(limit, limit), joulebox.S2},
		{"iops only", grant.Ceilings{MaxIOPS: &one}, ceilings(limit, limit), joulebox.S3},
		{"bytes only", grant.Ceilings{MaxReadBPS: &one}, ceilings(limit, limit), joulebox.S3},
		{"iops too high", ceilings(limit+1, 1), ceilings(limit, limit), joulebox.S3},
		{"bytes too high", ceilings(1, limit+1), ceilings(limit, limit), joulebox.S3},
		{"host states none", ceilings(1, 1), grant.Ceilings{}, joulebox.S3},
	} {
		r := grant.Request{Grants: grant.Empty(budgets()), Sensitive: true, Limits: c.limits}
		r.Grants.Storage.Ceilings = c.ceilings
		if tier, reasons := grant.RequiredTier(r); tier != c.want {
			t.Errorf("%s: got %v, want %v: %v", c.what, tier, c.want, reasons)
		}
	}
}

// TestEveryRowIsTold: the reasons hold each row that applies, not the first.
func TestEveryRowIsTold(t *testing.T) {
	r := grant.Request{
		Grants: grant.Empty(budgets()), Artifact: grant.Native, Sensitive: true, MultiTenant: true, DiskKV: true,
		Boundary: "kernel", Passthrough: []joulebox.DeviceClass{joulebox.GPU}, Confidential: true, Locality: true,
	}
	for _, edit := range features {
		edit(&r.Grants)
	}
	tier, reasons := grant.RequiredTier(r)
	if tier != joulebox.S7 {
		t.Errorf("got %v, want S7", tier)
	}
	var all strings.Builder
	for _, reason := range reasons {
		all.WriteString(reason.Text + "\n")
	}
	for _, want := range []string{"locality", "confidential", "assignment of Gpu", "guest kernel", "contention", "storage among several tenants", "kv on a disk", "untrusted native", "Gpu is beyond", "Quantum is beyond", "process.exec", "browser.enabled", "display.enabled"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no row with %q in\n%s", want, all.String())
		}
	}
}

func TestNeeds(t *testing.T) {
	want := map[string]string{
		"nothing": "", "simd": "compute.devices Simd", "gpu": "compute.devices Gpu", "quantum": "compute.devices Quantum",
		"read": "storage", "write": "storage", "delete": "storage", "outbound": "network.outbound", "inbound": "network.inbound",
		"kv read": "kv", "kv write": "kv", "log": "host.logging", "clock": "host.clock", "random": "host.random",
		"model": "host.inference", "exec": "process.exec", "browser": "browser.enabled", "display": "display.enabled",
	}
	for feature, edit := range features {
		s := grant.Empty(budgets())
		edit(&s)
		if got := strings.Join(s.Needs(), ", "); got != want[feature] {
			t.Errorf("%s: got %q, want %q", feature, got, want[feature])
		}
	}
	s := grant.Empty(budgets())
	s.Storage.Ceilings = ceilings(1, 1)
	s.Display = grant.Display{Enabled: true, VNC: true}
	if got := strings.Join(s.Needs(), ", "); got != "storage.max_iops, storage.max_read_bps, display.enabled, display.vnc" {
		t.Errorf("got %q", got)
	}
}

func TestBases(t *testing.T) {
	s := grant.Empty(budgets())
	s.Storage.Read = []string{"/data", "/data/**", "/etc/hosts", "/var/*/log/**", "**"}
	s.Storage.Write = []string{"/data/x*", "/*"}
	s.Storage.Delete = []string{"/data/tmp/**"}
	want := []grant.Base{
		{Path: "/", Exact: true, Below: true, Modes: [3]bool{true, true, false}},
		{Path: "/data", Exact: true, Below: true, Modes: [3]bool{true, true, false}},
		{Path: "/data/tmp", Below: true, Modes: [3]bool{false, false, true}},
		{Path: "/etc/hosts", Exact: true, Modes: [3]bool{true, false, false}},
		{Path: "/var", Below: true, Modes: [3]bool{true, false, false}},
	}
	if got := s.Bases(); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
