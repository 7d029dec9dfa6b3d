package mcp_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/internal/lang"
	"github.com/joulebox/joulebox/internal/mcp"
)

func each(t *testing.T, do func(t *testing.T, h *house, s *sdk.ClientSession)) {
	for _, over := range transports {
		t.Run(over, func(t *testing.T) {
			h := newHouse(t, nil)
			do(t, h, h.client(t, over, nil))
		})
	}
}

func TestRunWasmReturnsAnAttestedResult(t *testing.T) {
	each(t, func(t *testing.T, h *house, s *sdk.ClientSession) {
		a := call(t, s, "run_wasm", wasm(example(t, "hello"), nil))
		if a.S["tier"] != "S2" || a.S["outcome"] != "Completed" || a.S["exit_code"] != 0.0 {
			t.Errorf("got %v", a.S)
		}
		if out := a.S["stdout"].(map[string]any); out["data"] != "hello from inside\n" || out["encoding"] != "utf-8" || out["dropped_bytes"] != 0.0 {
			t.Errorf("stdout: %v", out)
		}
		energy := a.S["energy"].(map[string]any)
		device := energy["devices"].([]any)[0].(map[string]any)
		if device["class"] != "Cpu" || device["provenance"] == "" || device["estimated_uj"] != energy["estimated_uj"] {
			t.Errorf("energy: %v", energy)
		}
		if a.S["verification"].(map[string]any)["verdict"] != "valid" {
			t.Errorf("verification: %v", a.S["verification"])
		}
		if size := len(a.raw(t)); size > 8<<10 {
			t.Errorf("the result weighs %d bytes, want it small", size)
		}
		checkBundle(t, h, s, a)
	})
}

func (a answer) raw(t testing.TB) []byte {
	t.Helper()
	b, err := json.Marshal(a.CallToolResult)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// checkBundle reads the whole record by its link, and holds it and the EAT against
// the summary as somebody else would.
func checkBundle(t *testing.T, h *house, s *sdk.ClientSession, a answer) {
	t.Helper()
	if a.link() == "" || a.link() != a.S["bundle"] {
		t.Fatalf("link %q, bundle %v", a.link(), a.S["bundle"])
	}
	r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: a.link()})
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Parse([]byte(r.Contents[0].Text))
	if err != nil {
		t.Fatal(err)
	}
	public, err := hex.DecodeString(a.S["verifying_keys"].([]any)[0].(map[string]any)["public_key"].(string))
	if err != nil {
		t.Fatal(err)
	}
	report := b.Verify(bundle.Options{Pinned: []bundle.Key{{Public: public}}})
	if report.Verdict != bundle.Valid || b.Statement().ID().String() != a.S["attestation_id"] || b.Receipt().ID().String() != a.S["receipt_id"] {
		t.Errorf("verdict %s of %s", report.Verdict, b.Statement().ID())
	}
	token := a.S["eat"].(map[string]any)
	if token["hex"] != hex.EncodeToString(b.EATToken()) || token["tier"] != "S2" || token["profile"] != "https://transaction.science/sandbox/eat/v1" {
		t.Errorf("eat: %v", token)
	}
	e := call(t, s, "verify_eat", map[string]any{"eat": token["hex"], "public_key": hex.EncodeToString(public)})
	if claims := e.S["claims"].(map[string]any); claims["attestation_id"] != a.S["attestation_id"] || claims["tier"] != "S2" {
		t.Errorf("claims: %v", e.S)
	}
	e = call(t, s, "verify_eat", map[string]any{"eat": base64.RawURLEncoding.EncodeToString(b.EATToken())})
	if e.S["status"] != "verified" {
		t.Errorf("under the trusted keys: %v", e.S)
	}
	v := call(t, s, "verify_bundle", map[string]any{"bundle": json.RawMessage(r.Contents[0].Text)})
	if v.S["verdict"] != "valid" || v.S["record"].(map[string]any)["receipt_id"] != a.S["receipt_id"] {
		t.Errorf("verify_bundle: %v", v.S)
	}
}

