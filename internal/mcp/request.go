package mcp

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/supervisor"
	"github.com/joulebox/joulebox/unit"
)

// asked is what one call wants run: the request that the unit id covers, and what
// is handed to the run beside it.
type asked struct {
	request supervisor.Request
	handed  host.BrokerConfig
	output  int // bytes of each stream that the result may hold
}

// runArguments are what both run tools take beside the grants.
var runArguments = []string{"args", "env", "stdin", "stdin_base64", "sensitive", "challenge", "max_output_bytes"}

func grantNames() []string {
	names := make([]string, len(grantFields))
	for i, f := range grantFields {
		names[i] = f.name
	}
	return names
}

// grants reads the grants that a call asks for, checked against the policy.
func (s *Server) grants(a *arguments) (set grant.Set, err error) {
	given := map[string]jsontext.Value{}
	for _, f := range grantFields {
		a.readField(f)
		if a.has(f.name) {
			given[f.name] = a.values[f.name]
		}
	}
	a.readKV(given)
	if err := a.err(); err != nil {
		return set, err
	}
	set, err = grant.ParseHuman(nested(given), s.config.Policy.budgets())
	if err != nil {
		return set, grantErrors(err)
	}
	if err := s.config.Policy.limit(set); err != nil {
		return set, err
	}
	s.config.Policy.fill(&set)
	return set, nil
}

// readField only checks what the argument is; what it says is grant's to read.
func (a *arguments) readField(f field) {
	switch f.kind {
	case flagKind:
		a.flag(f.name)
	case numberKind:
		a.number(f.name, grant.MaxInteger)
	case textsKind:
		a.texts(f.name)
	}
}

// readKV spells kv out as its two directions.
func (a *arguments) readKV(given map[string]jsontext.Value) {
	if !a.has("kv") {
		return
	}
	for _, dir := range []string{"kv_read", "kv_write"} {
		if v, set := given[dir]; set && string(v) != string(a.values["kv"]) {
			a.fail("kv", "contradicts %s; kv stands for both directions, so set one or the other", dir)
		}
		given[dir] = a.values["kv"]
	}
}

// grantErrors names arguments where grant names members; the place in the text is
// that of a text of ours.
func grantErrors(err error) error {
	var list grant.Errors
	if !errors.As(err, &list) {
		return refuse("", "%s", asArguments.Replace(err.Error()))
	}
	lines := make([]string, len(list))
	for i, e := range list {
		lines[i] = asArguments.Replace(e.Field) + ": " + asArguments.Replace(e.Msg)
	}
	return &refused{Message: strings.Join(lines, "\n")}
}

// asked reads everything of a run but the program.
func (s *Server) asked(a *arguments) (r asked, err error) {
	r.output = s.outputCap(a)
	r.handed = host.BrokerConfig{
		Env:    a.variables("env"),
		Stdin:  a.stdin(),
		Mounts: s.config.Policy.Mounts,
		Hidden: s.config.Hidden,
	}
	r.request.Entrypoint = append([]string{""}, a.texts("args")...)
	if a.flag("sensitive") {
		r.request.Placement.Contention = unit.Sensitive
	}
	r.request.Challenge = a.challenge()
	if r.request.Grants, err = s.grants(a); err != nil {
		return r, err
	}
	return r, a.err()
}

func (s *Server) outputCap(a *arguments) int {
	if !a.has("max_output_bytes") {
		return min(defaultOutput, s.config.Policy.Output)
	}
	return int(a.number("max_output_bytes", uint64(s.config.Policy.Output)))
}

func (a *arguments) challenge() []byte {
	text := a.text("challenge")
	if text == "" {
		return nil
	}
	c, err := unit.ParseChallenge(text)
	if err != nil {
		a.fail("challenge", "%v", err)
	}
	return c
}

func (a *arguments) stdin() io.Reader {
	if a.has("stdin") && a.has("stdin_base64") {
		a.fail("stdin", "is there twice; keep stdin or stdin_base64")
	}
	if b := a.bytes("stdin_base64"); b != nil {
		return bytes.NewReader(b)
	}
	return strings.NewReader(a.text("stdin"))
}

func (a *arguments) bytes(name string) []byte {
	text := a.text(name)
	if text == "" {
		return nil
	}
	b, err := unbase64(text)
	if err != nil {
		a.fail(name, "want base64")
	}
	return b
}

// wasmArguments are those of run_wasm, in the order of its schema.
func (s *Server) wasmArguments() []string {
	return slices.Concat([]string{"wat", "wasm_base64", "path", "entry"}, runArguments, grantNames(), s.sessionArguments())
}

// wasm reads a call of run_wasm.
func (s *Server) wasm(a *arguments) (r asked, err error) {
	image, err := s.module(a)
	if err != nil {
		return r, err
	}
	entry := a.text("entry")
	if entry == "" {
		entry = host.DefaultEntry(image)
	}
	if r, err = s.asked(a); err != nil {
		return r, err
	}
	r.request.Image = image
	r.request.Entrypoint[0] = entry
	return r, nil
}
