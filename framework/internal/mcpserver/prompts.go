package mcpserver

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/deadline"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
)

type prompt struct {
	Name        string     `json:"name"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Arguments   []argument `json:"arguments,omitempty"`
}

type argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

type promptsResult struct {
	envelope
	Prompts    []json.RawMessage `json:"prompts"`
	NextCursor string            `json:"nextCursor,omitempty"`
}

func (l lists) prompts(_ context.Context, m message, p peer) (any, *rpcError) {
	var rows []listed
	for _, one := range p.view(l.server).Prompts() {
		row := prompt{Name: one.Name, Title: one.Title, Description: one.Description}
		for _, a := range one.Arguments {
			row.Arguments = append(row.Arguments, argument{a.Name, a.Description, a.Required})
		}
		raw, err := invoke.Encode(row)
		if err != nil {
			return nil, protocolError(fault.New(fault.Internal, ""))
		}
		rows = append(rows, listed{one.Name, raw})
	}
	page, next, bad := l.page(sorted(rows), m)
	if bad != nil {
		return nil, bad
	}
	return promptsResult{envelope: l.server.envelope(p, true), Prompts: rawRows(page), NextCursor: next}, nil
}

type promptMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type promptResult struct {
	envelope
	Description string          `json:"description,omitempty"`
	Messages    []promptMessage `json:"messages"`
}

// documents answers the requests for one prompt or resource: its provider may ask the client before it
// returns one.
type documents struct {
	server  *Server
	dialogs *dialogs
}

func (d documents) prompt(ctx context.Context, ex *exchange) (any, *rpcError) {
	name, given, bad := namedPrompt(ex.params)
	if bad != nil {
		return nil, bad
	}
	view := ex.peer.view(d.server)
	one, bad := knownPrompt(view, name)
	if bad != nil {
		return nil, bad
	}
	arguments, wrong := promptArguments(one, given)
	if wrong != nil {
		return nil, protocolError(wrong)
	}
	ctx, unread := d.dialogs.withClient(ctx, ex, one.Name, arguments)
	if unread != nil {
		return nil, unread
	}
	ctx, stop := deadline.WithTimeout(ctx, d.server.now().ToolTimeout, invoke.TimeUp)
	defer stop()
	messages, err := one.Render(ctx, view, arguments)
	if result, failed, ok := d.dialogs.outcome(ex, err); ok {
		return result, failed
	}
	if err != nil {
		return nil, protocolError(fault.From(err))
	}
	out := promptResult{envelope: d.server.envelope(ex.peer, false), Description: one.Description, Messages: []promptMessage{}}
	for _, m := range messages {
		content, err := block(ex.peer, m.Content)
		if err != nil {
			d.server.opts.Log.Error("a prompt cannot be shown", "prompt", one.Name, "error", err)
			return nil, protocolError(fault.New(fault.Internal, ""))
		}
		role := "user"
		if m.Assistant {
			role = "assistant"
		}
		out.Messages = append(out.Messages, promptMessage{role, content})
	}
	return out, nil
}

// namedPrompt reads the params of a request for a prompt.
func namedPrompt(params json.RawMessage) (name string, arguments map[string]json.RawMessage, bad *rpcError) {
	var called, given json.RawMessage
	members(params, func(name []byte, value json.RawMessage) {
		switch string(name) {
		case "name":
			called = value
		case "arguments":
			given = value
		}
	})
	var wrong []fault.Detail
	name, ok := unquoted(called)
	if !ok {
		wrong = append(wrong, noText("/name", "the prompt's name", called))
	}
	if json.Unmarshal(rawOrEmpty(given), &arguments) != nil {
		wrong = append(wrong, fault.Detail{Path: "/arguments", Message: "the prompt's arguments must be an object", Expected: "object"})
	}
	if len(wrong) > 0 {
		return "", nil, protocolError(fault.Invalid(wrong...))
	}
	return name, arguments, nil
}

// knownPrompt finds a prompt; a hidden one is not found.
func knownPrompt(v *catalog.View, name string) (*catalog.Prompt, *rpcError) {
	if one := v.Prompt(name); one != nil {
		return one, nil
	}
	var names []string
	for _, p := range v.Prompts() {
		names = append(names, p.Name)
	}
	return nil, protocolError(fault.Invalid(fault.Detail{Path: "/name", Message: "unknown prompt" + fault.DidYouMean(name, names)}))
}

// promptArguments checks arguments, and reports all problems.
func promptArguments(p *catalog.Prompt, given map[string]json.RawMessage) (map[string]string, *fault.Fault) {
	out := map[string]string{}
	var wrong []fault.Detail
	known := map[string]bool{}
	var names []string
	for _, a := range p.Arguments {
		known[a.Name] = true
		names = append(names, a.Name)
		raw, there := given[a.Name]
		var value string
		switch {
		case !there && a.Required:
			wrong = append(wrong, fault.Detail{Path: "/arguments/" + a.Name, Message: "the argument is missing", Expected: "string"})
		case there && (json.Unmarshal(raw, &value) != nil || raw[0] != '"'):
			wrong = append(wrong, fault.Detail{Path: "/arguments/" + a.Name, Message: "the argument is not a string", Expected: "string"})
		case there:
			out[a.Name] = value
		}
	}
	for name := range given {
		if !known[name] && len(wrong) < fault.MaxFound {
			wrong = append(wrong, fault.Detail{Path: "/arguments/" + pointer(name), Message: "the prompt has no such argument" + fault.DidYouMean(name, names)})
		}
	}
	if len(wrong) > 0 {
		return nil, fault.Invalid(wrong...)
	}
	return out, nil
}

// pointer writes a name as a part of a JSON Pointer, cut where it is very long.
func pointer(name string) string {
	if len(name) > 64 {
		name = strings.ToValidUTF8(name[:64], "") + "…"
	}
	return fault.Step(name)
}
