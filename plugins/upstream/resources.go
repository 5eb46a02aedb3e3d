package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// serverFunction is one request for a server's resources or prompts: its effects are those
// of reading, whoever the server is, since the protocol has them change nothing.
type serverFunction struct {
	summary string
	send    func(ctx context.Context, conn *connection, in functionInput) (json.RawMessage, *mcp.JSONRPCErrorDetails, error)
	input   string
	output  string
	member  string // that a result must have
}

// functionInput has the members of all inputs.
type functionInput struct {
	Cursor    string            `json:"cursor"`
	URI       string            `json:"uri"`
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments"`
}

// The schemas are those of MCP, less what a script has no use for.
const (
	cursorInput = `{"type":"object","properties":{"cursor":{"type":"string","description":"nextCursor of the page before."}},"additionalProperties":false}`
	uriInput    = `{"type":"object","properties":{"uri":{"type":"string","minLength":1,"maxLength":8192}},"required":["uri"],"additionalProperties":false}`
	// anyPrompt is the input of $prompts.get where the server's prompts are not known.
	anyPrompt = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":512},"arguments":{"type":"object","additionalProperties":{"type":"string"}}},"required":["name"],"additionalProperties":false}`

	pageOf        = `{"type":"object","required":[%[1]q],"properties":{%[1]q:{"type":"array","items":{"type":"object","required":[%[2]s],"properties":{%[3]s}}},"nextCursor":{"type":"string"}}}`
	aboutResource = `"name":{"type":"string"},"title":{"type":"string"},"description":{"type":"string"},"mimeType":{"type":"string"},"size":{"type":"number"}`
	contentsOf    = `{"type":"object","required":["contents"],"properties":{"contents":{"type":"array","items":{"type":"object","required":["uri"],"properties":{"uri":{"type":"string"},"mimeType":{"type":"string"},"text":{"type":"string"},"blob":{"type":"string","description":"Bytes, in base64."}}}}}}`
	messagesOf    = `{"type":"object","required":["messages"],"properties":{"description":{"type":"string"},"messages":{"type":"array","items":{"type":"object","required":["role","content"],"properties":{"role":{"enum":["user","assistant"]},"content":{"type":"object","required":["type"],"properties":{"type":{"type":"string"},"text":{"type":"string"},"data":{"type":"string"},"mimeType":{"type":"string"}}}}}}}}`
)

// serverFunctions are what catalog.ServerFunctions names, by the op of their operations.
var serverFunctions = map[string]serverFunction{
	"$resources.list": {
		summary: "Lists one page of the resources of the server %s.", input: cursorInput, member: "resources",
		output: fmt.Sprintf(pageOf, "resources", `"uri","name"`, `"uri":{"type":"string"},`+aboutResource),
		send: func(ctx context.Context, conn *connection, in functionInput) (json.RawMessage, *mcp.JSONRPCErrorDetails, error) {
			var req mcp.ListResourcesRequest
			req.Params.Cursor = mcp.Cursor(in.Cursor)
			ctx, a := withAnswer(ctx)
			_, err := conn.client.ListResourcesByPage(ctx, req)
			return a.take(err)
		},
	},
	"$resources.templates": {
		summary: "Lists one page of the templates of resources' URIs of the server %s.", input: cursorInput, member: "resourceTemplates",
		output: fmt.Sprintf(pageOf, "resourceTemplates", `"uriTemplate","name"`, `"uriTemplate":{"type":"string"},`+aboutResource),
		send: func(ctx context.Context, conn *connection, in functionInput) (json.RawMessage, *mcp.JSONRPCErrorDetails, error) {
			var req mcp.ListResourceTemplatesRequest
			req.Params.Cursor = mcp.Cursor(in.Cursor)
			ctx, a := withAnswer(ctx)
			_, err := conn.client.ListResourceTemplatesByPage(ctx, req)
			return a.take(err)
		},
	},
	"$resources.read": {
		summary: "Reads a resource of the server %s by its URI.", input: uriInput, output: contentsOf, member: "contents",
		send: func(ctx context.Context, conn *connection, in functionInput) (json.RawMessage, *mcp.JSONRPCErrorDetails, error) {
			var req mcp.ReadResourceRequest
			req.Params.URI = in.URI
			ctx, a := withAnswer(ctx)
			_, err := conn.client.ReadResource(ctx, req)
			return a.take(err)
		},
	},
	"$prompts.list": {
		summary: "Lists one page of the prompts of the server %s.", input: cursorInput, member: "prompts",
		output: fmt.Sprintf(pageOf, "prompts", `"name"`, `"name":{"type":"string"},"title":{"type":"string"},"description":{"type":"string"},"arguments":{"type":"array","items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"description":{"type":"string"},"required":{"type":"boolean"}}}}`),
		send: func(ctx context.Context, conn *connection, in functionInput) (json.RawMessage, *mcp.JSONRPCErrorDetails, error) {
			return conn.promptPage(ctx, in.Cursor)
		},
	},
	"$prompts.get": {
		summary: "Returns the messages of a prompt of the server %s.", input: anyPrompt, output: messagesOf, member: "messages",
		send: func(ctx context.Context, conn *connection, in functionInput) (json.RawMessage, *mcp.JSONRPCErrorDetails, error) {
			var req mcp.GetPromptRequest
			req.Params.Name, req.Params.Arguments = in.Name, in.Arguments
			ctx, a := withAnswer(ctx)
			_, err := conn.client.GetPrompt(ctx, req)
			return a.take(err)
		},
	},
}