func TestAUnitThatFailsOrIsStoppedIsANormalResult(t *testing.T) {
	h := newHouse(t, nil)
	s := h.client(t, "stdio", nil)
	for _, c := range []struct {
		name, unit, outcome, breach string
		args                        map[string]any
	}{
		{"time", "spin", "Terminated", "cpu_time_ms", map[string]any{"cpu_time_ms": 50}},
		{"energy", "spin", "Terminated", "energy_budget_uj", map[string]any{"energy_budget_uj": 1000}},
		{"memory", "eater", "Terminated", "memory_bytes", map[string]any{"memory_bytes": 1 << 20}},
		{"exit code", "cat", "Failed", "", map[string]any{"args": []string{"/etc/passwd"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := call(t, s, "run_wasm", wasm(example(t, c.unit), c.args))
			breach, _ := a.S["breach"].(string)
			if a.IsError || a.S["outcome"] != c.outcome || breach != c.breach {
				t.Errorf("got %v %q (%v), want %s %q", a.S["outcome"], breach, a.IsError, c.outcome, c.breach)
			}
			if a.S["receipt_id"] == "" || a.link() == "" {
				t.Error("no record of it")
			}
		})
	}
}

func TestADeniedAccessNamesTheArgument(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a", []byte("poem"))
	write(t, dir+"/b", []byte("secret"))
	h := newHouse(t, policy(t, `{"grants":{"storage":{"read":["`+dir+`/**"]},"kv":{"read":true}}}`))
	s := h.client(t, "stdio", nil)
	args := wasm(example(t, "cat"), map[string]any{"args": []string{dir + "/a"}, "storage_read": []string{dir + "/a"}})
	if a := call(t, s, "run_wasm", args); a.S["stdout"].(map[string]any)["data"] != "poem" {
		t.Errorf("a granted file: %v", a.S)
	}
	args["args"] = []string{dir + "/b"}
	a := call(t, s, "run_wasm", args)
	if d := a.S["denials"].([]any)[0].(map[string]any); d["grant"] != "storage_read: "+dir+"/b" {
		t.Errorf("denials: %v", a.S["denials"])
	}
	if a.S["storage"].(map[string]any)["denied"] == 0.0 {
		t.Errorf("storage: %v", a.S["storage"])
	}
	a = call(t, s, "run_wasm", wasm(example(t, "counter"), nil))
	if d := a.S["denials"].([]any)[0].(map[string]any); d["grant"] != "kv_read: true" {
		t.Errorf("denials: %v", a.S["denials"])
	}
}

func TestWhatTheCallerCanMend(t *testing.T) {
	each(t, func(t *testing.T, h *house, s *sdk.ClientSession) {
		hello := base64.StdEncoding.EncodeToString(example(t, "hello"))
		for _, c := range []struct {
			name  string
			args  string
			words []string
		}{
			{"nothing", `{}`, []string{"wasm_base64"}},
			{"no base64", `{"wasm_base64":"%%"}`, []string{"wasm_base64", "base64"}},
			{"no module", `{"wasm_base64":"aGVsbG8="}`, []string{"module"}},
			{"text", `{"wat":"(module\n (func i32.ad))"}`, []string{"wat", "line 2, column 8", "i32.ad"}},
			{"two modules", `{"wat":"(module)","wasm_base64":"` + hello + `"}`, []string{"wasm_base64", "keep one"}},
			{"unknown", `{"wasm_base64":"` + hello + `","internet":true}`, []string{`"internet"`, "no such argument"}},
			{"another case", `{"wasm_base64":"` + hello + `","Clock":true}`, []string{`"Clock"`, "write clock"}},
			{"as the standard has it", `{"wasm_base64":"` + hello + `","storage.read":["/x"]}`, []string{"write storage_read"}},
			{"float", `{"wasm_base64":"` + hello + `","cpu_time_ms":1.5}`, []string{"cpu_time_ms", "1.5", "integer"}},
			{"exponent", `{"wasm_base64":"` + hello + `","cpu_time_ms":1e3}`, []string{"cpu_time_ms", "1e3"}},
			{"negative", `{"wasm_base64":"` + hello + `","memory_bytes":-1}`, []string{"memory_bytes", "-1"}},
			{"zero", `{"wasm_base64":"` + hello + `","memory_bytes":0}`, []string{"memory_bytes", "nothing could run"}},
			{"2^53+1", `{"wasm_base64":"` + hello + `","energy_budget_uj":9007199254740993}`, []string{"energy_budget_uj", "9007199254740993"}},
			{"text for a number", `{"wasm_base64":"` + hello + `","cpu_time_ms":"30s"}`, []string{"cpu_time_ms"}},
			{"glob escape", `{"wasm_base64":"` + hello + `","storage_read":["/data/../etc/*"]}`, []string{"storage_read[0]", ".."}},
			{"disk", `{"wasm_base64":"` + hello + `","storage_read":["/etc/**"]}`, []string{"storage_read[0]", "operator"}},
			{"network", `{"wasm_base64":"` + hello + `","network_outbound":["example.com:443"]}`, []string{"network_outbound[0]", "operator"}},
			{"more memory", `{"wasm_base64":"` + hello + `","memory_bytes":1099511627776}`, []string{"memory_bytes", "at most"}},
			{"exec", `{"wasm_base64":"` + hello + `","exec":true,"programs":["/bin/sh"]}`, []string{"exec", "operator"}},
			{"device", `{"wasm_base64":"` + hello + `","devices":["Gpu"]}`, []string{"devices", "Gpu"}},
			{"kv and half of it", `{"wasm_base64":"` + hello + `","kv":true,"kv_write":false}`, []string{"kv", "contradicts"}},
			{"two modules", `{"wasm_base64":"` + hello + `","path":"x"}`, []string{"path", "keep one"}},
			{"path", `{"path":"/etc/passwd"}`, []string{"path", "operator"}},
			{"entry", `{"wasm_base64":"` + hello + `","entry":"nope"}`, []string{"entry"}},
			{"challenge", `{"wasm_base64":"` + hello + `","challenge":"AA"}`, []string{"challenge"}},
			{"variable", `{"wasm_base64":"` + hello + `","env":{"A=B":"c"}}`, []string{"env"}},
			{"output", `{"wasm_base64":"` + hello + `","max_output_bytes":99999999}`, []string{"max_output_bytes"}},
			{"list", `[]`, []string{"object"}},
		} {
			a := call(t, s, "run_wasm", json.RawMessage(c.args))
			t.Run(c.name, func(t *testing.T) { mustRefuse(t, a, c.words...) })
		}
		if l := call(t, s, "list_runs", map[string]any{}); l.S["total"] != nil && l.S["total"] != 0.0 {
			t.Errorf("something ran: %v", l.S)
		}
	})
}

// All that is wrong is said at once.
func TestEveryMistakeAtOnce(t *testing.T) {
	s := newHouse(t, nil).client(t, "stdio", nil)
	a := call(t, s, "explain_grants", map[string]any{"clokc": true, "cpu_time_ms": 1.5, "storage_read": "x", "kv_prefixes": []any{1}})
	mustRefuse(t, a, "clokc", "cpu_time_ms", "storage_read", "kv_prefixes[0]")
}

func TestEveryGrantOfTheStandardIsAPlainArgument(t *testing.T) {
	h := newHouse(t, policy(t, `{"grants":{
		"compute":{"devices":["Simd"]},
		"storage":{"read":["/**"],"write":["/**"],"delete":["/**"],"max_iops":500,"max_read_bps":1000000},
		"network":{"outbound":["example.com:443"],"inbound":true},
		"kv":{"read":true,"write":true},
		"host":{"logging":true,"clock":true,"random":true,"inference":true},
		"process":{"exec":true,"programs":["/usr/bin/*"],"max_processes":4},
		"browser":{"enabled":true,"origins":["https://example.com"]},
		"display":{"enabled":true,"vnc":true,"max_width":800,"max_height":600}}}`))
	s := h.client(t, "stdio", nil)
	a := call(t, s, "explain_grants", map[string]any{
		"devices": []string{"Cpu", "Simd"}, "energy_budget_uj": 5, "cpu_time_ms": 6, "memory_bytes": 7,
		"storage_read": []string{"/data/**"}, "storage_write": []string{"/data/out"}, "storage_delete": []string{"/data/tmp/*"},
		"max_iops": 100, "max_read_bps": 200, "network_outbound": []string{"example.com:443"}, "network_inbound": true,
		"kv": true, "kv_prefixes": []string{"user/"}, "logging": true, "clock": true, "random": true, "inference": true,
		"exec": true, "programs": []string{"/usr/bin/env"}, "max_processes": 2,
		"deny_hashes": []string{"b3:rxNJufX5oaagQE3qNtzJSZvLJcmtwRK3zJqTyuQfMmI"},
		"browser":     true, "browser_origins": []string{"https://example.com"}, "browser_headless": true,
		"display": true, "display_vnc": true, "display_max_width": 640, "display_max_height": 480,
	})
	granted := map[string]bool{}
	for _, g := range a.S["granted"].([]any) {
		granted[g.(map[string]any)["grant"].(string)] = true
	}
	for _, want := range []string{"devices", "energy_budget_uj", "cpu_time_ms", "memory_bytes", "storage_read", "storage_write", "storage_delete", "max_iops",
		"max_read_bps", "network_outbound", "network_inbound", "kv_read", "kv_write", "logging", "clock", "random", "inference", "exec", "programs",
		"browser_origins", "display", "display_vnc"} {
		if !granted[want] {
			t.Errorf("%s was set and isn't granted: %v", want, granted)
		}
	}
	if a.S["runs_here"] != false || !strings.Contains(a.S["declined"].(string), "inference") {
		t.Errorf("a host without a mechanism: %v", a.S)
	}
}

func TestExplainGrantsRunsNothing(t *testing.T) {
	h := newHouse(t, nil)
	s := h.client(t, "stdio", nil)
	a := call(t, s, "explain_grants", map[string]any{"clock": true})
	if a.S["tier"] != "S2" || a.S["runs_here"] != true || !strings.Contains(a.text(0), "untrusted WASM") {
		t.Errorf("got %v", a.S)
	}
	for r, err := range h.store.Records(t.Context(), 0) {
		t.Errorf("a record: %v %v", r, err)
	}
}

func TestSeveralTenantsNeedCeilings(t *testing.T) {
	dir := t.TempDir()
	several := func(c *mcp.Config) {
		policy(t, `{"grants":{"storage":{"read":["`+dir+`/**"]}}}`)(c)
		c.MultiTenant, c.Ceilings = true, ceilings()
	}
	s := newHouse(t, several).client(t, "http", nil)
	args := wasm(example(t, "hello"), map[string]any{"storage_read": []string{dir + "/**"}})
	a := call(t, s, "run_wasm", args)
	mustRefuse(t, a, "S3", "max_iops")
	if a.S["tier"] != "S3" || len(a.S["reasons"].([]any)) < 2 {
		t.Errorf("got %v", a.S)
	}
	args["max_iops"], args["max_read_bps"] = 10, 1000
	if a := call(t, s, "run_wasm", args); a.S["outcome"] != "Completed" {
		t.Errorf("with ceilings: %v", a.S)
	}
}

func TestVerifyBundleSaysNothingOfWhatFails(t *testing.T) {
	s := newHouse(t, nil).client(t, "stdio", nil)
	a := call(t, s, "run_wasm", wasm(example(t, "hello"), nil))
	r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: a.link()})
	if err != nil {
		t.Fatal(err)
	}
	spoiled := strings.Replace(r.Contents[0].Text, `"exit_code":0`, `"exit_code":1`, 1)
	for name, c := range map[string]struct{ args map[string]any }{
		"changed": {map[string]any{"bundle": json.RawMessage(spoiled)}},
		"text":    {map[string]any{"bundle": spoiled}},
		"garbage": {map[string]any{"bundle": "no bundle"}},
	} {
		v := call(t, s, "verify_bundle", c.args)
		if v.S["verdict"] != "invalid" || v.S["record"] != nil || len(v.S["failed"].([]any)) == 0 {
			t.Errorf("%s: %v", name, v.S)
		}
	}
	stranger := strings.Repeat("39", 32)
	v := call(t, s, "verify_bundle", map[string]any{"bundle": json.RawMessage(r.Contents[0].Text), "public_keys": []string{stranger}})
	if v.S["verdict"] == "valid" || v.S["record"] != nil {
		t.Errorf("a key that nobody trusts: %v", v.S)
	}
	v = call(t, s, "verify_bundle", map[string]any{"bundle": json.RawMessage(r.Contents[0].Text), "challenge": "AAECAwQFBgc"})
	if v.S["verdict"] != "invalid" {
		t.Errorf("another's challenge: %v", v.S)
	}
	mustRefuse(t, call(t, s, "verify_bundle", map[string]any{}), "bundle")
}

