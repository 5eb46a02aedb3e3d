package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// tool is one row of tools/list. The order of the members is what a reader wants
// to see first.
type tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  annotations     `json:"annotations"`
}

// annotations are all set explicitly: the protocol's defaults are the dangerous
// ones.
type annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// listed is one entry of a list with the key that cursors name it by.
type listed struct {
	key string
	raw json.RawMessage
}

type toolsKey struct{ underscored bool }

type toolsMade struct {
	rows []listed
	err  error
}

// toolRows are the tools of a view in catalog order, made once per view.
func toolRows(v *catalog.View, underscored bool) ([]listed, error) {
	made := catalog.Memo(v, toolsKey{underscored}, func() toolsMade {
		rows := make([]listed, 0, len(v.Tools()))
		for _, op := range v.Tools() {
			raw, err := encode(describe(v, op, underscored))
			if err != nil {
				return toolsMade{err: fmt.Errorf("mcpserver: the tool of %s cannot be encoded: %w", op.ID, err)}
			}
			rows = append(rows, listed{op.ID.String(), raw})
		}
		return toolsMade{rows: rows}
	})
	return made.rows, made.err
}

func describe(v *catalog.View, op *catalog.Operation, underscored bool) tool {
	name := v.Snapshot().ToolName(op.ID)
	if underscored {
		name = catalog.Underscored(name)
	}
	effects := v.Effects(op)
	return tool{
		Name: name, Title: op.Title, Description: op.Description(v), InputSchema: inputSchema(op), OutputSchema: outputSchema(op),
		Annotations: annotations{
			ReadOnly: effects.ReadOnly, Destructive: effects.Destructive && !effects.ReadOnly,
			Idempotent: effects.Idempotent || effects.ReadOnly, OpenWorld: effects.Outside,
		},
	}
}

// ToolList gives what tools/list gives for a view, on one page: {"tools":[...]}.
// It is byte-stable for one view.
func ToolList(v *catalog.View, underscored bool) (json.RawMessage, error) {
	rows, err := toolRows(v, underscored)
	if err != nil {
		return nil, err
	}
	return encode(toolsResult{Tools: raws(rows)})
}

type toolsResult struct {
	envelope
	Tools      []json.RawMessage `json:"tools"`
	NextCursor string            `json:"nextCursor,omitempty"`
}

func (s *session) listTools(_ context.Context, m message, p peer) (any, *rpcError) {
	rows, err := toolRows(p.view(s.server), p.underscored(s.server))
	if err != nil {
		s.server.opts.Log.Error("tools/list failed", "error", err)
		return nil, protocolError(fault.New(fault.Internal, ""))
	}
	page, next, bad := s.page(rows, m)
	if bad != nil {
		return nil, bad
	}
	return toolsResult{envelope: s.server.envelope(p, true), Tools: raws(page), NextCursor: next}, nil
}

func raws(rows []listed) []json.RawMessage {
	out := make([]json.RawMessage, len(rows))
	for i, r := range rows {
		out[i] = r.raw
	}
	return out
}

// page cuts the page that a request asks for. A cursor names the last entry
// before it, so that it stays good while the list changes.
func (s *session) page(rows []listed, m message) ([]listed, string, *rpcError) {
	var params struct {
		Cursor *string `json:"cursor"`
	}
	bad := func() *rpcError {
		return protocolError(fault.Invalid(fault.Detail{Path: "/cursor", Message: "the cursor is not one that this list gave"}))
	}
	if len(m.params) > 0 && json.Unmarshal(m.params, &params) != nil {
		return nil, "", bad()
	}
	start := 0
	if params.Cursor != nil {
		key, err := base64.RawURLEncoding.DecodeString(*params.Cursor)
		if err != nil || len(key) == 0 {
			return nil, "", bad()
		}
		at, found := slices.BinarySearchFunc(rows, string(key), func(l listed, key string) int { return strings.Compare(l.key, key) })
		if !found {
			return nil, "", bad()
		}
		start = at + 1
	}
	end := min(start+s.server.opts.PageSize, len(rows))
	page := rows[start:end]
	if end == len(rows) {
		return page, "", nil
	}
	return page, base64.RawURLEncoding.EncodeToString([]byte(page[len(page)-1].key)), nil
}
