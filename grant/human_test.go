package grant_test

import (
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
)

const asJSON = `{
  "compute": {"devices": ["Simd"], "energy_budget_uj": 7000000, "cpu_time_ms": 30000, "memory_bytes": 134217728},
  "storage": {"read": ["/data/**", "/data", "/etc/hosts"], "write": ["/out/*"], "max_iops": 100, "max_read_bps": 1048576},
  "network": {"outbound": ["xn--mnchen-3ya.example:443", "[2001:db8::1]:8443", "registry.npmjs.org:443"]},
  "kv": {"read": true, "write": true, "prefixes": ["dXNlci8"]},
  "host": {"logging": true, "clock": true, "random": true},
  "process": {"exec": true, "programs": ["/usr/bin/git"], "allow_hashes": null},
  "browser": {"enabled": true, "origins": ["https://example.com"]}
}`

const asYAML = `# the same, as people write it
compute:
  devices: [Simd, Cpu, Simd]
  energy_budget_uj: 7J
  cpu_time_ms: 30s
  memory_bytes: 128MiB
storage:
  read:
    - /data/
    - /etc//hosts
    - /data/**
  write: [/out/*]
  delete:
  max_iops: 100
  max_read_bps: 1MiB
network:
  outbound:
    - MÜNCHEN.example.:443
    - "[2001:DB8:0:0::1]:8443"
    - "@npm"
kv: {read: true, write: true, prefixes: [{text: user/}]}
host: {logging: true, clock: true, random: true}
process:
  exec: true
  programs: [/usr/bin/git]
browser:
  enabled: true
  origins: ["HTTPS://Example.COM:443/"]
display: ~
`

// TestOneWishOneID: flags, JSON and YAML for the same grant give the same id.
func TestOneWishOneID(t *testing.T) {
	fromJSON, err := grant.ParseHuman([]byte(asJSON), budgets())
	if err != nil {
		t.Fatal(err)
	}
	fromYAML, err := grant.ParseHuman([]byte(asYAML), budgets())
	if err != nil {
		t.Fatal(err)
	}
	fromFlags := byFlags(t)
	want, err := fromJSON.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]grant.Set{"yaml": fromYAML, "flags": fromFlags} {
		if b, err := s.Canonical(); err != nil || string(b) != string(want) {
			t.Errorf("%s:\n got %s (%v)\nwant %s", name, b, err, want)
		}
	}
	// And it is a signed form that reads back.
	if s, err := grant.Parse(want); err != nil || s.Process.MaxProcesses != grant.DefaultProcesses {
		t.Errorf("signed form: %v, max_processes %d", err, s.Process.MaxProcesses)
	}
}

