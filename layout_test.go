package joulebox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/joulebox/joulebox"

// layers orders the house from the bottom up. A package imports only packages
// of lower layers, never a peer, unless the pair is listed in within. A folder
// that isn't named here has no layer, and the test says so.
var layers = [][]string{
	{"."},
	{"internal/sig", "internal/jcs", "internal/merkle", "internal/dcbor", "internal/vectors", "internal/toll", "internal/effect", "internal/disk", "internal/plainyaml", "internal/hostspawn"},
	{"internal/hostspawn/early", "internal/cose", "internal/seal", "internal/disk/disktest"},
	{"unit", "grant", "receipt", "attestation", "journal", "ledger", "runrecord", "manifest", "warmpool", "fleet"},
	{"bundle", "internal/wasm/rewrite"},
	{"internal/wat"},
	{"internal/wasm", "internal/egress", "internal/jail", "internal/jail/execwatch", "internal/vmm", "internal/vmm/kvm"},
	{"internal/wasi", "internal/hostcall", "internal/jail/jailtest", "internal/netstack", "internal/rootfs"},
	{"internal/jail/cell"},
	{"host", "meter", "evidence", "store", "custody"},
	{"host/hosttest", "meter/metertest", "store/storetest", "evidence/evidencetest", "evidence/fetch", "evidence/internal/pki", "evidence/internal/jose"},
	{"evidence/sevsnp", "evidence/tdx", "evidence/nvgpu", "evidence/cca"},
	{"evidence/appraise"},
	{"supervisor", "internal/lang"},
	{"conformance"},
	{"internal/mcp", "internal/daemon"},
	{"internal/cli"},
	{"cmd/joulebox"},
}

// within lists the imports inside one layer that are meant.
var within = map[[2]string]string{}

// bans are imports that a package must not reach, directly or through others.
var bans = []struct {
	from []string
	to   string
	deep bool // through others too
	why  string
}{
	{[]string{"host", "internal/wasm", "internal/wasi", "internal/hostcall", "internal/jail", "internal/vmm", "internal/vmm/kvm"}, module + "/custody", true, "the signing path is outside the boundary (§7.4)"},
	{[]string{"host", "internal/wasm", "internal/wasi", "internal/hostcall", "internal/jail", "internal/vmm", "internal/vmm/kvm"}, module + "/meter", true, "the telemetry stream is outside the boundary (§7.4)"},
	{[]string{"supervisor"}, module + "/custody", true, "it is handed a signer, never a key"},
	{[]string{"evidence", "evidence/sevsnp", "evidence/tdx", "evidence/nvgpu", "evidence/cca", "evidence/appraise"}, "net/http", true, "evidence is verified offline: what fetches is evidence/fetch alone (§1.4)"},
	{objects, "net", true, "verification needs no server (§1.4)"},
	{objects, "net/http", true, "verification needs no server (§1.4)"},
	{[]string{"grant"}, "os", false, "the Enforcer has no ambient state (C2)"},
	{[]string{"grant"}, "time", false, "the Enforcer has no ambient state (C2)"},
	{[]string{"manifest"}, "os/exec", true, "a declaration runs nothing (§14)"},
}

var objects = []string{"unit", "grant", "receipt", "attestation", "journal", "ledger", "runrecord", "manifest", "warmpool", "fleet", "bundle"}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func (p goPackage) folder() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

func modulePackages(t *testing.T) map[string]goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string]goPackage{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p goPackage
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = p
	}
	return packages
}

func layerOf(folder string) (int, error) {
	if folder == "" {
		folder = "."
	}
	for i, l := range layers {
		if slices.Contains(l, folder) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s has no layer: give it one in layout_test.go, with the reason in docs/RATIONALE.md", folder)
}

func TestImportsGoDownwards(t *testing.T) {
	packages := modulePackages(t)
	if len(packages) < 10 {
		t.Fatalf("go list found %d packages: the test would prove nothing", len(packages))
	}
	for _, p := range packages {
		if strings.HasPrefix(p.folder(), "examples") || strings.HasPrefix(p.folder(), "bench") || strings.HasPrefix(p.folder(), "scripts") {
			continue // programs that use the house; nothing may import them
		}
		from, err := layerOf(p.folder())
		if err != nil {
			t.Error(err)
			continue
		}
		for _, path := range p.Imports {
			imported, ours := packages[path]
			if !ours {
				continue
			}
			to, err := layerOf(imported.folder())
			if err != nil {
				t.Error(err)
				continue
			}
			if to >= from && within[[2]string{p.folder(), imported.folder()}] == "" {
				t.Errorf("%s (layer %d) imports %s (layer %d): imports go only downwards, peers never import peers", p.folder(), from, imported.folder(), to)
			}
		}
	}
}

func TestBannedImports(t *testing.T) {
	packages := modulePackages(t)
	checked := 0
	for _, ban := range bans {
		for _, folder := range ban.from {
			p, ok := packages[module+"/"+folder]
			if !ok {
				continue
			}
			checked++
			reach := p.Imports
			if ban.deep {
				reach = p.Deps
			}
			if slices.Contains(reach, ban.to) {
				t.Errorf("%s reaches %s: %s", folder, ban.to, ban.why)
			}
		}
	}
	if checked < 10 {
		t.Fatalf("only %d bans applied to a package that exists: the test would prove nothing", checked)
	}
}
