package mcp

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// scrub makes of an error of the SDK's what goes out: a standard code, and no text
// that quotes the request back or names types of ours. Our own errors come through
// as they are, since guard made them.
func scrub(code int64, text string) *jsonrpc.Error {
	switch {
	case strings.HasPrefix(text, "handling '"), strings.Contains(text, "unmarshaling"):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params"}
	case code == 0 && strings.Contains(text, "during session initialization"):
		return invalidRequest("the session isn't initialized")
	case code == 0 && strings.HasPrefix(text, "duplicate "):
		return invalidRequest("the session is initialized already")
	case code == 0 && strings.Contains(text, "context canceled"), code == 0 && strings.Contains(text, "EOF"):
		return &jsonrpc.Error{Code: codeCancelled, Message: "cancelled"}
	case code == -32004:
		return &jsonrpc.Error{Code: codeCancelled, Message: "the server is closing"}
	case code == 0:
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
	case code == jsonrpc.CodeInvalidRequest && strings.Contains(text, `missing required "params"`):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: missing"}
	}
	return &jsonrpc.Error{Code: code, Message: text}
}
