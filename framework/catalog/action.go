package catalog

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// ActionPrompt returns the prompt by which a person has an action carried out: it has the
// action's name, and an argument for each member of its input. One that is not to be listed as a
// tool is not offered to people either.
func ActionPrompt(op *Operation) *Prompt {
	p := &Prompt{Name: op.ID.Op, Title: op.Title, Description: op.Summary, Shown: func(v *View) bool { return op.Reach&ReachTools != 0 && v.Allowed(op.ID) }}
	var schema struct {
		Properties map[string]struct {
			Description string `json:"description"`
			Enum        []any  `json:"enum"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(op.Input, &schema) // one without such members has no arguments
	names := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		property := schema.Properties[name]
		a := Argument{Name: name, Description: property.Description, Required: slices.Contains(schema.Required, name)}
		var choices []string
		for _, choice := range property.Enum {
			if text, ok := choice.(string); ok {
				choices = append(choices, text)
			}
		}
		if len(choices) > 0 {
			a.Complete = func(_ *View, typed string) []string { return Beginning(choices, typed) }
		}
		p.Arguments = append(p.Arguments, a)
	}
	p.Render = func(_ context.Context, v *View, arguments map[string]string) ([]Message, error) {
		given, err := json.Marshal(arguments)
		if err != nil {
			return nil, err
		}
		how := "the tool " + v.Snapshot().ToolName(op.ID)
		if !v.Listed(op.ID) || !v.lists(op) {
			how = "a script: SDK." + strings.Join(SDKPath(op.ID), ".")
		}
		text := op.Summary + "\n\nDo this with " + how + ". The arguments, as a person wrote them: " + string(given)
		return []Message{{Content: Content{Text: text}}}, nil
	}
	return p
}
