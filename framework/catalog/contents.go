package catalog

import (
	"context"
	"encoding/json"
)

// contents is the whole catalog as one caller sees it, without types, which declarations
// and schemas have.
type contents struct {
	App      string           `json:"app"`
	Version  string           `json:"version"` // of the build
	Catalog  string           `json:"catalogVersion"`
	Mode     string           `json:"mode"`
	Entities []contentsEntity `json:"entities"`
	Tools    []contentsTool   `json:"tools"`
}

type contentsEntity struct {
	Name          string            `json:"name"`
	Description   string            `json:"description,omitempty"`
	Sets          []string          `json:"sets,omitempty"`
	Operations    []string          `json:"operations"`
	Relationships map[string]string `json:"relationships,omitempty"` // what they lead to, by name
	Scripted      bool              `json:"scripted"`                // scripts can use it
}

type contentsTool struct {
	Name        string `json:"name"` // with dots
	Summary     string `json:"summary"`
	Entity      string `json:"entity,omitempty"`
	ReadOnly    bool   `json:"readOnly"`
	Destructive bool   `json:"destructive"`
	Outside     bool   `json:"outside"`
}

// Contents is the document that lists what a caller can use: nothing that its rights or
// its mode hide is in it. version is that of the app's build.
func Contents(app, version string) *Document {
	return &Document{
		URI: "koan://catalog.json", Name: "catalog", MIME: "application/json",
		Description: "What there is: the entities with their sets, operations and relationships, and the tools.",
		Read: func(_ context.Context, v *View, _ string) ([]byte, error) {
			out := contents{
				App: app, Version: version, Catalog: v.Version(), Mode: string(v.Mode()),
				Entities: contentsEntities(v), Tools: []contentsTool{},
			}
			for _, op := range v.Tools() {
				effects := v.Effects(op)
				out.Tools = append(out.Tools, contentsTool{
					Name: v.Snapshot().ToolName(op.ID), Summary: op.Summary, Entity: op.Resource,
					ReadOnly: effects.ReadOnly, Destructive: effects.Destructive, Outside: effects.Outside,
				})
			}
			return json.Marshal(out)
		},
	}
}

// contentsEntities are those that scripts can use and those that have tools, in the
// catalog's order.
func contentsEntities(v *View) []contentsEntity {
	shown := map[string]*Resource{}
	for _, op := range v.Tools() {
		if r := v.At(SurfaceTools).Resource(op.Resource); r != nil {
			shown[r.Name] = r
		}
	}
	for _, r := range v.Resources() {
		shown[r.Name] = r
	}
	out := []contentsEntity{}
	for _, declared := range v.Snapshot().Resources() {
		r := shown[declared.Name]
		if r == nil {
			continue
		}
		e := contentsEntity{
			Name: r.Name, Description: r.Description, Sets: r.Sets, Operations: r.Operations,
			Relationships: map[string]string{}, Scripted: v.Resource(r.Name) != nil,
		}
		for _, edge := range r.Edges {
			if shown[edge.Target] != nil && !edge.WriteOnly {
				e.Relationships[edge.Name] = edge.Target
			}
		}
		out = append(out, e)
	}
	return out
}
