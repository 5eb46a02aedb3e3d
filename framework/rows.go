package framework

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// rows is the document of the entities of one kind, which clients of MCP subscribe to.
func (s *snapshots) rows() *catalog.Document {
	return &catalog.Document{
		URI: "koan://entities/{name}", Name: "entities", MIME: "application/json", Template: true,
		Description: "The first page of the entities of one kind, in the default set. Subscribers are notified when any of them changes.",
		List:        shownKinds,
		Read: func(ctx context.Context, v *catalog.View, name string) ([]byte, error) {
			if !slices.Contains(shownKinds(v), name) {
				return nil, fault.Newf(fault.NotFound, "there is no entity %s", catalog.Quote(name))
			}
			out, _, err := s.engine.Invoke(ctx, run.Request{
				View: v, Principal: auth.From(ctx), ID: catalog.EntityID(name, "collection"), Input: json.RawMessage("{}"), Surface: "mcp", Via: catalog.SurfaceREST,
			})
			return out, err
		},
		Follows: func(v *catalog.View, name string) (entity, set string) { return name, v.DefaultSet() },
	}
}

// shownKinds are the entities that a view shows in the set of calls that name none.
func shownKinds(v *catalog.View) []string {
	var out []string
	for _, op := range v.Routes() {
		if op.ID.Kind != catalog.KindEntity || op.ID.Op != "collection" {
			continue
		}
		if r := v.At(catalog.SurfaceREST).Resource(op.Resource); r != nil && r.LivesIn(v.DefaultSet()) {
			out = append(out, r.Name)
		}
	}
	slices.Sort(out)
	return out
}
