package upstream

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// forgotten reports whether an error of a server is about its session, which it does not know.
func (conn *connection) forgotten(method, message string) bool {
	return conn.process == nil && method != string(mcp.MethodInitialize) && method != string(mcp.MethodServerDiscover) && aboutSession.MatchString(message)
}

// forgot reports whether a request ended because the server does not know its session.
func (conn *connection) forgot(err error, r *mcp.JSONRPCErrorDetails) bool {
	return errors.As(err, new(*sessionGone)) || errors.Is(err, transport.ErrSessionTerminated) || r != nil && conn.forgotten(string(mcp.MethodToolsCall), r.Message)
}

// tidyHandshake returns what a server says of itself as the client library reads it. What is not as
// the protocol has it is left out: it costs a server nothing but that. One that answers the question of
// 2026-07-28, as it answers everything, and does not name that version is an older one.
func tidyHandshake(resp *transport.JSONRPCResponse, older bool) *transport.JSONRPCResponse {
	out := *resp
	var members map[string]json.RawMessage
	_ = json.Unmarshal(resp.Result, &members) // one that is no object says nothing
	if !older && !namesModern(members["supportedVersions"]) {
		out.Result, out.Error = nil, &mcp.JSONRPCErrorDetails{Code: mcp.METHOD_NOT_FOUND, Message: "it names no version that has this method"}
		return &out
	}
	if members == nil {
		return resp
	}
	if older {
		members["protocolVersion"] = tidyVersion(members["protocolVersion"])
		var info struct{ Name, Version json.RawMessage }
		_ = json.Unmarshal(members["serverInfo"], &info)
		members["serverInfo"], _ = json.Marshal(map[string]string{"name": textOf(info.Name), "version": textOf(info.Version)})
	}
	members["capabilities"] = tidyCapabilities(members["capabilities"])
	members["instructions"], _ = json.Marshal(textOf(members["instructions"]))
	out.Result, _ = json.Marshal(members) // JSON texts always encode
	return &out
}

// namesModern reports whether one of the versions that a server names is without a handshake.
func namesModern(raw json.RawMessage) bool {
	var versions []string
	return json.Unmarshal(raw, &versions) == nil && slices.ContainsFunc(versions, mcp.IsModernProtocol)
}

// tidyVersion returns the nearest version that is known: servers answer with some that never were.
func tidyVersion(raw json.RawMessage) json.RawMessage {
	v := textOf(raw)
	switch {
	case mcp.IsValidProtocolVersion(v):
	case v > mcp.LATEST_LEGACY_PROTOCOL_VERSION:
		v = mcp.LATEST_LEGACY_PROTOCOL_VERSION
	default:
		v = mcp.ProtocolVersion20241105
	}
	out, _ := json.Marshal(v)
	return out
}

// tidyCapabilities returns what a server declares. PHP writes an empty object as a list.
func tidyCapabilities(raw json.RawMessage) json.RawMessage {
	var declared map[string]json.RawMessage
	_ = json.Unmarshal(raw, &declared)
	out := map[string]any{}
	for _, name := range []string{"tools", "prompts", "resources", "completions", "logging"} {
		what := declared[name]
		if !given(what) || string(what) == "false" {
			continue
		}
		var members struct {
			ListChanged json.RawMessage `json:"listChanged"`
		}
		_ = json.Unmarshal(what, &members)
		capability := map[string]bool{}
		if string(members.ListChanged) == "true" && name != "completions" && name != "logging" {
			capability["listChanged"] = true
		}
		out[name] = capability
	}
	if given(declared["experimental"]) || given(declared["extensions"]) {
		out["experimental"] = map[string]any{} // there is something, which nothing here is about
	}
	text, _ := json.Marshal(out)
	return text
}

// textOf returns a JSON string's value; "" for anything else.
func textOf(raw json.RawMessage) string {
	var text string
	_ = json.Unmarshal(raw, &text)
	return text
}
