package mcp

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// message is one JSON-RPC message as it came, before anything acts on it.
type message struct {
	id     jsontext.Value // a string or an integer as it was written; nil when absent
	method string         // empty for a response
	params jsontext.Value // an object; nil when absent or null
}

// Bounds of a message. Nothing that a tool takes is nested deeper.
const (
	maxMessage = 24 << 20
	maxDepth   = 128
)

// parseMessage reads one message strictly: member names exactly as they are
// written, each once, valid UTF-8, and nothing after it. The error is what the
// sender is answered, with no id, since none could be trusted; nil with an empty
// message is a response, which nobody here waits for.
func parseMessage(src []byte) (m message, _ *jsonrpc.Error) {
	d := jsontext.NewDecoder(bytes.NewReader(src))
	switch kind := d.PeekKind(); {
	case kind == '[':
		return m, listError(d)
	case kind != '{':
		if _, err := d.ReadValue(); err != nil {
			return m, syntaxError(err)
		}
		return m, invalidRequest("want an object")
	}
	members, err := readMembers(d)
	if err != nil {
		return m, syntaxError(err)
	}
	return members.message()
}

// listError answers batches, which the protocol has none of since 2025-06-18.
func listError(d *jsontext.Decoder) *jsonrpc.Error {
	if _, err := d.ReadValue(); err != nil {
		return syntaxError(err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "parse error: want one message and nothing after it"}
	}
	return invalidRequest("batches aren't part of the protocol; send each message by itself")
}

// envelope is the members that JSON-RPC knows.
type envelope map[string]jsontext.Value

var errTrailing = errors.New("want one message and nothing after it")
var errTooDeep = errors.New("nested too deep")

func readMembers(d *jsontext.Decoder) (envelope, error) {
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	e := envelope{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		if deeper(v, maxDepth) {
			return nil, errTooDeep
		}
		switch key {
		case "jsonrpc", "id", "method", "params", "result", "error":
			e[key] = v.Clone()
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return e, nil
}

// deeper reports that valid JSON is nested deeper than a bound.
func deeper(v jsontext.Value, most int) bool {
	depth, text := 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case text:
			if c == '\\' {
				i++
			} else if c == '"' {
				text = false
			}
		case c == '"':
			text = true
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

func (e envelope) message() (m message, _ *jsonrpc.Error) {
	var version string
	if v := e["jsonrpc"]; v.Kind() != '"' || json.Unmarshal(v, &version) != nil || version != "2.0" {
		return m, invalidRequest(`jsonrpc: want "2.0"`)
	}
	method, asks := e["method"]
	if !asks {
		return m, e.response()
	}
	if method.Kind() != '"' || json.Unmarshal(method, &m.method) != nil || m.method == "" {
		return m, invalidRequest("method: want a name")
	}
	if e["result"] != nil || e["error"] != nil {
		return m, invalidRequest("got a method beside a result or an error, want one of them")
	}
	if id, ok := e["id"]; ok {
		if !validID(id) {
			return m, invalidRequest("id: want a string or an integer")
		}
		m.id = id
	}
	switch params := e["params"]; {
	case params == nil || params.Kind() == 'n':
	case params.Kind() != '{':
		return m, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: want an object"}
	default:
		m.params = params
	}
	return m, nil
}

// response is nothing to act on if it is well formed: this server asks nothing.
func (e envelope) response() *jsonrpc.Error {
	if id, ok := e["id"]; ok && (validID(id) || id.Kind() == 'n') && (e["result"] != nil) != (e["error"] != nil) {
		return nil
	}
	return invalidRequest("got neither a method nor a response")
}

// validID: the protocol narrows JSON-RPC's ids to strings and integers. However
// large, an integer's digits are kept as they are.
func validID(id jsontext.Value) bool {
	if id.Kind() == '"' {
		return len(id) <= 1<<10
	}
	return id.Kind() == '0' && len(id) <= 64 && !bytes.ContainsAny(id, ".eE")
}

func invalidRequest(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "invalid request: " + fmt.Sprintf(format, args...)}
}

// syntaxError tells what is no JSON from JSON that is no message.
func syntaxError(err error) *jsonrpc.Error {
	var at *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &at):
		return invalidRequest("%s is there twice; keep one", clip(string(at.JSONPointer)))
	case errors.Is(err, errTooDeep):
		return invalidRequest("nested deeper than %d", maxDepth)
	case errors.As(err, &at):
		return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: fmt.Sprintf("parse error: no valid JSON at byte %d", at.ByteOffset)}
	}
	text := "no valid JSON"
	if errors.Is(err, errTrailing) {
		text = errTrailing.Error()
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "parse error: " + text}
}

// errorMessage is an error as it goes out; id is nil where none could be read.
func errorMessage(id jsontext.Value, e *jsonrpc.Error) []byte {
	if id == nil {
		id = jsontext.Value("null")
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = fmt.Appendf(b, `,"error":{"code":%d,"message":%s`, e.Code, quoted(e.Message))
	if len(e.Data) > 0 {
		b = append(append(b, `,"data":`...), e.Data...)
	}
	return append(b, "}}"...)
}
