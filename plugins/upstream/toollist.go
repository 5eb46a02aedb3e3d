package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/catalog"
)

// Bounds of a list of tools.
const (
	maxPages = 200
	maxTools = 5000
)

// tools lists the server's tools, each as the server describes it, and what is wrong with the
// list. A page that fails ends the list: what came before it counts.
func (conn *connection) tools(ctx context.Context) (tools []json.RawMessage, wrong []string, err error) {
	if !conn.about.tools {
		return nil, nil, nil
	}
	list := toolList{seen: map[string]bool{}}
	cursors := map[string]bool{}
	cursor, size := "", 0
	for page := range maxPages {
		raw, next, err := conn.toolPage(ctx, cursor, page > 0)
		if err != nil && (page == 0 || ctx.Err() != nil || conn.lost()) {
			return nil, nil, err
		}
		if err != nil {
			list.broken = fmt.Sprintf("page %d of its list of tools is missing, and all behind it: %v", page+1, err)
			break
		}
		for _, t := range raw {
			size += len(t)
		}
		if size > maxListing {
			return nil, nil, fmt.Errorf("its list of tools has more than %d bytes", maxListing)
		}
		list.add(raw)
		if next == "" || len(list.tools) > maxTools {
			break
		}
		if list.circular = cursors[next]; list.circular {
			break
		}
		cursors[next], cursor = true, next
	}
	if len(list.tools) > maxTools {
		list.tools = list.tools[:maxTools]
	}
	return list.tools, list.wrong(), nil
}

// toolPage lists one page of the tools, and where the next begins. It is empty if the server
// has no tools. A later page has as long as a start may take.
func (conn *connection) toolPage(ctx context.Context, cursor string, later bool) (tools []json.RawMessage, next string, err error) {
	if later {
		limit := conn.dialer.cfg.Start
		bounded, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not come in %s", limit))
		defer cancel()
		ctx = bounded
	}
	var req mcp.ListToolsRequest
	req.Params.Cursor = mcp.Cursor(cursor)
	listed, a := withAnswer(ctx)
	_, err = conn.client.ListToolsByPage(listed, req)
	raw, refusal, err := a.take(err)
	switch {
	case refusal != nil && refusal.Code == mcp.METHOD_NOT_FOUND && !later:
		return nil, "", nil
	case refusal != nil:
		return nil, "", fmt.Errorf("it refused to list its tools: %s", plainText(conn.secrets.redact(refusal.Message), 300))
	case ctx.Err() != nil:
		return nil, "", context.Cause(ctx)
	case err != nil:
		return nil, "", conn.why(ctx, err)
	}
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor json.RawMessage   `json:"nextCursor"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, "", fmt.Errorf("its list of tools cannot be read: %w", misread(err))
	}
	if given(page.NextCursor) {
		if next = textOf(page.NextCursor); next == "" && page.NextCursor[0] != '"' {
			next = string(bytes.TrimSpace(page.NextCursor)) // a number, of a server that counts
		}
	}
	return compact(page.Tools), next, nil
}

// toolList joins the pages of a list of tools.
type toolList struct {
	tools    []json.RawMessage
	seen     map[string]bool // tools, as they are described
	equal    int             // how many were there already
	circular bool            // a page is said to come after itself
	broken   string          // why it ends before its last page
}

func (l *toolList) add(page []json.RawMessage) {
	for _, t := range page {
		if l.seen[string(t)] {
			l.equal++
			continue
		}
		l.seen[string(t)] = true
		l.tools = append(l.tools, t)
	}
}

// wrong says what is wrong with the list.
func (l *toolList) wrong() (out []string) {
	if l.broken != "" {
		out = append(out, l.broken)
	}
	if l.circular {
		out = append(out, "its pages go in circles: the reading ended where one came again")
	}
	if l.equal > 0 {
		out = append(out, catalog.Counted(l.equal, "tool")+" that it lists again")
	}
	return out
}