func byFlags(t *testing.T) grant.Set {
	t.Helper()
	var b grant.Builder
	b.SIMD()
	b.Log()
	b.Clock()
	b.Random()
	b.MaxIOPS(100)
	for _, err := range []error{
		b.Energy("7J"), b.Timeout("0.5min"), b.Memory("134217728"), b.MaxReadBPS("1MiB"),
		b.Read("/data"), b.Write("/out/*"), b.Net("münchen.EXAMPLE:443"), b.Net("[2001:db8::1]:8443"), b.Net("@npm"),
		b.KV("rw:user/"), b.Exec("/usr/bin/git"), b.Browse("https://example.com"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Build(budgets())
	if err != nil {
		t.Fatal(err)
	}
	// A file is named as itself by a glob; by flag it is a tree.
	s.Storage.Read = append(s.Storage.Read, "/etc/hosts")
	return s
}

func TestHumanEmptyGrantsNothing(t *testing.T) {
	var b grant.Builder
	want, err := b.Build(budgets())
	if err != nil {
		t.Fatal(err)
	}
	wantID, err := want.ID()
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{"", "{}", "null", "# nothing\n", "---\n", "storage:\nnetwork: {}\n", `{"storage":{"max_iops":null,"max_read_bps":null,"read":null}}`, "\ufeff{}", "{}\r\n"} {
		s, err := grant.ParseHuman([]byte(src), budgets())
		if err != nil {
			t.Errorf("%q: %v", src, err)
			continue
		}
		if id, err := s.ID(); err != nil || id != wantID {
			t.Errorf("%q: got %v (%v), want %v", src, id, err, wantID)
		}
	}
	if _, err := grant.ParseHuman(nil, grant.Compute{}); err == nil {
		t.Error("no budgets at all are accepted")
	}
}

func TestHumanRefused(t *testing.T) {
	bomb := "a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: [*b,*b,*b]\n"
	for src, want := range map[string]string{
		bomb:                                                  "anchors and aliases",
		"storage: &s {read: []}\n":                            "anchors and aliases",
		"storage: *s\n":                                       "anchor",
		"storage: {read: []}\nstorage: {}\n":                  "twice",
		`{"storage":{},"storage":{}}`:                         "twice",
		"kv: {read: true, read: true}\n":                      "twice",
		"1: {}\n":                                             "member name",
		"? [a]\n: b\n":                                        "member name",
		"true: {}\n":                                          "member name",
		"--- {}\n--- {}\n":                                    "more than one document",
		"kv: !!map {read: true}\n":                            "tags",
		"kv: !secret {read: true}\n":                          "tags",
		"<<: {kv: {read: true}}\n":                            "member name",
		"kv: {read: yes}\n":                                   `kv.read (line 1, column 12): got the string "yes", want true or false`,
		"kv: {read: True}\n":                                  `got "True", want true or false`,
		"kv: {read: 1}\n":                                     "got 1, want true or false",
		"process: {max_processes: 010}\n":                     "process.max_processes",
		"process: {max_processes: 0x10}\n":                    "process.max_processes",
		"process: {max_processes: 1_000}\n":                   "process.max_processes",
		"process: {max_processes: 1.0}\n":                     "process.max_processes",
		"process: {max_processes: 1e3}\n":                     "process.max_processes",
		"process: {max_processes: +1}\n":                      "process.max_processes",
		"process: {max_processes: .inf}\n":                    "process.max_processes",
		"process: {programs: [2001-01-01]}\n":                 "process.programs[0]",
		"process: {programs: [git]}\n":                        "want an absolute path",
		"process: {programs: [~]}\n":                          "got null, want a string",
		"compute: {cpu_time_ms: null}\n":                      "no budget is unlimited",
		"compute: {cpu_time_ms: 0}\n":                         "nothing could run",
		"compute: {cpu_time_ms: 0s}\n":                        "nothing could run",
		"compute: {cpu_time_ms: \"30\"}\n":                    "with its unit",
		"compute: {cpu_time_ms: 30 s}\n":                      "whole number",
		"compute: {cpu_time_ms: 0.5ms}\n":                     "whole number",
		"compute: {memory_bytes: 64Mb}\n":                     "with its unit",
		"compute: {energy_budget_uj: 5W}\n":                   "with its unit",
		"compute: {energy_budget_uj: 9999999MWh}\n":           "with its unit",
		"compute: {energy_budget_uj: 9999kWh}\n":              "up to 9007199254740991",
		"compute: {energy_budget_uj: -5J}\n":                  "whole number",
		"storage: {max_iops: \"100\"}\n":                      "got the string",
		"storage: {max_iops: -1}\n":                           "storage.max_iops",
		"storage: {reed: [/a]}\n":                             "storage.reed (line 1, column 17): unknown member",
		"stroage: {}\n":                                       "unknown member; want one of browser",
		"storage: [read]\n":                                   "storage (line 1, column 10): got a list, want an object",
		"- storage\n":                                         "want an object",
		"storage: {read: /data}\n":                            "want a list",
		"network: {outbound: [\"*\"]}\n":                      "no port",
		"network: {outbound: [\"@nmp\"]}\n":                   "@npm",
		"network: {outbound: [https://a.example]}\n":          "not a URL",
		"kv: {prefixes: [user/]}\n":                           `{text: "user/"}`,
		"kv: {prefixes: [{texts: user/}]}\n":                  `unknown member`,
		"{\"kv\": {\"read\": true}":                           "cut short",
		"{\"kv\": {\"read\": tru}}":                           "line 1, column",
		"kv: [\n":                                             "yaml",
		"a: {b: {c: {d: {e: {f: {g: {h: {i: {j: 1}}}}}}}}}\n": "nested deeper",
		strings.Repeat("#", 1<<20+1):                          "at most 1048576",
		strings.Repeat("[", 20000):                            "",
		"\x00":                                                "",
	} {
		s, err := grant.ParseHuman([]byte(src), budgets())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %+v, %.300v; want an error with %q", src, s.KV, err, want)
		}
	}
}

// TestHumanJSONInYAML: flow style that is no JSON is YAML; JSON stays JSON, with
// its own escapes.
func TestHumanJSONInYAML(t *testing.T) {
	s, err := grant.ParseHuman([]byte(`{storage: {read: [/a]}, kv: {read: true}}`), budgets())
	if err != nil || len(s.Storage.Read) != 1 || !s.KV.Read {
		t.Errorf("flow style: %+v, %v", s.Storage, err)
	}
	s, err = grant.ParseHuman([]byte("{\"storage\":\t{\"read\":[\"\\/\\ud83d\\ude00\"]}}"), budgets())
	if err != nil || s.Storage.Read[0] != "/\U0001F600" {
		t.Errorf("json: %q, %v", s.Storage.Read, err)
	}
}

func TestUnits(t *testing.T) {
	type parser = func(string) (uint64, error)
	for _, c := range []struct {
		parse parser
		in    string
		want  uint64
	}{
		{grant.ParseTime, "1ms", 1}, {grant.ParseTime, "30s", 30_000}, {grant.ParseTime, "1.5s", 1500}, {grant.ParseTime, "2m", 120_000},
		{grant.ParseTime, "2min", 120_000}, {grant.ParseTime, "1h", 3_600_000},
		{grant.ParseBytes, "1", 1}, {grant.ParseBytes, "1B", 1}, {grant.ParseBytes, "64MiB", 64 << 20}, {grant.ParseBytes, "1.5GiB", 3 << 29}, {grant.ParseBytes, "64MB", 64_000_000}, {grant.ParseBytes, "1kB", 1000},
		{grant.ParseEnergy, "1uJ", 1}, {grant.ParseEnergy, "1µJ", 1}, {grant.ParseEnergy, "1μJ", 1}, {grant.ParseEnergy, "5mJ", 5000}, {grant.ParseEnergy, "0.5J", 500_000}, {grant.ParseEnergy, "5J", 5_000_000},
		{grant.ParseEnergy, "2kJ", 2_000_000_000}, {grant.ParseEnergy, "1Wh", 3_600_000_000}, {grant.ParseEnergy, "9007199254.740991J", grant.MaxInteger},
	} {
		if got, err := c.parse(c.in); err != nil || got != c.want {
			t.Errorf("%q: got %d (%v), want %d", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"", "s", ".5s", "5.s", "-1s", "+1s", "1e3s", "1,5s", "1 s", "١s", "0x1s", "1ss", "99999999999999999999s", "1.0001ms", "30"} {
		if got, err := grant.ParseTime(in); err == nil {
			t.Errorf("%q: got %d, want an error", in, got)
		}
	}
}

func TestBuilderNamesFlag(t *testing.T) {
	for flag, call := range map[string]func(*grant.Builder) error{
		"--read":         func(b *grant.Builder) error { return b.Read("data") },
		"--write":        func(b *grant.Builder) error { return b.Write("/a/../b") },
		"--delete":       func(b *grant.Builder) error { return b.Delete("") },
		"--net":          func(b *grant.Builder) error { return b.Net("example.com") },
		"--kv":           func(b *grant.Builder) error { return b.KV("x") },
		"--timeout":      func(b *grant.Builder) error { return b.Timeout("30") },
		"--memory":       func(b *grant.Builder) error { return b.Memory("0") },
		"--energy":       func(b *grant.Builder) error { return b.Energy("5") },
		"--max-read-bps": func(b *grant.Builder) error { return b.MaxReadBPS("fast") },
		"--exec":         func(b *grant.Builder) error { return b.Exec("git") },
		"--exec-hash":    func(b *grant.Builder) error { return b.ExecHash("b3:") },
		"--deny-hash":    func(b *grant.Builder) error { return b.DenyHash("x") },
		"--browse":       func(b *grant.Builder) error { return b.Browse("example.com") },
		"--device":       func(b *grant.Builder) error { return b.Device("gpu") },
	} {
		var b grant.Builder
		if err := call(&b); err == nil || !strings.HasPrefix(err.Error(), flag+": ") {
			t.Errorf("%s: got %v, want an error that names it", flag, err)
		}
	}
}

// TestBuilderKV: one list of prefixes holds for both directions, so flags that
// would widen each other are refused.
func TestBuilderKV(t *testing.T) {
	for _, c := range []struct {
		flags []string
		ok    bool
	}{
		{[]string{"rw"}, true},
		{[]string{"r:a", "r:b"}, true},
		{[]string{"rw:a:b"}, true},
		{[]string{"r", "r"}, true},
		{[]string{"r:a", "w:b"}, false},
		{[]string{"r:a", "rw:a"}, false},
		{[]string{"r", "r:a"}, false},
		{[]string{"r:a", "r"}, false},
		{[]string{"r", "w"}, false},
		{[]string{"rw:"}, false},
		{[]string{"wr"}, false},
	} {
		var b grant.Builder
		var err error
		for _, f := range c.flags {
			if err == nil {
				err = b.KV(f)
			}
		}
		if (err == nil) != c.ok {
			t.Errorf("%v: got %v, want accepted %v", c.flags, err, c.ok)
		}
	}
}

// TestBuilderTrees: a directory is itself and all below; a glob is what it says.
func TestBuilderTrees(t *testing.T) {
	for in, want := range map[string]string{
		"/data":    "/data /data/**",
		"/data/":   "/data /data/**",
		"/":        "/ /**",
		"/data/*":  "/data/*",
		"/data/**": "/data/**",
		"**":       "**",
		"/a//b/.":  "/a/b /a/b/**",
	} {
		var b grant.Builder
		if err := b.Read(in); err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		s, err := b.Build(budgets())
		if err != nil || strings.Join(s.Storage.Read, " ") != want {
			t.Errorf("%q: got %v (%v), want %s", in, s.Storage.Read, err, want)
		}
	}
}

// TestBuilderOnFile: flags add to grants from a file and don't change them.
func TestBuilderOnFile(t *testing.T) {
	from, err := grant.ParseHuman([]byte(asYAML), budgets())
	if err != nil {
		t.Fatal(err)
	}
	before, _ := from.ID()
	b := grant.NewBuilder(from)
	if err := b.KV("r"); err == nil {
		t.Error("--kv r over a file's rw with prefixes is accepted")
	}
	if err := b.Read("/more"); err != nil {
		t.Fatal(err)
	}
	if err := b.Timeout("1s"); err != nil {
		t.Fatal(err)
	}
	s, err := b.Build(budgets())
	if err != nil {
		t.Fatal(err)
	}
	if s.Compute.CPUTimeMS != 1000 || len(s.Storage.Read) != len(from.Storage.Read)+2 || s.Compute.MemoryBytes != 128<<20 {
		t.Errorf("got %+v", s)
	}
	if after, _ := from.ID(); after != before {
		t.Error("the builder changed the set that it started from")
	}
}

// TestBuilderTwice: building doesn't use the builder up, and 0 that a person
// wrote stays 0.
func TestBuilderTwice(t *testing.T) {
	var b grant.Builder
	if err := b.Exec("/bin/true"); err != nil {
		t.Fatal(err)
	}
	first, err := b.Build(budgets())
	if err != nil {
		t.Fatal(err)
	}
	b.MaxProcesses(0)
	second, err := b.Build(budgets())
	if err != nil {
		t.Fatal(err)
	}
	if first.Process.MaxProcesses != grant.DefaultProcesses || second.Process.MaxProcesses != 0 {
		t.Errorf("got %d and %d", first.Process.MaxProcesses, second.Process.MaxProcesses)
	}
	if first.Compute.Devices[0] != joulebox.CPU {
		t.Errorf("got %v", first.Compute.Devices)
	}
}
