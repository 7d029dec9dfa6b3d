package mcp

import (
	"strings"
	"testing"

	"github.com/joulebox/joulebox/grant"
)

func TestWithinIsNeverWider(t *testing.T) {
	for _, c := range []struct {
		glob, allowed string
		want          bool
	}{
		{"/data/**", "/data/**", true},
		{"/data/x", "/data/**", true},
		{"/data/x/*.txt", "/data/**", true},
		{"/data/*", "/data/**", true},
		{"/data/**/secret", "/data/**", true},
		{"/data", "/data/**", false},
		{"/data*", "/data/**", false},
		{"/data*/x", "/data/**", false},
		{"/dat*/x", "/data/**", false},
		{"/database/**", "/data/**", false},
		{"/*/x", "/data/**", false},
		{"/**", "/data/**", false},
		{"**", "/data/**", false},
		{"/data/x", "/data/*", true},
		{"/data/x/y", "/data/*", false},
		{"/data/x*", "/data/*", false}, // it is; saying no is safe
		{"/data/a.txt", "/data/*.txt", true},
		{"/data/a.bin", "/data/*.txt", false},
		{"/anything", "**", true},
		{"/anything", "/**", true},
		{"/data/x", "/data", false},
		{"/data", "/data", true},
		{"/d*/x", "/d*/**", false},
	} {
		if got := within(c.glob, c.allowed); got != c.want {
			t.Errorf("%q within %q: got %v, want %v", c.glob, c.allowed, got, c.want)
		}
	}
}

// Whatever two globs are said to be within each other, no path tells otherwise.
func FuzzWithin(f *testing.F) {
	for _, s := range [][3]string{{"/data/*", "/data/**", "/data/x"}, {"/a*", "/a/**", "/ab"}, {"/a/**/b", "/a/**", "/a/b"}, {"/*/b", "/**", "/a/b"}} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, glob, allowed, path string) {
		g, err := grant.ParseGlob(glob)
		if err != nil {
			return
		}
		a, err := grant.ParseGlob(allowed)
		if err != nil {
			return
		}
		p, err := grant.CanonicalPath(path)
		if err != nil {
			return
		}
		if within(glob, allowed) && g.Match(p) && !a.Match(p) {
			t.Errorf("%q is said to be within %q, and covers %q", glob, allowed, p)
		}
	})
}

func TestPolicyInJSONAndYAMLAreOne(t *testing.T) {
	dir := t.TempDir()
	inJSON, err := ParsePolicy([]byte(`{"grants":{"compute":{"cpu_time_ms":5000,"memory_bytes":"64MiB"},"storage":{"read":["/data/**"],"max_iops":100},"host":{"clock":true}},
		"defaults":{"cpu_time_ms":"2s"},"mounts":[{"host":"` + dir + `","guest":"/data"}],"max_output_bytes":1000,"runs_at_once":3}`))
	if err != nil {
		t.Fatal(err)
	}
	inYAML, err := ParsePolicy([]byte(`
# what agents may have
grants:
  compute: {cpu_time_ms: 5s, memory_bytes: 64MiB}
  storage:
    read: ["/data/**"]
    max_iops: 100
  host: {clock: true}
defaults: {cpu_time_ms: 2s}
mounts:
  - host: ` + dir + `
    guest: /data
max_output_bytes: 1000
runs_at_once: 3
`))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := inJSON.Max.ID()
	b, _ := inYAML.Max.ID()
	if a != b || inJSON.Defaults.CPUTimeMS != 2000 || inYAML.Defaults.CPUTimeMS != 2000 || inYAML.Output != 1000 || inYAML.Runs != 3 || inYAML.Mounts[0].Guest != "/data" {
		t.Errorf("JSON: %+v\nYAML: %+v", inJSON, inYAML)
	}
	if inYAML.Max.KV.Read || inYAML.Max.Host.Random {
		t.Error("what a policy leaves out can be granted")
	}
}

func TestPolicyIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		`{"grant":{}}`:                                    "/grant",
		`{"grants":{"compute":{"cpu":5}}}`:                "compute",
		`{"grants":{},"grants":{}}`:                       "grants",
		`{"grants":{"host":{"clock":"y"}}}`:               "clock",
		`{"max_output_bytes":-1}`:                         "max_output_bytes",
		`{"runs_at_once":0}`:                              "runs_at_once",
		`{"mounts":[{"host":"/nope/nope","guest":"/x"}]}`: "mounts[0].host",
		`{"mounts":[{"host":"/","guest":"x"}]}`:           "mounts[0].guest",
		`{"modules":["relative"]}`:                        "modules[0]",
		`{"defaults":{"cpu_time_ms":0}}`:                  "defaults",
		"grants: {host: {clock: yes}}":                    "clock",
		"grants: &a {}\ndefaults: *a":                     "anchors",
		"grants: {}\ngrants: {}":                          "twice",
		"grants: {}\n---\ngrants: {}":                     "more than one document",
		"runs_at_once: 0o10":                              "0o10",
		"runs_at_once: 010":                               "010",
		"? [a]\n: b":                                      "plain word",
		"- a":                                             "",
		"grants: !!map {}":                                "tags",
	} {
		if _, err := ParsePolicy([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", text, err, want)
		}
	}
}

