package mcpserver

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// maxCompletions is how many values one answer may have (MCP, completion).
const maxCompletions = 100

// maxTyped is how long the value to complete may be, in bytes: an answer may repeat it in
// each of its values. A longer one has no completions.
const maxTyped = 1 << 10

type completion struct {
	Values  []string `json:"values"`
	Total   int      `json:"total"`
	HasMore bool     `json:"hasMore"`
}

type completeResult struct {
	envelope
	Completion completion `json:"completion"`
}

// complete returns values for an argument of a prompt or for the name in a
// resource template.
func (l lists) complete(ctx context.Context, m message, p peer) (any, *rpcError) {
	var params struct {
		Ref      struct{ Type, Name, URI string }
		Argument struct{ Name, Value *string }
	}
	if err := json.Unmarshal(rawOrEmpty(m.params), &params); err != nil || params.Argument.Name == nil || params.Argument.Value == nil {
		return nil, protocolError(fault.Invalid(fault.Detail{Path: "/argument", Message: "a completion needs `ref`, and `argument` with `name` and `value`", Expected: "object"}))
	}
	v, name, typed := p.view(l.server), *params.Argument.Name, *params.Argument.Value
	var values []string
	var bad *rpcError
	switch params.Ref.Type {
	case "ref/prompt":
		values, bad = completePrompt(v, params.Ref.Name, name, typed)
	case "ref/resource":
		values, bad = completeTemplate(ctx, v, params.Ref.URI, name, typed)
	default:
		bad = protocolError(fault.Invalid(fault.Detail{Path: "/ref/type", Message: "only prompts and resources can be completed", Expected: "ref/prompt or ref/resource"}))
	}
	if bad != nil {
		return nil, bad
	}
	c := completion{Values: []string{}, Total: len(values), HasMore: len(values) > maxCompletions}
	c.Values = append(c.Values, values[:min(len(values), maxCompletions)]...)
	return completeResult{l.server.envelope(p, false), c}, nil
}

func completePrompt(v *catalog.View, prompt, argument, typed string) ([]string, *rpcError) {
	one, bad := knownPrompt(v, prompt)
	if bad != nil {
		bad.Data = fault.Invalid(fault.Detail{Path: "/ref/name", Message: "unknown prompt"})
		return nil, bad
	}
	for _, a := range one.Arguments {
		if a.Name == argument {
			if a.Complete == nil || len(typed) > maxTyped {
				return nil, nil
			}
			return a.Complete(v, typed), nil
		}
	}
	return nil, protocolError(fault.Invalid(fault.Detail{Path: "/argument/name", Message: "the prompt has no such argument"}))
}

func completeTemplate(ctx context.Context, v *catalog.View, uri, argument, typed string) ([]string, *rpcError) {
	for _, d := range v.Snapshot().Documents() {
		if !d.Template || d.URI != uri {
			continue
		}
		if !strings.Contains(uri, "{"+argument+"}") {
			return nil, protocolError(fault.Invalid(fault.Detail{Path: "/argument/name", Message: "the template has no such part"}))
		}
		switch {
		case len(typed) > maxTyped:
		case d.List != nil:
			return catalog.Beginning(d.List(v), typed), nil
		case d.Complete != nil:
			return d.Complete(ctx, v, typed), nil
		}
		return nil, nil
	}
	return nil, protocolError(fault.Invalid(fault.Detail{Path: "/ref/uri", Message: "unknown resource template"}))
}
