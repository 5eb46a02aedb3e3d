package plugins

import "github.com/koan-go/koan/framework/catalog"

// takenNames returns the names that a plugin cannot have beside the offers of others, and what has them: its
// functions would be taken for tools of an entity, or for an action.
func takenNames(others []catalog.Offer) map[string]string {
	taken := map[string]string{}
	for _, o := range others {
		for _, r := range o.Resources {
			taken[catalog.Kebab(r.Name)] = "the entity " + r.Name
			if r.ToolPrefix != "" {
				taken[r.ToolPrefix] = "the prefix of the entities' tools"
			}
		}
		for _, op := range o.Operations {
			switch op.ID.Kind {
			case catalog.KindAction:
				taken[op.ID.Op] = "the action " + op.ID.Op
			case catalog.KindPlugin:
				taken[op.ID.Owner] = "functions of " + op.ID.Owner + " that are the app's own"
			case catalog.KindEntity, catalog.KindUpstream, catalog.KindCode: // entities are resources; no name of the others begins a tool's
			}
		}
	}
	return taken
}

// yield notes what has a plugin's name, "" for nothing.
func yield(p *plugin, to string) {
	if p.state().yields == to {
		return
	}
	p.update(func(s *state) { s.yields = to })
	if to != "" {
		p.log.Error("the plugin is not offered: its name is that of "+to, "path", p.path)
	}
}
