package grant_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/grant"
)

const empty = `{"browser":{"enabled":false,"headless":false,"origins":[]},"compute":{"cpu_time_ms":1000,"devices":["Cpu"],"energy_budget_uj":5000000,"memory_bytes":67108864},"display":{"enabled":false,"max_height":0,"max_width":0,"vnc":false},"host":{"clock":false,"inference":false,"logging":false,"random":false},"kv":{"prefixes":[],"read":false,"write":false},"network":{"inbound":false,"outbound":[]},"process":{"exec":false,"max_processes":0,"programs":[]},"storage":{"delete":[],"read":[],"write":[]}}`

// TestParseErrors changes one thing of a valid grant and wants the field named
// and the way to mend it.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ old, new, field, want string }{
		{`"read":[]`, `"read":["/a","/b","data"]`, "storage.read[2]", `write /data`},
		{`"read":[]`, `"read":["/a/../b"]`, "storage.read[0]", `no ".."`},
		{`"read":[]`, `"read":[7]`, "storage.read[0]", "got 7, want a string"},
		{`"read":[]`, `"read":"/a"`, "storage.read", `got the string "/a", want a list`},
		{`"read":[],`, ``, "storage.read", "missing"},
		{`"read":[],`, `"read":[],"raed":[],`, "storage.raed", "unknown member; want one of delete, max_iops"},
		{`"read":[],`, `"read":[],"maxIops":1,`, "storage.maxIops", `write "max_iops"`},
		{`"read":[],`, `"read":[],"\u001b[2J":1,`, `storage."\x1b[2J"`, "unknown member"},
		{`"read":[],`, `"max_iops":null,"read":[],`, "storage.max_iops", "got null"},
		{`"read":[],`, `"max_iops":1.0,"read":[],`, "storage.max_iops", "without sign, fraction or exponent"},
		{`"read":[],`, `"max_iops":-1,"read":[],`, "storage.max_iops", "without sign"},
		{`"read":[],`, `"max_iops":-0,"read":[],`, "storage.max_iops", "without sign"},
		{`"read":[],`, `"max_iops":1e3,"read":[],`, "storage.max_iops", "exponent"},
		{`"read":[],`, `"max_iops":9007199254740992,"read":[],`, "storage.max_iops", "at most 9007199254740991"},
		{`"read":[],`, `"max_iops":18446744073709551616,"read":[],`, "storage.max_iops", "want an integer"},
		{`"read":[],`, `"max_read_bps":"1MiB","read":[],`, "storage.max_read_bps", "got the string"},
		{`"energy_budget_uj":5000000`, `"energy_budget_uj":0`, "compute.energy_budget_uj", "nothing could run"},
		{`"cpu_time_ms":1000`, `"cpu_time_ms":0`, "compute.cpu_time_ms", "nothing could run"},
		{`"memory_bytes":67108864`, `"memory_bytes":0`, "compute.memory_bytes", "nothing could run"},
		{`"memory_bytes":67108864`, `"memory_bytes":9007199254740992`, "compute.memory_bytes", "at most"},
		{`"cpu_time_ms":1000,`, ``, "compute.cpu_time_ms", "missing"},
		{`["Cpu"]`, `[]`, "compute.devices", "want Cpu"},
		{`["Cpu"]`, `["Simd"]`, "compute.devices", "want Cpu"},
		{`["Cpu"]`, `["Cpu","Cpu"]`, "compute.devices", "each class once"},
		{`["Cpu"]`, `["Gpu","Cpu"]`, "compute.devices", "write [Cpu Gpu]"},
		{`["Cpu"]`, `["cpu"]`, "compute.devices[0]", "want one of"},
		{`["Cpu"]`, `["Cpu","Fpga"]`, "compute.devices[1]", "want one of"},
		{`"max_processes":0`, `"max_processes":4294967296`, "process.max_processes", "at most 4294967295"},
		{`"max_width":0`, `"max_width":4294967296`, "display.max_width", "at most 4294967295"},
		{`"vnc":false`, `"vnc":0`, "display.vnc", "got 0, want true or false"},
		{`"vnc":false`, `"vnc":"false"`, "display.vnc", "want true or false"},
		{`"outbound":[]`, `"outbound":["example.com"]`, "network.outbound[0]", "no port"},
		{`"outbound":[]`, `"outbound":["Example.com:443"]`, "network.outbound[0]", `write "example.com"`},
		{`"outbound":[]`, `"outbound":["münchen.example:443"]`, "network.outbound[0]", `write "xn--mnchen-3ya.example"`},
		{`"outbound":[]`, `"outbound":["example.com.:443"]`, "network.outbound[0]", `write "example.com"`},
		{`"outbound":[]`, `"outbound":["@npm"]`, "network.outbound[0]", "no port"},
		{`"prefixes":[]`, `"prefixes":["a b"]`, "kv.prefixes[0]", "base64url"},
		{`"prefixes":[]`, `"prefixes":["AA=="]`, "kv.prefixes[0]", "base64url"},
		{`"prefixes":[]`, `"prefixes":["AB"]`, "kv.prefixes[0]", "base64url"},
		{`"prefixes":[]`, `"prefixes":["AA\n"]`, "kv.prefixes[0]", "line break"},
		{`"programs":[]`, `"programs":["git"]`, "process.programs[0]", "absolute"},
		{`"programs":[]`, `"deny_hashes":[],"programs":[]`, "process.deny_hashes", "leave it out"},
		{`"programs":[]`, `"allow_hashes":["b3:x"],"programs":[]`, "process.allow_hashes[0]", "b3:"},
		{`"programs":[]`, `"allow_hashes":["b3:` + strings.Repeat("A", 43) + `"],"programs":[]`, "process.allow_hashes[0]", "zero id"},
		{`"origins":[]`, `"origins":["https://example.com/"]`, "browser.origins[0]", `write "https://example.com"`},
		{`"origins":[]`, `"origins":["file://"]`, "browser.origins[0]", "want http"},
		{`"kv":{`, `"kw":{`, "kv", "missing"},
		{`"kv":{"prefixes":[],"read":false,"write":false}`, `"kv":[]`, "kv", "got a list, want an object"},
	} {
		src := strings.Replace(empty, c.old, c.new, 1)
		if src == empty {
			t.Fatalf("%q is not in the grant", c.old)
		}
		_, err := grant.Parse([]byte(src))
		var list grant.Errors
		if !errors.As(err, &list) {
			t.Errorf("%s: got %v, want a list of field errors", c.new, err)
			continue
		}
		if !hasError(list, c.field, c.want) {
			t.Errorf("%s: got\n%v\nwant %s with %q", c.new, err, c.field, c.want)
		}
	}
}

