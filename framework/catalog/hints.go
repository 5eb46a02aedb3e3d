package catalog

import "encoding/json"

// Hints are effects as MCP calls them.
func (e Effects) Hints() map[string]bool {
	return map[string]bool{
		"readOnlyHint": e.ReadOnly, "destructiveHint": e.Destructive && !e.ReadOnly,
		"idempotentHint": e.Idempotent || e.ReadOnly, "openWorldHint": e.Outside,
	}
}

// DeclaredHints are the hints that a server declares about its tool where they do not count, since
// nobody vouches for it or the configuration says otherwise: those that differ from Effects.
func (o *Operation) DeclaredHints() map[string]bool {
	var declared map[string]any
	if len(o.Declared["annotations"]) == 0 || json.Unmarshal(o.Declared["annotations"], &declared) != nil {
		return nil
	}
	var out map[string]bool
	for name, holds := range o.Effects.Hints() {
		if says, ok := declared[name].(bool); ok && says != holds {
			if out == nil {
				out = map[string]bool{}
			}
			out[name] = says
		}
	}
	return out
}
