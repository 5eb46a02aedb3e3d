package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// lateOperation makes the tools of a server callable before they were ever listed, by their
// names. It waits for the server, as long as its start may take.
func (s *server) lateOperation() *catalog.Operation {
	op := &catalog.Operation{
		ID:      catalog.ID{Kind: catalog.KindUpstream, Owner: s.cfg.ID, Op: catalog.AnyTool},
		Summary: fmt.Sprintf("Any tool of the server %s, whose tools are not known yet.", s.cfg.ID),
		Input:   json.RawMessage(`{"type":"object","properties":{"tool":{"type":"string","minLength":1,"maxLength":512},"input":{}},"required":["tool"],"additionalProperties":false}`), Output: anything(nil),
		Effects: unknownEffects, Reach: catalog.ReachScript, Proven: true, Untrusted: !s.cfg.Trust,
	}
	op.Await = func(ctx context.Context, p auth.Principal) error {
		_, err := s.acquire(ctx, p.Subject)
		return err
	}
	op.Decode = func(in catalog.Input) (catalog.Decoded, error) {
		if err := s.schemas.Check(op.Input, in.JSON); err != nil {
			return catalog.Decoded{}, err
		}
		late := lateCall{Input: json.RawMessage("{}"), effects: unknownEffects}
		if err := json.Unmarshal(in.JSON, &late); err != nil {
			return catalog.Decoded{}, fault.Invalid(fault.Detail{Message: err.Error()})
		}
		if _, ok := serverFunctions[late.Tool]; ok {
			late.effects = readOutside
		} else if e, ok := s.cfg.effectsOf(late.Tool); ok {
			late.effects = e
		}
		return catalog.Decoded{Value: late, Effects: &late.effects}, nil
	}
	op.Handler = func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
		late := c.Decoded().(lateCall)
		if _, err := s.acquire(ctx, c.Principal().Subject); err != nil {
			return nil, err
		}
		if _, ok := serverFunctions[late.Tool]; ok {
			return s.lateFunction(ctx, late.Tool, late.Input, c)
		}
		t, err := s.find(late.Tool)
		if err != nil {
			return nil, err
		}
		effects := s.effects(t)
		if late.effects != unknownEffects && effects != late.effects { // of a name like this one
			return nil, fault.Newf(fault.Conflict, "%s is the tool %s, which has other effects than are configured for that name", cut(late.Tool, 100), cut(t.Name, 100)).
				WithHint("Nothing was called. Run the script again: the tools of %s are known now.", s.cfg.ID)
		}
		return s.call(ctx, &request{tool: t.Name, input: late.Input, output: usableOutput(t.OutputSchema, unusable), effects: effects, call: c})
	}
	return op
}

// lateCall is the input of a call of any tool. Its effects are the configured ones, as long
// as nothing else is known of the tool.
type lateCall struct {
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	effects catalog.Effects
}

// lateFunction requests resources or prompts of a server that was not known to have them.
func (s *server) lateFunction(ctx context.Context, op string, input json.RawMessage, c catalog.Call) (json.RawMessage, error) {
	for _, known := range s.current().operations {
		if known.ID.Op != op {
			continue
		}
		wrong, err := s.schemas.Violations(known.Input, input)
		if err != nil {
			return nil, err
		}
		if len(wrong) > 0 {
			return nil, fault.Invalid(wrong...)
		}
		return s.callFunction(ctx, op, input, c)
	}
	group, _, _ := strings.Cut(op, ".")
	return nil, fault.Newf(fault.ToolNotFound, "the server %s has no %s", s.cfg.ID, strings.TrimPrefix(group, "$"))
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