func TestVerifyEATReturnsNoClaimsOfWhatFails(t *testing.T) {
	s := newHouse(t, nil).client(t, "stdio", nil)
	a := call(t, s, "run_wasm", wasm(example(t, "hello"), nil))
	good := a.S["eat"].(map[string]any)["hex"].(string)
	key := a.S["verifying_keys"].([]any)[0].(map[string]any)["public_key"].(string)
	last := good[len(good)-1:]
	flipped := good[:len(good)-1] + map[bool]string{true: "1", false: "0"}[last == "0"]
	for name, args := range map[string]map[string]any{
		"garbage":       {"eat": "zz", "public_key": "00"},
		"nothing":       {},
		"a bit flipped": {"eat": flipped, "public_key": key},
		"another key":   {"eat": good, "public_key": strings.Repeat("39", 32)},
		"zero key":      {"eat": good, "public_key": strings.Repeat("00", 32)},
	} {
		v := call(t, s, "verify_eat", args)
		t.Run(name, func(t *testing.T) { mustRefuse(t, v) })
	}
}

func TestChallengeIsBoundIntoTheRecord(t *testing.T) {
	s := newHouse(t, nil).client(t, "stdio", nil)
	a := call(t, s, "run_wasm", wasm(example(t, "hello"), map[string]any{"challenge": "AAECAwQFBgc"}))
	r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: a.link()})
	if err != nil {
		t.Fatal(err)
	}
	v := call(t, s, "verify_bundle", map[string]any{"bundle": json.RawMessage(r.Contents[0].Text), "challenge": "AAECAwQFBgc"})
	if v.S["verdict"] != "valid" {
		t.Errorf("got %v", v.S)
	}
}

