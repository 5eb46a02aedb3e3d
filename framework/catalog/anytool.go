package catalog

import (
	"encoding/json"
	"fmt"
)

// AnyTool is the last part of the ID of an upstream server's operation that calls any tool
// by its name, {tool, input}. It is there as long as nobody has seen the server's tools.
const AnyTool = "$call"

// Unlisted returns the servers whose tools were not known when the snapshot was made, sorted.
func (s *Snapshot) Unlisted() (servers []string) {
	for _, op := range s.operations {
		if op.ID.Kind == KindUpstream && op.ID.Op == AnyTool {
			servers = append(servers, op.ID.Owner)
		}
	}
	return servers
}

// StandIn returns what to call for a tool of a server whose tools were not known when the snapshot
// was made: the server's AnyTool, and its input. For every other operation it returns id and input.
func (s *Snapshot) StandIn(id ID, input json.RawMessage) (ID, json.RawMessage) {
	if id.Kind != KindUpstream || s.Operation(id) != nil {
		return id, input
	}
	other := ID{Kind: id.Kind, Owner: id.Owner, Op: AnyTool}
	if s.Operation(other) == nil || !json.Valid(input) {
		return id, input
	}
	tool, _ := json.Marshal(id.Op) // a text always encodes
	return other, fmt.Appendf(nil, `{"tool":%s,"input":%s}`, tool, input)
}

// NamedTool returns the tool that the input of AnyTool names, which may turn out not to exist. ok is
// false for other operations, and if the input names none.
func (id ID) NamedTool(input json.RawMessage) (tool ID, ok bool) {
	if id.Kind != KindUpstream || id.Op != AnyTool {
		return ID{}, false
	}
	var in struct{ Tool string }
	if json.Unmarshal(input, &in) != nil {
		return ID{}, false
	}
	tool = id
	tool.Op = in.Tool
	parsed, err := ParseID(tool.String())
	return tool, err == nil && parsed == tool
}