func TestAnEmptyPolicyGrantsComputeAlone(t *testing.T) {
	for _, text := range []string{"", "{}", "# nothing\n"} {
		p, err := ParsePolicy([]byte(text))
		if err != nil {
			t.Fatal(text, err)
		}
		for _, f := range grantFields {
			compute := strings.HasPrefix(f.member, "compute.")
			if p.grantable(f.name) != compute {
				t.Errorf("%q: %s is grantable: %v", text, f.name, !compute)
			}
		}
	}
}

func TestTheDefaultPolicy(t *testing.T) {
	p := DefaultPolicy()
	if err := p.Max.Validate(); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"devices": true, "energy_budget_uj": true, "cpu_time_ms": true, "memory_bytes": true,
		"kv": true, "kv_read": true, "kv_write": true, "kv_prefixes": true, "logging": true, "clock": true, "random": true}
	for _, f := range grantFields {
		if p.grantable(f.name) != want[f.name] {
			t.Errorf("%s: %v", f.name, p.grantable(f.name))
		}
	}
}

func TestTheSchemaSaysWhatThePolicyHolds(t *testing.T) {
	p, err := ParsePolicy([]byte(`{"grants":{"compute":{"cpu_time_ms":1234,"memory_bytes":65536},"storage":{"read":["/data/**"],"max_iops":77,"max_read_bps":88},
		"network":{"outbound":["example.com:443"]},"kv":{"read":true,"prefixes":[{"text":"a/"}]}},"defaults":{"cpu_time_ms":100}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{config: Config{Policy: p}}
	text := string(s.wasmSchema())
	for _, want := range []string{`"maximum":1234`, `unset: 100`, `"maximum":65536`, `within /data/**`, `"maximum":77`, `"maximum":88`, `"enum":["example.com:443"]`, `begins with \"a/\"`,
		`"storage_write":{"type":"array","items":{"type":"string"},"maxItems":0`, `"clock":{"type":"boolean","enum":[false]`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	for _, word := range []string{"oneOf", "anyOf", "allOf", "$ref"} {
		if strings.Contains(text, word) {
			t.Errorf("%s in the schema", word)
		}
	}
}

func TestPastThePolicyEveryArgumentIsNamed(t *testing.T) {
	p, err := ParsePolicy([]byte(`{"grants":{"storage":{"read":["/data/**"],"max_iops":10},"kv":{"read":true,"prefixes":[{"text":"a/"}]},
		"process":{"exec":true,"programs":["/usr/bin/*"],"max_processes":2},"network":{"outbound":["example.com:443"]},
		"browser":{"enabled":true,"origins":["https://example.com"],"headless":true},"display":{"enabled":true,"max_width":10,"max_height":10}}}`))
	if err != nil {
		t.Fatal(err)
	}
	set, err := grant.ParseHuman([]byte(`{"compute":{"devices":["Gpu"]},"storage":{"read":["/etc/passwd"],"write":["/data/x"],"max_iops":11},"kv":{"read":true,"write":true},
		"process":{"exec":true,"programs":["/bin/sh"],"max_processes":3},"network":{"outbound":["example.com:80"],"inbound":true},
		"host":{"clock":true,"logging":true,"random":true,"inference":true},
		"browser":{"enabled":true,"origins":["https://evil.example"]},"display":{"enabled":true,"vnc":true,"max_width":11,"max_height":11}}`), Budgets)
	if err != nil {
		t.Fatal(err)
	}
	err = p.limit(set)
	for _, want := range []string{"devices:", "storage_read[0]:", "storage_write[0]:", "max_iops:", "kv_write:", "kv_prefixes:", "programs[0]:", "max_processes:", "network_outbound[0]:",
		"network_inbound:", "clock:", "logging:", "random:", "inference:", "browser_origins[0]:", "browser_headless:", "display_vnc:", "display_max_width:", "display_max_height:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in %v", want, err)
		}
	}
	if err := p.limit(grant.Empty(Budgets)); err != nil {
		t.Error(err)
	}
}

// The ceilings of the operator hold for a call that sets none, and what it denies
// by hash stays denied.
func TestFill(t *testing.T) {
	p, err := ParsePolicy([]byte(`{"grants":{"storage":{"read":["/data/**"],"max_iops":10,"max_read_bps":20},
		"process":{"exec":true,"programs":["/usr/bin/*"],"deny_hashes":["b3:rxNJufX5oaagQE3qNtzJSZvLJcmtwRK3zJqTyuQfMmI"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	set, err := grant.ParseHuman([]byte(`{"storage":{"read":["/data/x"]},"process":{"exec":true,"programs":["/usr/bin/env"]}}`), p.budgets())
	if err != nil {
		t.Fatal(err)
	}
	p.fill(&set)
	if *set.Storage.MaxIOPS != 10 || *set.Storage.MaxReadBPS != 20 || len(set.Process.DenyHashes) != 1 {
		t.Errorf("got %+v %+v", set.Storage, set.Process)
	}
	if err := set.Validate(); err != nil {
		t.Error(err)
	}
}