func TestRunCodeSaysWhatIsMissing(t *testing.T) {
	s := newHouse(t, nil).client(t, "stdio", nil)
	mustRefuse(t, call(t, s, "run_code", map[string]any{"language": "python", "source": "print(1)"}), "python", "joulebox lang")
	mustRefuse(t, call(t, s, "run_code", map[string]any{"language": "cobol", "source": ""}), "cobol", "python")
	mustRefuse(t, call(t, s, "run_code", map[string]any{}), "language", "source")
}

// A program that shows its file stands for an interpreter: what it shows is the
// source, which is part of the image that the record covers.
func TestRunCode(t *testing.T) {
	store := lang.Open(t.TempDir())
	source, err := lang.FileSource("../../examples/cat/cat.wasm", nil, []string{".py"})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	if _, err := store.Add(t.Context(), "python", source); err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, func(c *mcp.Config) { c.Languages = store })
	s := h.client(t, "stdio", nil)
	a := call(t, s, "run_code", map[string]any{"language": "python", "source": "print('ein Würfel 🎲')\n"})
	if a.S["outcome"] != "Completed" || a.S["tier"] != "S2" || a.S["stdout"].(map[string]any)["data"] != "print('ein Würfel 🎲')\n" {
		t.Errorf("got %v", a.S)
	}
	b := call(t, s, "run_code", map[string]any{"language": "python", "source": "print('another')\n"})
	if a.S["image_id"] == b.S["image_id"] {
		t.Error("two sources are one image")
	}
	checkBundle(t, h, s, a)
	mustRefuse(t, call(t, s, "run_code", map[string]any{"language": "shell", "source": "echo 1"}), "shell", "joulebox lang add")
	mustRefuse(t, call(t, s, "run_code", map[string]any{"language": "python", "source": "x", "storage_read": []string{"/etc/**"}}), "storage_read[0]")
}

