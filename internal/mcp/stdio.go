package mcp

import (
	"bufio"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// What happens after standard input ends: calls under way have a moment to be
// answered, for clients that write and hang up; then they are cancelled; and
// whatever isn't done by then, ServeStdio returns.
const (
	graceAnswers = 400 * time.Millisecond
	graceEnd     = 700 * time.Millisecond
)

// maxInFlight bounds the calls of one connection.
const maxInFlight = 1024

// ServeStdio serves one client over newline-delimited JSON until its input ends or
// ctx does. Nothing but messages goes to out.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	c := newLines(in, out)
	session, err := s.sdk().Connect(context.WithoutCancel(ctx), lineTransport{c}, nil)
	if err != nil {
		return err
	}
	go c.read()
	done := make(chan error, 1)
	go func() { done <- session.Wait() }()
	var deadline <-chan time.Time
	ended := c.ended
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			s.stop()
			_ = c.Close()
			ctx = context.WithoutCancel(ctx)
			deadline = time.After(graceAnswers)
		case <-ended:
			ended, deadline = nil, time.After(graceEnd)
		case <-deadline:
			return errors.New("mcp: calls were still under way when the client was gone")
		}
	}
}

type lineTransport struct{ c *lines }

func (t lineTransport) Connect(context.Context) (sdk.Connection, error) { return t.c, nil }

// lines is a connection of one JSON message a line. A line that is no message is
// answered here and the connection goes on; the SDK's own would end.
type lines struct {
	in  *bufio.Reader
	ids ids

	write sync.Mutex
	out   io.Writer

	messages chan jsonrpc.Message
	ended    chan struct{} // input has ended
	closed   chan struct{}
	once     sync.Once
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{
		in: bufio.NewReaderSize(in, 64<<10), out: out, ids: newIDs(),
		messages: make(chan jsonrpc.Message), ended: make(chan struct{}), closed: make(chan struct{}),
	}
}

// SessionID: a connection of this kind has none.
func (c *lines) SessionID() string { return "" }

// Read gives the next message that asks for something.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.messages:
		return m, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.ended:
	}
	// Answers that are nearly there are waited for; the rest is cancelled by the EOF.
	select {
	case <-c.ids.idle():
	case <-c.closed:
	case <-time.After(graceAnswers):
	}
	return nil, io.EOF
}

// Close unblocks Read. The reader of the input is left behind: a terminal or a
// pipe can't be made to return.
func (c *lines) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func (c *lines) read() {
	defer close(c.ended)
	for {
		line, err := c.line()
		if len(line) > 0 && !c.accept(line) {
			return
		}
		switch {
		case errors.Is(err, errLongLine):
			c.send(errorMessage(nil, invalidRequest("the message is longer than %d bytes", maxMessage)))
		case err != nil:
			return
		}
	}
}

var errLongLine = errors.New("line too long")

// line is the next line without its end. One that is too long is read to its end
// and thrown away: what is held never grows past the bound.
func (c *lines) line() (line []byte, err error) {
	long := false
	for {
		part, err := c.in.ReadSlice('\n')
		if len(line)+len(part) > maxMessage {
			long, line = true, nil
		}
		if !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && err == nil:
			return nil, errLongLine
		case long:
			return nil, err
		}
		return trimSpace(line), err
	}
}

// trimSpace takes off JSON's own white space.
func trimSpace(b []byte) []byte {
	space := func(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
	for len(b) > 0 && space(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && space(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// accept answers what can't be acted on and hands on the rest; false when nobody
// takes it any more.
func (c *lines) accept(line []byte) bool {
	m, refused := parseMessage(line)
	switch {
	case refused != nil:
		c.send(errorMessage(nil, refused))
		return true
	case m.method == "":
		return true // a response: nothing was asked
	}
	req := &jsonrpc.Request{Method: m.method, Params: rawJSON(m.params)}
	if m.id != nil {
		id, ok := c.ids.enter(m.id)
		if !ok {
			c.send(errorMessage(m.id, &jsonrpc.Error{Code: codeCancelled, Message: fmt.Sprintf("more than %d calls at once; wait for some", maxInFlight)}))
			return true
		}
		req.ID = id
	}
	if m.method == "notifications/cancelled" {
		return c.cancel(m.params)
	}
	return c.deliver(req)
}

func (c *lines) deliver(m jsonrpc.Message) bool {
	select {
	case c.messages <- m:
		return true
	case <-c.closed:
		return false
	}
}

// cancel tells the SDK of each call under way that goes by the id.
func (c *lines) cancel(params jsontext.Value) bool {
	var p struct {
		ID     jsontext.Value `json:"requestId"`
		Reason string         `json:"reason"`
	}
	if json.Unmarshal(params, &p) != nil || !validID(p.ID) {
		return true // a notification is never answered
	}
	for _, id := range c.ids.cancel(p.ID) {
		raw, err := json.Marshal(map[string]any{"requestId": id.Raw(), "reason": p.Reason})
		if err != nil {
			continue
		}
		if !c.deliver(&jsonrpc.Request{Method: "notifications/cancelled", Params: rawJSON(raw)}) {
			return false
		}
	}
	return true
}

// Write sends one message. An answer carries its id exactly as it was asked; the
// answer to a call that was cancelled is not sent.
func (c *lines) Write(_ context.Context, m jsonrpc.Message) error {
	r, ok := m.(*jsonrpc.Response)
	if !ok {
		b, err := jsonrpc.EncodeMessage(m)
		if err != nil {
			return err
		}
		return c.send(b)
	}
	id, wanted := c.ids.leave(r.ID)
	if !wanted {
		return nil
	}
	if r.Error != nil {
		return c.send(errorMessage(id, outgoing(r.Error)))
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(append(b, `,"result":`...), r.Result...)
	return c.send(append(b, '}'))
}

// outgoing is an error as the client sees it.
func outgoing(err error) *jsonrpc.Error {
	if own, ok := err.(*jsonrpc.Error); ok && own.Code != 0 {
		clean := scrub(own.Code, own.Message)
		clean.Data = own.Data
		return clean
	}
	var wrapped *jsonrpc.Error
	if errors.As(err, &wrapped) {
		return scrub(wrapped.Code, err.Error())
	}
	return scrub(0, err.Error())
}

func (c *lines) send(b []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	_, err := c.out.Write(append(b, '\n'))
	return err
}
