package mcp

import (
	"context"
	"encoding/json/jsontext"
	"log/slog"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// call is one tool call under way.
type call struct {
	req     *sdk.CallToolRequest
	args    *arguments
	session *session // nil where the call named none and has made none yet
	log     *slog.Logger
}

// tool is what a client may call.
type tool struct {
	name, title, about string
	input, output      jsontext.Value
	known              []string // its arguments
	runs               bool     // it runs a unit; the others only look
	do                 func(context.Context, *call) (*sdk.CallToolResult, error)
}

const (
	aboutRunWasm = `Run a WebAssembly unit in the sandbox: a module that exports run: () -> i32, or a WASI command. ` +
		`Every grant is off until it is set. Returns its output with a signed record: tier, outcome, energy per device and how it is known, ids, EAT. ` +
		`A unit that fails or reaches a budget is a normal result.`
	aboutRunCode = `Run source code in the sandbox. Grants, result and record are those of run_wasm.`
	aboutExplain = `Say what a request amounts to without running it: the tier that it requires and why, what is granted and denied, and whether this host would run it.`
	aboutEAT     = `Verify an entity attestation token of a run under a public key, and return the claims. Nothing is returned of a token that doesn't verify.`
	aboutBundle  = `Verify a run's whole record offline: every id recomputed, three signatures by one key, the tier that the request requires. Names what fails and what is missing.`
	aboutList    = `List the runs of this session, newest first.`
	aboutGet     = `Show the record of a run of this session again, read from disk and verified anew. What the unit wrote isn't kept, only its addresses.`
)

func (s *Server) tools() []tool {
	tools := []tool{
		{"run_wasm", "Run a WebAssembly unit", aboutRunWasm, s.wasmSchema(), s.runOutput(), s.wasmArguments(), true, s.runWasm},
		{"run_code", "Run source code", aboutRunCode, s.codeSchema(), s.runOutput(), s.codeArguments(), true, s.runCode},
		{"explain_grants", "Explain grants", aboutExplain, s.explainSchema(), explainOutput(), explainArguments(), false, s.explain},
		{"verify_eat", "Verify an EAT", aboutEAT, eatInput(), eatOutput(), []string{"eat", "public_key"}, false, s.verifyEAT},
		{"verify_bundle", "Verify a record", aboutBundle, bundleInput(), bundleOutput(), []string{"bundle", "public_keys", "challenge", "multi_tenant"}, false, s.verifyBundle},
		{"list_runs", "List runs", aboutList, s.listSchema(), s.listOutput(), append([]string{"limit"}, s.sessionArguments()...), false, s.listRuns},
		{"get_run", "Show a run", aboutGet, s.getSchema(), s.getOutput(), append([]string{"run", "include_bundle"}, s.sessionArguments()...), false, s.getRun},
	}
	return tools
}

func (s *Server) addTools(server *sdk.Server) {
	no, open := false, s.config.Policy.opensWorld()
	for _, t := range s.tools() {
		hints := &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no}
		if t.runs {
			changes := s.config.Policy.changesWorld()
			hints = &sdk.ToolAnnotations{DestructiveHint: &changes, OpenWorldHint: &open}
		}
		hints.Title = t.title
		server.AddTool(&sdk.Tool{
			Name: t.name, Title: t.title, Description: t.about,
			InputSchema: rawJSON(t.input), OutputSchema: rawJSON(t.output), Annotations: hints,
		}, s.handler(t))
	}
}

// opensWorld reports that some call could reach beyond this host.
func (p Policy) opensWorld() bool {
	return len(p.Max.Network.Outbound) > 0 || p.Max.Network.Inbound || p.Max.Browser.Enabled || p.Max.Process.Exec
}

// changesWorld reports that some call could change what was there before it.
func (p Policy) changesWorld() bool {
	return len(p.Max.Storage.Write)+len(p.Max.Storage.Delete) > 0 || p.opensWorld()
}

// handler reads a call, has it done, and turns errors into what each is for.
func (s *Server) handler(t tool) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		c := &call{req: req, args: readArguments(req.Params.Arguments, t.known), log: s.config.Log.With(traced(req.Params.Meta)...)}
		ctx, done := s.until(ctx, req.Extra)
		defer done()
		result, err := s.findSession(c, t)
		if err == nil {
			result, err = t.do(ctx, c)
		}
		if err == nil {
			return result, nil
		}
		if r, ok := asRefused(err); ok {
			c.log.Info("refused", "tool", t.name, "error", r.Message)
			return r.result()
		}
		return nil, s.internal(c.log, t.name, err)
	}
}
