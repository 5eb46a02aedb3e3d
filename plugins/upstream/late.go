package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/operator"
)

// operations makes a server's tools, and what else it has, callable.
type operations struct{ *server }

// late stands for the tools of a server before they were ever listed. A call of it
// waits for them, as long as the server's start may take, and is then a call of the tool that
// it names: nothing is decided of a tool that nobody knows yet.
func (s operations) late() *catalog.Operation {
	return &catalog.Operation{
		ID: catalog.ID{Kind: catalog.KindUpstream, Owner: s.cfg.ID, Op: catalog.AnyTool},
		Contract: catalog.Contract{
			Input: json.RawMessage(`{"type":"object","properties":{"tool":{"type":"string","minLength":1,"maxLength":512},"input":{}},"required":["tool"],"additionalProperties":false}`), Output: anything(nil),
			Effects: operator.Unknown, Proven: true, Untrusted: !s.cfg.Trust,
		},
		Listing: catalog.Listing{
			Summary: fmt.Sprintf("Any tool of the server %s, whose tools are not known yet.", s.cfg.ID), Reach: catalog.ReachScript,
		},
		Work: catalog.Work{
			Resolve: func(ctx context.Context, c catalog.Call) (*catalog.Operation, json.RawMessage, error) {
				late := lateCall{Input: json.RawMessage("{}")}
				if err := json.Unmarshal(c.Input(), &late); err != nil {
					return nil, nil, fault.Invalid(fault.Detail{Message: err.Error()})
				}
				known := s.current()
				if known == nil {
					if _, err := s.acquire(ctx, c.Principal().Subject); err != nil {
						return nil, nil, err
					}
					known = s.current()
				}
				op, err := known.find(late.Tool)
				return op, late.Input, err
			},
			Await: func(ctx context.Context, p auth.Principal) error {
				return s.awaitListing(ctx, p.Subject)
			},
		},
	}
}

// lateCall is the input of a call of a tool that is not known yet.
type lateCall struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// find returns the operation of a tool by the operation's name, its identifier in scripts, or the
// tool's own name. No identifier is another tool's name (catalog.Exports).
func (o *offer) find(name string) (*catalog.Operation, error) {
	var ops []*catalog.Operation
	var names []string
	for _, op := range o.operations {
		if op.ID.Op == name {
			return op, nil
		}
		if _, ok := serverFunctions[op.ID.Op]; !ok {
			ops, names = append(ops, op), append(names, op.ID.Op)
		}
	}
	exports := catalog.Exports(names)
	if i := slices.Index(exports, name); i >= 0 {
		return ops[i], nil
	}
	if op := o.byName[name]; op != nil {
		return op, nil
	}
	if _, ok := serverFunctions[name]; ok {
		group, _, _ := strings.Cut(name, ".")
		return nil, fault.Newf(fault.ToolNotFound, "the server %s has no %s", o.owner.Name, strings.TrimPrefix(group, "$"))
	}
	return nil, fault.Newf(fault.ToolNotFound, "the server %s has no tool %q%s", o.owner.Name, cut(name, 100), fault.DidYouMean(name, slices.Sorted(maps.Keys(o.byName))))
}
