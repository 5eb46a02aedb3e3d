package mcpserver

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/fault"
)

// maxQuestions bounds what one client is asked at a time.
const maxQuestions = 64

// dialogs gives the handlers of a session's requests the client that they may ask.
type dialogs struct {
	server *Server
	// lasting is the session as handlers see it; nil on a connection of one request. It is
	// set before the first message.
	lasting   *ask.Session
	questions questions
}

// withClient puts the client of a request into the context of its handler. name and input
// identify the request: answers of 2026-07-28 are valid for that request only.
func (d *dialogs) withClient(ctx context.Context, ex *exchange, name string, input any) (context.Context, *rpcError) {
	if d.lasting != nil {
		ctx = ask.WithSession(ctx, d.lasting)
	}
	if ex.task != nil {
		return ask.With(ctx, ex.task), nil
	}
	if !ex.modern {
		return ask.With(ctx, &dialog{questions: &d.questions, limit: d.server.opts.AskTimeout, peer: ex.peer, to: ex.to, progress: ex.progress}), nil
	}
	r, bad := d.resume(ex, name, input)
	if bad != nil {
		return nil, bad
	}
	ex.rounds = r
	return ask.With(ctx, r), nil
}

// outcome turns the error of a request that waits for its client into the client's
// response; ok is false for any other error.
func (d *dialogs) outcome(ex *exchange, err error) (result any, failed *rpcError, ok bool) {
	if err == nil || !ex.modern {
		return nil, nil, false
	}
	if q, unable := ask.IsUnable(err); unable {
		return nil, missingCapability(requiredCapabilities(q), fault.From(err)), true
	}
	if ex.rounds == nil || len(ask.Waits(err)) == 0 {
		return nil, nil, false
	}
	result, failed = d.inputRequired(ex)
	return result, failed, true
}

// missingCapability rejects a request that can only be served to a client that declares
// some capabilities.
func missingCapability(required map[string]any, f *fault.Fault) *rpcError {
	return &rpcError{
		Code: mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, Message: f.Message,
		Data: withFault(map[string]any{"requiredCapabilities": required}, f),
	}
}

// requiredCapabilities are the capabilities that a client must declare for a question, in
// the form of the protocol's ClientCapabilities.
func requiredCapabilities(q ask.Question) map[string]any {
	var p struct {
		Mode  string          `json:"mode"`
		Tools json.RawMessage `json:"tools"`
	}
	_ = json.Unmarshal(q.Params, &p) // other members matter to the client only
	none := map[string]any{}
	switch {
	case q.Method == ask.Elicitation && p.Mode == "url":
		return map[string]any{"elicitation": map[string]any{"url": none}}
	case q.Method == ask.Elicitation:
		return map[string]any{"elicitation": none}
	case q.Method == ask.Sampling && len(p.Tools) > 0:
		return map[string]any{"sampling": map[string]any{"tools": none}}
	case q.Method == ask.Sampling:
		return map[string]any{"sampling": none}
	}
	return map[string]any{"roots": none}
}

// can reports whether the client declared the capabilities for a question. Elicitation
// declared without modes means forms.
func (p peer) can(q ask.Question) bool {
	for name, part := range requiredCapabilities(q) {
		var declared map[string]json.RawMessage
		if json.Unmarshal(p.asks[name], &declared) != nil || declared == nil {
			return false
		}
		want, _ := part.(map[string]any)
		for mode := range want {
			if _, ok := declared[mode]; !ok {
				return false
			}
		}
		if _, form := declared["form"]; name == "elicitation" && len(want) == 0 && !form && len(declared) > 0 {
			return false // other modes only
		}
	}
	return true
}

// askCapabilities are the members of a client's capabilities that say what it can be asked.
func askCapabilities(capabilities any) map[string]json.RawMessage {
	raw, err := json.Marshal(capabilities)
	if err != nil { // it was JSON when it came
		return nil
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool {
		return !slices.Contains([]string{"elicitation", "sampling", "roots"}, name)
	})
	return all
}