// TestRunCodeOnTheHostsOwn: what no kept language runs, the host's own program does,
// as a native unit at S3.
func TestRunCodeOnTheHostsOwn(t *testing.T) {
	if x, ok := host.S3().(host.Unavailable); !ok || x.Unavailable() != nil {
		t.Skip("no partition can be built here")
	}
	h := newHouse(t, func(c *mcp.Config) { c.Native = true })
	s := h.client(t, "stdio", nil)
	a := call(t, s, "run_code", map[string]any{"language": "shell", "source": "read x; echo $1 $x; cat /etc/shadow; ls", "args": []string{"arg"}, "stdin": "in"})
	if a.S["outcome"] != "Failed" || a.S["tier"] != "S3" || a.S["stdout"].(map[string]any)["data"] != "arg in\n" {
		t.Errorf("got %v", a.S)
	}
	if a.S["denials"].([]any)[0].(map[string]any)["grant"] != "exec: true" {
		t.Errorf("denials: %v", a.S["denials"])
	}
	r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: a.link()})
	if err != nil {
		t.Fatal(err)
	}
	if v := call(t, s, "verify_bundle", map[string]any{"bundle": json.RawMessage(r.Contents[0].Text)}); v.S["verdict"] != "valid" {
		t.Errorf("got %v", v.S)
	}
	b := call(t, s, "run_code", map[string]any{"language": "shell", "source": "echo another"})
	if a.S["unit_id"] == b.S["unit_id"] {
		t.Error("two sources are one unit")
	}
	mustRefuse(t, call(t, s, "run_code", map[string]any{"language": "shell", "source": strings.Repeat("#", 1<<17)}), "source", "131071")
	mustRefuse(t, call(t, s, "run_code", map[string]any{"language": "shell", "source": "ls", "exec": true, "programs": []string{"/usr/bin/ls"}}), "exec", "operator")
}