// promptPage requests one page of the server's prompts.
func (conn *connection) promptPage(ctx context.Context, cursor string) (json.RawMessage, *mcp.JSONRPCErrorDetails, error) {
	var req mcp.ListPromptsRequest
	req.Params.Cursor = mcp.Cursor(cursor)
	ctx, a := withAnswer(ctx)
	_, err := conn.client.ListPromptsByPage(ctx, req)
	return a.take(err)
}

// maxPrompts is how many prompts of a server have types.
const maxPrompts = 100

// prompts lists the first of the server's prompts, for the type of $prompts.get: none if
// there are more than have types, or the server fails to list them.
func (conn *connection) prompts(ctx context.Context) []json.RawMessage {
	if !conn.about.Prompts {
		return nil
	}
	raw, refusal, err := conn.promptPage(ctx, "")
	var page struct {
		Prompts    []json.RawMessage `json:"prompts"`
		NextCursor string            `json:"nextCursor"`
	}
	if err != nil || refusal != nil || json.Unmarshal(raw, &page) != nil || page.NextCursor != "" || len(page.Prompts) > maxPrompts {
		return nil
	}
	return compact(page.Prompts)
}

// promptInput returns the input of $prompts.get: one of the known prompts with its own
// arguments, or any if none is known.
func promptInput(prompts []json.RawMessage) json.RawMessage {
	var known []any
	for _, raw := range prompts {
		var p struct {
			Name        string `json:"name"`
			Title       string `json:"title"`
			Description string `json:"description"`
			Arguments   []struct {
				Name        string `json:"name"`
				Description string `json:"description"`
				Required    bool   `json:"required"`
			} `json:"arguments"`
		}
		if json.Unmarshal(raw, &p) != nil || p.Name == "" {
			return json.RawMessage(anyPrompt)
		}
		arguments, required := map[string]any{}, []string{}
		for _, a := range p.Arguments {
			arguments[a.Name] = map[string]any{"type": "string", "description": plainText(a.Description, maxDescription)}
			if a.Required {
				required = append(required, a.Name)
			}
		}
		one := map[string]any{
			"type": "object", "description": plainText(cmp.Or(p.Description, p.Title), maxDescription), "required": []string{"name"}, "additionalProperties": false,
			"properties": map[string]any{"name": map[string]any{"const": p.Name}, "arguments": map[string]any{"type": "object", "properties": arguments, "required": required, "additionalProperties": false}},
		}
		if len(required) > 0 {
			one["required"] = []string{"name", "arguments"}
		}
		known = append(known, one)
	}
	made, err := json.Marshal(map[string]any{"type": "object", "required": []string{"name"}, "oneOf": known})
	if len(known) == 0 || err != nil || unusable(made) != "" {
		return json.RawMessage(anyPrompt)
	}
	return made
}

// functions are the operations for what a server has besides tools.
func (s operations) functions(l *listing) []*catalog.Operation {
	var out []*catalog.Operation
	for _, f := range catalog.ServerFunctions {
		if f.Group == "$resources" && !l.About.Resources || f.Group == "$prompts" && !l.About.Prompts {
			continue
		}
		def := serverFunctions[f.Op()]
		op := &catalog.Operation{
			ID: catalog.ID{Kind: catalog.KindUpstream, Owner: s.cfg.ID, Op: f.Op()},
			Contract: catalog.Contract{
				Input: json.RawMessage(def.input), Output: json.RawMessage(def.output),
				Effects: readOutside, Proven: true, Untrusted: !s.cfg.Trust,
			},
			Listing: catalog.Listing{
				Summary: fmt.Sprintf(def.summary, s.cfg.ID), Reach: catalog.ReachScript,
			},
		}
		if f.Op() == "$prompts.get" {
			op.Input = promptInput(l.Prompts)
		}
		op.Handler = func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
			return s.callFunction(ctx, f.Op(), c.Input(), c)
		}
		out = append(out, op)
	}
	return out
}

var readOutside = catalog.Effects{Outside: true, ReadOnly: true, Idempotent: true}

// callFunction requests a server's resources or prompts.
func (s operations) callFunction(ctx context.Context, op string, input json.RawMessage, c catalog.Call) (json.RawMessage, error) {
	def := serverFunctions[op]
	var in functionInput
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fault.Invalid(fault.Detail{Message: err.Error()})
	}
	return s.call(ctx, &request{tool: op, input: input, output: json.RawMessage(def.output), effects: readOutside, call: c, function: &def, in: in})
}

// resourceNotFound is the code of an unknown resource before 2026-07-28.
const resourceNotFound = -32002

// functionResult is the value of a request for resources or prompts: MCP's result, without
// what belongs to the protocol. Bytes are in base64.
func (s *results) functionResult(r *request, raw json.RawMessage) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members[r.function.member] == nil {
		return nil, s.broken(r, "its result has no "+r.function.member)
	}
	for name := range members {
		if name != r.function.member && name != "nextCursor" && name != "description" {
			delete(members, name)
		}
	}
	for name, raw := range members { // servers write null for what they have not
		if string(raw) == "null" {
			delete(members, name)
		}
	}
	out, err := json.Marshal(members)
	if err != nil {
		return nil, s.broken(r, "its result cannot be read")
	}
	if f := s.checkOutput(r, out); f != nil {
		return nil, f
	}
	return out, nil
}