func hasError(list grant.Errors, field, msg string) bool {
	for _, e := range list {
		if e.Field == field && strings.Contains(e.Msg, msg) {
			return true
		}
	}
	return false
}

// TestParseRefusesText: what is no such JSON says where.
func TestParseRefusesText(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for src, want := range map[string]string{
		``:                               "line 1, column 1",
		`{`:                              "line 1, column 2",
		"{\n\"compute\": }":              "line 2, column 12",
		empty + "x":                      "follows",
		empty + empty:                    "follows",
		`null`:                           "want an object",
		"\ufeff" + empty:                 "line 1, column 1",
		`{"kv":{},"kv":{}}`:              `"kv" is there twice`,
		`{"k\u0076":{},"kv":{}}`:         "twice",
		`{"kv":{"prefixes":["\ud800"]}}`: "line 1, column",
		"{\"kv\":\"\xff\"}":              "line 1, column",
		deep:                             "nested deeper",
	} {
		if _, err := grant.Parse([]byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: got %.200v, want an error with %q", src, err, want)
		}
	}
}

// TestParseTellsAll: everything that is wrong is reported in one go.
func TestParseTellsAll(t *testing.T) {
	src := strings.NewReplacer(`"read":[]`, `"read":["a","/b","c"]`, `"vnc":false`, `"vnc":1`, `"cpu_time_ms":1000`, `"cpu_time_ms":0`,
		`["Cpu"]`, `["Gpu","Cpu"]`, `"outbound":[]`, `"outbound":["*:443"]`).Replace(empty)
	_, err := grant.Parse([]byte(src))
	var list grant.Errors
	if !errors.As(err, &list) {
		t.Fatal(err)
	}
	for _, field := range []string{"storage.read[0]", "storage.read[2]", "display.vnc", "compute.cpu_time_ms", "compute.devices", "network.outbound[0]"} {
		if !hasError(list, field, "") {
			t.Errorf("parse: %s isn't in\n%v", field, list)
		}
	}
	if len(list) != 6 {
		t.Errorf("got %d errors, want 6:\n%v", len(list), err)
	}
	s := grant.Set{Storage: grant.Storage{Read: []string{"a", "/b", "c"}}}
	errors.As(s.Validate(), &list)
	for _, field := range []string{"storage.read[0]", "storage.read[2]", "compute.devices", "compute.cpu_time_ms", "compute.memory_bytes", "compute.energy_budget_uj"} {
		if !hasError(list, field, "") {
			t.Errorf("validate: %s isn't in\n%v", field, list)
		}
	}
	var first *grant.FieldError
	if !errors.As(err, &first) {
		t.Error("a FieldError can't be found in Errors")
	}
}

// TestErrorsAreBounded: a hostile grant can't make us say more than fits a page.
func TestErrorsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&b, "%d,", i)
	}
	src := strings.Replace(empty, `"read":[]`, `"read":[`+strings.TrimSuffix(b.String(), ",")+`]`, 1)
	_, err := grant.Parse([]byte(src))
	var list grant.Errors
	if !errors.As(err, &list) || len(list) != 101 {
		t.Errorf("got %d errors, want 100 and a word that there are more", len(list))
	}
}

func TestParseKeepsOrder(t *testing.T) {
	src := strings.Replace(empty, `"read":[]`, `"read":["/z","/a","/z"]`, 1)
	s, err := grant.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := s.Canonical(); err != nil || string(b) != src {
		t.Errorf("got %s (%v), want the given order", b, err)
	}
}

func TestZeroSetIsRefused(t *testing.T) {
	if _, err := (grant.Set{}).ID(); err == nil {
		t.Error("the zero set has an id")
	}
	if _, err := grant.NewEnforcer(grant.Set{}); err == nil {
		t.Error("the zero set has an enforcer")
	}
}