func TestModuleByPath(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/in/hello.wasm", example(t, "hello"))
	write(t, dir+"/out.wasm", example(t, "hello"))
	link(t, "../out.wasm", dir+"/in/link.wasm")
	s := newHouse(t, policy(t, `{"modules":["`+dir+`/in"]}`)).client(t, "stdio", nil)
	for _, path := range []string{"hello.wasm", dir + "/in/hello.wasm"} {
		if a := call(t, s, "run_wasm", map[string]any{"path": path}); a.S["outcome"] != "Completed" {
			t.Errorf("%s: %v", path, a.S)
		}
	}
	for _, path := range []string{"../out.wasm", "link.wasm", dir + "/out.wasm", "nope.wasm", ".", "/etc/passwd"} {
		mustRefuse(t, call(t, s, "run_wasm", map[string]any{"path": path}), "no module at")
	}
}

func TestStreamsAndVariables(t *testing.T) {
	s := newHouse(t, nil).client(t, "stdio", nil)
	for _, c := range []struct {
		args       map[string]any
		data, code string
	}{
		{map[string]any{"stdin": "ein Würfel 🎲"}, "ein Würfel 🎲", "utf-8"},
		{map[string]any{"stdin_base64": "/wAB"}, "/wAB", "base64"},
		{map[string]any{"stdin": ""}, "", "utf-8"},
	} {
		a := call(t, s, "run_wasm", wasm(example(t, "cat"), c.args))
		out := a.S["stdout"].(map[string]any)
		if out["data"] != c.data || out["encoding"] != c.code {
			t.Errorf("%v: %v", c.args, a.S)
		}
	}
	long := bytes.Repeat([]byte("0123456789"), 10_000)
	a := call(t, s, "run_wasm", wasm(example(t, "cat"), map[string]any{"stdin": string(long), "max_output_bytes": 100}))
	out := a.S["stdout"].(map[string]any)
	if out["bytes"] != 100_000.0 || out["dropped_bytes"] != 99_900.0 || !strings.HasSuffix(out["tail"].(string), "789") || !strings.Contains(a.text(1), "dropped") {
		t.Errorf("a long output: %v", out)
	}
}
