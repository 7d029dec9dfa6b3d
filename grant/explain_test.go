package grant_test

import (
	"encoding/json/v2"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
)

func explained(t *testing.T, edit func(*grant.Request)) (grant.Explanation, string) {
	t.Helper()
	r := grant.Request{Grants: grant.Empty(budgets())}
	edit(&r)
	x, err := grant.Explain(r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return x, string(b)
}

// TestExplainNotes: each trap of a grant is told, and only where it is.
func TestExplainNotes(t *testing.T) {
	id := joulebox.Sum([]byte("x"))
	for note, edit := range map[string]func(*grant.Request){
		"one level; write /data/** for the tree":    func(r *grant.Request) { r.Grants.Storage.Read = []string{"/data/*"} },
		"doesn't cover /data itself":                func(r *grant.Request) { r.Grants.Storage.Read = []string{"/data/**"} },
		"is every path there is":                    func(r *grant.Request) { r.Grants.Storage.Delete = []string{"**"} },
		"two stars within a segment":                func(r *grant.Request) { r.Grants.Storage.Read = []string{"/a**b"} },
		"storage.write doesn't imply read":          func(r *grant.Request) { r.Grants.Storage.Write = []string{"/a"} },
		"ceilings hold but don't lower the tier":    func(r *grant.Request) { r.Grants.Storage.Ceilings = ceilings(1, 1) },
		"reaches no loopback, private":              func(r *grant.Request) { r.Grants.Network.Outbound = []string{"a.example:1"} },
		"the whole keyspace":                        func(r *grant.Request) { r.Grants.KV.Read = true },
		"without kv.read or kv.write grant nothing": func(r *grant.Request) { r.Grants.KV.Prefixes = []grant.Prefix{"a"} },
		"process.programs is advisory":              func(r *grant.Request) { r.Grants.Process = grant.Process{Exec: true, Programs: []string{"/bin/a"}} },
		"without programs or hashes":                func(r *grant.Request) { r.Grants.Process.Exec = true },
		"max_processes is 0":                        func(r *grant.Request) { r.Grants.Process.Exec = true },
		"is authoritative":                          func(r *grant.Request) { r.Grants.Process = grant.Process{Exec: true, AllowHashes: []joulebox.ID{id}} },
		"JITs":                                      func(r *grant.Request) { r.Grants.Process = grant.Process{Exec: true, DenyHashes: []joulebox.ID{id}} },
		"the unit's own entrypoint needs no exec":   func(r *grant.Request) { r.Artifact = grant.Native },
		"without origins":                           func(r *grant.Request) { r.Grants.Browser.Enabled = true },
		"surface of no pixels":                      func(r *grant.Request) { r.Grants.Display.Enabled = true },
	} {
		x, _ := explained(t, edit)
		if !strings.Contains(strings.Join(x.Notes, "\n"), note) {
			t.Errorf("no note with %q in %q", note, x.Notes)
		}
	}
	if x, _ := explained(t, func(*grant.Request) {}); len(x.Notes) != 0 {
		t.Errorf("the empty grant has notes: %q", x.Notes)
	}
	both, _ := explained(t, func(r *grant.Request) { r.Grants.Storage.Read = []string{"/data", "/data/**"} })
	if len(both.Notes) != 0 {
		t.Errorf("a tree with its directory has notes: %q", both.Notes)
	}
}

// TestExplainSaysAll: every member of §5 is either granted or denied, and what
// is granted is quoted.
func TestExplainSaysAll(t *testing.T) {
	x, text := explained(t, func(*grant.Request) {})
	said := map[string]bool{}
	for _, l := range append(x.Granted, x.Denied...) {
		said[l.Member] = true
	}
	for _, m := range []string{"compute.devices", "compute.energy_budget_uj", "compute.cpu_time_ms", "compute.memory_bytes", "storage.read", "storage.write", "storage.delete", "network.outbound", "network.inbound", "kv.read", "kv.write", "host.logging", "host.clock", "host.random", "host.inference", "process.exec", "browser.enabled", "display.enabled"} {
		if !said[m] {
			t.Errorf("nothing is said of %s", m)
		}
	}
	if !strings.Contains(text, `"tier":"S2","tier_name":"Sandbox"`) || !strings.Contains(text, `"notes":[]`) || !strings.Contains(text, "5 J") {
		t.Errorf("got %s", text)
	}
	if id, err := grant.Empty(budgets()).ID(); err != nil || x.GrantsID != id {
		t.Errorf("got the id %v, want %v (%v)", x.GrantsID, id, err)
	}
	x, _ = explained(t, func(r *grant.Request) {
		r.Grants.KV = grant.KV{Read: true, Prefixes: []grant.Prefix{"\x1b[2J"}}
	})
	for _, l := range x.Granted {
		if strings.Contains(l.Text, "\x1b") {
			t.Errorf("%s shows a control character", l.Member)
		}
	}
	if _, err := grant.Explain(grant.Request{}); err == nil {
		t.Error("an invalid grant is explained")
	}
}
