package mcp

import (
	"encoding/json/v2"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox"
)

// energyText names the provenance of each figure: an estimate must never pass for
// a measurement.
func (e energy) text() string {
	parts := make([]string, len(e.Devices))
	for i, d := range e.Devices {
		figure, word := d.EstimatedUJ, "estimated"
		if d.MeasuredUJ != nil {
			figure, word = *d.MeasuredUJ, "measured"
		}
		parts[i] = fmt.Sprintf("%s %s %s (%s)", d.Class, microjoules(figure), word, d.Provenance)
	}
	return strings.Join(parts, " + ")
}

func microjoules(uj joulebox.Microjoules) string {
	if uj < 10_000 {
		return fmt.Sprintf("%d µJ", uj)
	}
	return fmt.Sprintf("%d.%03d J", uj/1_000_000, uj/1000%1000)
}

// outcomeText is the outcome and what it leaves open.
func (r record) outcomeText(detail string) string {
	switch {
	case r.Breach != "":
		return "Terminated: " + r.Breach + " reached"
	case r.ExitCode != nil && *r.ExitCode != 0:
		return fmt.Sprintf("%s (exit code %d)", r.Outcome, *r.ExitCode)
	case r.Signal != 0:
		return fmt.Sprintf("%s (signal %d)", r.Outcome, r.Signal)
	case detail != "":
		return fmt.Sprintf("%s (%s)", r.Outcome, detail)
	case r.Cause != "":
		return fmt.Sprintf("%s (%s)", r.Outcome, r.Cause)
	}
	return r.Outcome
}

// text is the record for a reader: a few lines, without what only a verifier needs.
func (r record) text(detail string) string {
	s := r.Storage
	return fmt.Sprintf("%s at tier %s; energy %s\nstorage: %d reads (%d B), %d writes (%d B), %d denied\nreceipt %s\nattestation %s\nsigned by %s; receipt, attestation and EAT verified: %s",
		r.outcomeText(detail), r.Tier, r.Energy.text(),
		s.Reads, s.ReadBytes, s.Writes, s.WrittenBytes, s.Denied,
		r.Receipt, r.ID, r.Keys[0].PublicKey, r.Verified.Verdict)
}

// text is a stream for a reader. It is a block of its own, so that nothing that a
// unit writes can pass for something that this server says.
func (s stream) text(name string) string {
	head := name
	if s.Encoding == encodingBase64 {
		head += ", base64"
	}
	if s.Dropped == 0 {
		return head + ":\n" + s.Data
	}
	return fmt.Sprintf("%s, %d of %d bytes dropped:\n%s\n[… %d bytes dropped …]\n%s", head, s.Dropped, s.Bytes, s.Data, s.Dropped, s.Tail)
}

// answer is a tool's result: what a program reads and what a person does.
func answer(structured any, content ...sdk.Content) (*sdk.CallToolResult, error) {
	b, err := json.Marshal(structured, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{StructuredContent: rawJSON(b), Content: content}, nil
}

func block(format string, args ...any) sdk.Content {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	return &sdk.TextContent{Text: format}
}

// refusal is the structured side of a refused.
type refusal struct {
	Status  string   `json:"status"`
	Error   string   `json:"error"`
	Hint    string   `json:"hint,omitzero"`
	Tier    string   `json:"tier,omitzero"`
	Reasons []reason `json:"reasons,omitempty"`
}

// result is what the caller gets to mend.
func (e *refused) result() (*sdk.CallToolResult, error) {
	text := e.Message
	if e.Hint != "" {
		text += "\nhint: " + e.Hint
	}
	r, err := answer(refusal{"refused", e.Message, e.Hint, e.Tier, e.Reasons}, block("%s", text))
	if err == nil {
		r.IsError = true
	}
	return r, err
}
