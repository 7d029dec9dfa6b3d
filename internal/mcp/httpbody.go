package mcp

import (
	"bytes"
	"crypto/rand"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// readBody reads a whole request within its time and size; status is zero when it
// could.
func readBody(w *answers, r *http.Request) (body []byte, status int, text string) {
	_ = w.control.SetReadDeadline(time.Now().Add(readTime))
	body, err := io.ReadAll(http.MaxBytesReader(w.w, r.Body, maxMessage))
	// The stream of answers may go on for long; reading for it has no deadline.
	_ = w.control.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, http.StatusRequestEntityTooLarge, "the message is longer than the limit"
	case err != nil:
		return nil, http.StatusBadRequest, "the message didn't arrive whole"
	}
	return body, 0, ""
}

func replaceBody(r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
}

// answers writes what the SDK says, one message at a time, with errors scrubbed
// and ids as they were asked.
type answers struct {
	w       http.ResponseWriter
	control *http.ResponseController
	from    []byte // an id's stand-in, quoted, if it needed one
	to      []byte
}

func (a *answers) Header() http.Header    { return a.w.Header() }
func (a *answers) WriteHeader(status int) { a.w.WriteHeader(status) }
func (a *answers) Unwrap() http.ResponseWriter {
	return a.w
}

// refuse answers a message that the SDK never sees.
func (a *answers) refuse(status int, id jsontext.Value, e *jsonrpc.Error) {
	a.Header().Set("Content-Type", "application/json")
	a.Header().Set("X-Content-Type-Options", "nosniff")
	a.WriteHeader(status)
	_, _ = a.w.Write(errorMessage(id, e))
}

// Write takes whole messages, as the SDK writes them: one JSON text, or one event.
// A reader that stalls is given up on.
func (a *answers) Write(p []byte) (int, error) {
	_ = a.control.SetWriteDeadline(time.Now().Add(writeTime))
	kind := a.Header().Get("Content-Type")
	clean := p
	switch {
	case strings.HasPrefix(kind, "application/json"):
		clean = a.clean(p)
	case strings.HasPrefix(kind, "text/event-stream"):
		clean = a.cleanEvent(p)
	}
	if _, err := a.w.Write(clean); err != nil {
		return 0, err
	}
	return len(p), nil
}

var dataField = []byte("data: ")

func (a *answers) cleanEvent(p []byte) []byte {
	if a.from == nil && !bytes.Contains(p, []byte(`"error":`)) {
		return p
	}
	var out []byte
	for line := range bytes.Lines(p) {
		if message, ok := bytes.CutPrefix(line, dataField); ok {
			line = append(append(append([]byte(nil), dataField...), a.clean(bytes.TrimRight(message, "\n"))...), '\n')
		}
		out = append(out, line...)
	}
	return out
}

// clean scrubs one message; what isn't an error is left as it is, but for its id.
func (a *answers) clean(p []byte) []byte {
	if a.from != nil {
		p = bytes.Replace(p, a.from, a.to, 1)
	}
	if !bytes.Contains(p, []byte(`"error":`)) {
		return p
	}
	var e struct {
		ID     jsontext.Value `json:"id"`
		Result jsontext.Value `json:"result"`
		Error  *struct {
			Code    int64          `json:"code"`
			Message string         `json:"message"`
			Data    jsontext.Value `json:"data"`
		} `json:"error"`
	}
	if json.Unmarshal(p, &e, jsontext.AllowDuplicateNames(true)) != nil || e.Error == nil || e.Result != nil {
		return p
	}
	clean := scrub(e.Error.Code, e.Error.Message)
	clean.Data = rawJSON(e.Error.Data)
	return errorMessage(e.ID, clean)
}

// standIn begins what stands for an id that the SDK would harm: unguessable, so
// that no client's own id is taken for one, and the same for the same id, so that
// a cancellation finds it.
var standIn = sync.OnceValue(func() string { return "joulebox-" + rand.Text() + "-" })

// rename puts a stand-in where an id, or the id that a cancellation names, has more
// digits than the SDK keeps.
func (a *answers) rename(m message, body []byte) []byte {
	params := m.params
	if m.method == "notifications/cancelled" {
		params = renameCancelled(params)
	}
	id := m.id
	if id != nil && id.Kind() == '0' {
		if _, ok := plainID(id); !ok {
			a.to, a.from = id, []byte(quoted(standIn()+string(id)))
			id = a.from
		}
	}
	if a.from == nil && len(params) == len(m.params) {
		return body
	}
	out := []byte(`{"jsonrpc":"2.0","method":` + quoted(m.method))
	if id != nil {
		out = append(append(out, `,"id":`...), id...)
	}
	if params != nil {
		out = append(append(out, `,"params":`...), params...)
	}
	return append(out, '}')
}

func renameCancelled(params jsontext.Value) jsontext.Value {
	var p map[string]jsontext.Value
	if json.Unmarshal(params, &p) != nil {
		return params
	}
	id := p["requestId"]
	if id.Kind() != '0' || !validID(id) {
		return params
	}
	if _, ok := plainID(id); ok {
		return params
	}
	p["requestId"] = jsontext.Value(quoted(standIn() + string(id)))
	out, err := json.Marshal(p)
	if err != nil {
		return params
	}
	return out
}
