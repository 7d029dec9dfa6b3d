package mcp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// codeCancelled answers a call that was cancelled before there was anything to
// answer; of the range that JSON-RPC leaves to servers.
const codeCancelled = -32000

// guard stands around every request: whatever goes wrong in one, the server goes
// on, and what is wrong inside stays inside.
func (s *Server) guard(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.config.Log.Error("panic", "method", method, "value", fmt.Sprint(p), "stack", string(debug.Stack()))
				result, err = nil, s.internal(s.config.Log, method, fmt.Errorf("panic: %v", p))
			}
		}()
		if list, ok := req.(*sdk.ListResourcesRequest); ok {
			return s.listResources(list), nil
		}
		return next(ctx, method, req)
	}
}

// internal is what a stranger learns of our own trouble: a number under which the
// log has the rest.
func (s *Server) internal(log *slog.Logger, what string, err error) error {
	if cancelled(err) {
		return &jsonrpc.Error{Code: codeCancelled, Message: "cancelled"}
	}
	var number [6]byte
	_, _ = rand.Read(number[:])
	incident := hex.EncodeToString(number[:])
	log.Error("internal error", "in", what, "incident", incident, "error", err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error; the server's log has it as incident " + incident}
}

// traced takes a caller's trace into our log lines, and nothing else of what it
// might hold: the W3C form is version, trace id, span id and flags, in hex.
func traced(meta sdk.Meta) []any {
	text, _ := meta["traceparent"].(string)
	parts := strings.SplitN(text, "-", 5)
	if len(parts) < 4 || !isHex(parts[0], 2) || !isHex(parts[1], 32) || !isHex(parts[2], 16) || !isHex(parts[3], 2) {
		return nil
	}
	return []any{"trace_id", parts[1], "span_id", parts[2]}
}

func isHex(s string, n int) bool { return len(s) == n && strings.Trim(s, "0123456789abcdef") == "" }
