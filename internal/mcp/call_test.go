package mcp_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/wat"
)

// answer is a tool's result with its structured side read.
type answer struct {
	*sdk.CallToolResult
	S map[string]any
}

func (a answer) text(i int) string {
	if c, ok := a.Content[i].(*sdk.TextContent); ok {
		return c.Text
	}
	return ""
}

func (a answer) link() string {
	for _, c := range a.Content {
		if l, ok := c.(*sdk.ResourceLink); ok {
			return l.URI
		}
	}
	return ""
}

// call calls a tool, and holds what comes back against the tool's own schema.
func call(t testing.TB, s *sdk.ClientSession, name string, args any) answer {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return checkAnswer(t, s, name, r)
}

func checkAnswer(t testing.TB, s *sdk.ClientSession, name string, r *sdk.CallToolResult) answer {
	t.Helper()
	b, err := json.Marshal(r.StructuredContent)
	if err != nil || r.StructuredContent == nil {
		t.Fatalf("%s: no structured content (%v)", name, err)
	}
	a := answer{CallToolResult: r}
	if err := json.Unmarshal(b, &a.S); err != nil {
		t.Fatal(err)
	}
	if err := outputSchema(t, s, name).Validate(a.S); err != nil {
		t.Fatalf("%s: not under its outputSchema: %v\n%s", name, err, b)
	}
	if r.IsError != (a.S["status"] == "refused") {
		t.Errorf("%s: isError %v with status %v", name, r.IsError, a.S["status"])
	}
	return a
}

func outputSchema(t testing.TB, s *sdk.ClientSession, name string) *jsonschema.Resolved {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if tool.Name == name {
			b, _ := json.Marshal(tool.OutputSchema)
			var schema jsonschema.Schema
			if err := json.Unmarshal(b, &schema); err != nil {
				t.Fatal(err)
			}
			r, err := schema.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func wasm(b []byte, more map[string]any) map[string]any {
	m := map[string]any{"wasm_base64": base64.StdEncoding.EncodeToString(b)}
	for k, v := range more {
		m[k] = v
	}
	return m
}

func mustRefuse(t testing.TB, a answer, words ...string) {
	t.Helper()
	if !a.IsError {
		t.Errorf("not refused: %v", a.S)
		return
	}
	for _, w := range words {
		if !strings.Contains(a.text(0), w) {
			t.Errorf("got %q, want %q in it", a.text(0), w)
		}
	}
	for _, member := range []string{"receipt_id", "attestation_id", "stdout", "claims", "record"} {
		if a.S[member] != nil {
			t.Errorf("refused, and still there is a %s", member)
		}
	}
}

// TestText: a module in text runs, and is the image that its bytes are.
func TestText(t *testing.T) {
	each(t, func(t *testing.T, _ *house, s *sdk.ClientSession) {
		const text = `(module (func $answer (export "run") (result i32) (i32.const 42)))`
		module, err := wat.Assemble([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		a := call(t, s, "run_wasm", map[string]any{"wat": text})
		if a.S["exit_code"] != 42.0 || a.S["image_id"] != joulebox.Sum(module).String() {
			t.Errorf("got exit code %v, image %v", a.S["exit_code"], a.S["image_id"])
		}
	})
}
