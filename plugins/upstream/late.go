package upstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// lateCall is the operation of a server whose tools are not known yet: it calls any tool by
// name. No tool can have this name.
const lateCall = "$call"

// lateOperation makes the tools of a server callable before they were ever listed. It waits
// for the server, as long as its start may take.
func (s *server) lateOperation() *catalog.Operation {
	op := &catalog.Operation{
		ID:      catalog.ID{Kind: catalog.KindUpstream, Owner: s.cfg.ID, Op: lateCall},
		Summary: fmt.Sprintf("Any tool of the server %s, whose tools are not known yet.", s.cfg.ID),
		Input:   json.RawMessage(`{"type":"object","properties":{"tool":{"type":"string","minLength":1,"maxLength":512},"input":{}},"required":["tool"],"additionalProperties":false}`), Output: anything(nil),
		Effects: catalog.Effects{Outside: true, Destructive: true}, Reach: catalog.ReachScript, Proven: true, Untrusted: !s.cfg.Trust,
	}
	op.Handler = func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
		var in struct {
			Tool  string          `json:"tool"`
			Input json.RawMessage `json:"input"`
		}
		if err := json.Unmarshal(c.Input(), &in); err != nil {
			return nil, fault.Invalid(fault.Detail{Message: err.Error()})
		}
		if len(in.Input) == 0 {
			in.Input = json.RawMessage("{}")
		}
		if _, err := s.acquire(ctx); err != nil {
			return nil, err
		}
		t, err := s.find(in.Tool)
		if err != nil {
			return nil, err
		}
		return s.call(ctx, &request{tool: t.Name, input: in.Input, output: usableOutput(t.OutputSchema), effects: s.effects(t), call: c})
	}
	return op
}

// find returns a tool by its name, or by its identifier in scripts.
func (s *server) find(name string) (*tool, error) {
	s.mu.Lock()
	l := s.listing
	s.mu.Unlock()
	var names []string
	for _, raw := range l.Tools {
		var t tool
		if json.Unmarshal(raw, &t) != nil || t.Name == "" || !s.cfg.offers(t.Name) {
			continue
		}
		if t.Name == name || catalog.Identifier(t.Name) == name {
			return &t, nil
		}
		names = append(names, t.Name)
	}
	return nil, fault.Newf(fault.ToolNotFound, "the server %s has no tool %q%s", s.cfg.ID, cut(name, 100), fault.DidYouMean(name, names))
}
