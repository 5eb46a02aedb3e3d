package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/toolset"
)

// listed is one entry of a list with the key that cursors name it by.
type listed struct {
	key string
	raw json.RawMessage
}

// toolRows are the tools of a view in the order of their keys.
func toolRows(v *catalog.View, o toolset.Options) []listed {
	rows := toolset.List(v, o)
	out := make([]listed, len(rows))
	for i, r := range rows {
		out[i] = listed{r.Key, r.JSON}
	}
	return out
}

type toolsResult struct {
	envelope
	Tools      []json.RawMessage `json:"tools"`
	NextCursor string            `json:"nextCursor,omitempty"`
}

// lists answers the requests for what the catalog has for a client, in pages.
type lists struct{ server *Server }

func (l lists) tools(_ context.Context, m message, p peer) (any, *rpcError) {
	rows := toolRows(p.view(l.server), l.server.now().Tools)
	page, next, bad := l.page(rows, m)
	if bad != nil {
		return nil, bad
	}
	return toolsResult{envelope: l.server.envelope(p, true), Tools: rawRows(page), NextCursor: next}, nil
}

func rawRows(rows []listed) []json.RawMessage {
	out := make([]json.RawMessage, len(rows))
	for i, r := range rows {
		out[i] = r.raw
	}
	return out
}

// page returns the page that a request asks for. A cursor names the last entry before it,
// so that it stays valid while the list changes.
func (l lists) page(rows []listed, m message) ([]listed, string, *rpcError) {
	var params struct {
		Cursor *string `json:"cursor"`
	}
	bad := func() *rpcError {
		return protocolError(fault.Invalid(fault.Detail{Path: "/cursor", Message: "the cursor was not issued by this list"}))
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
	end := min(start+l.server.opts.PageSize, len(rows))
	page := rows[start:end]
	if end == len(rows) {
		return page, "", nil
	}
	return page, base64.RawURLEncoding.EncodeToString([]byte(page[len(page)-1].key)), nil
}
