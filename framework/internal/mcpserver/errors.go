package mcpserver

import (
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
)

// rpcError is a JSON-RPC error. Its data is always an object with `code`
// (CONTRACT section 5).
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data"`

	wanted []string // scopes with which it would not have failed, for the transport
}

// protocolError sends a fault as a JSON-RPC error: the number is the registry's,
// the data is the fault.
func protocolError(f *fault.Fault) *rpcError {
	e, _ := fault.Lookup(f.Code)
	return &rpcError{Code: e.RPC, Message: f.Message, Data: f}
}

// redactError returns the error without secrets: its message may quote what the client
// sent.
func (s *Server) redactError(e *rpcError) *rpcError {
	if e == nil {
		return nil
	}
	raw, err := invoke.Encode(e.Data)
	if err != nil {
		return e
	}
	message, inMessage := s.opts.Engine.Redactor().Text(e.Message)
	data, inData := s.opts.Engine.Redactor().FailureJSON(raw)
	if inMessage+inData == 0 {
		return e
	}
	return &rpcError{Code: e.Code, Message: message, Data: json.RawMessage(data), wanted: e.wanted}
}

// fromLibrary returns an error of the MCP library with a fault code. The library's data
// is kept.
func fromLibrary(d mcp.JSONRPCErrorDetails) *rpcError {
	code := fault.Internal
	switch d.Code {
	case mcp.PARSE_ERROR:
		code = fault.ParseError
	case mcp.INVALID_REQUEST:
		code = fault.InvalidRequest
	case mcp.METHOD_NOT_FOUND:
		code = fault.MethodNotFound
	case mcp.INVALID_PARAMS:
		code = fault.InvalidPayload
	case mcp.RESOURCE_NOT_FOUND:
		code = fault.NotFound
	case mcp.UNSUPPORTED_PROTOCOL_VERSION, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY:
		code = fault.CapabilityUnsupported
	}
	return &rpcError{Code: d.Code, Message: d.Message, Data: withFault(d.Data, fault.New(code, d.Message))}
}

// withFault adds a fault's members to the members of data.
func withFault(data any, f *fault.Fault) any {
	out := map[string]any{}
	for _, part := range []any{data, f} {
		raw, err := json.Marshal(part)
		if err != nil {
			continue
		}
		var members map[string]any
		if json.Unmarshal(raw, &members) == nil {
			for k, v := range members {
				out[k] = v
			}
		}
	}
	return out
}

// unsupportedVersion refuses a protocol version that this build does not speak.
func unsupportedVersion(version string) *rpcError {
	e := mcp.UnsupportedProtocolVersionError{Version: version, Supported: mcp.ValidProtocolVersions}
	return fromLibrary(e.JSONRPCError().Error)
}

// response is one answer on the wire.
type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // null where the request's could not be read
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// notification is one notification of the server.
type notification struct {
	JSONRPC string         `json:"jsonrpc"`
	Method  string         `json:"method"`
	Params  map[string]any `json:"params,omitempty"`
}

// answerOf is the message that answers a request.
func answerOf(id json.RawMessage, result any, failed *rpcError) outgoing {
	out := outgoing{text: encodeResponse(id, result, failed), isAnswer: true}
	if failed != nil {
		out.failure, out.wanted = failed.Code, failed.wanted
	} else if r, ok := result.(callResult); ok {
		out.wanted = r.wanted
	}
	return out
}

// encodeResponse returns the bytes of a response. A result that cannot be encoded (a
// handler returned broken JSON) becomes an internal error, so that every request gets a
// response.
func encodeResponse(id json.RawMessage, result any, failed *rpcError) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	if r, ok := result.(callResult); ok && failed == nil {
		return r.answering(id)
	}
	r := response{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: result, Error: failed}
	raw, err := invoke.Encode(r)
	if err != nil {
		r.Result, r.Error = nil, protocolError(fault.New(fault.Internal, "the result is not JSON"))
		if raw, err = invoke.Encode(r); err != nil {
			panic(fmt.Sprintf("mcpserver: an error response cannot be encoded: %v", err))
		}
	}
	return raw
}

// noText is the problem of a member that must be a string and is not, or is not there.
func noText(path, what string, given json.RawMessage) fault.Detail {
	d := fault.Detail{Path: path, Message: what + " is missing", Expected: "string"}
	if len(given) > 0 && string(given) != "null" {
		d.Message = what + " must be a string"
	}
	return d
}
