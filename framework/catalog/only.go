package catalog

import "strings"

// Only names what a run may call: entities, "plugin:domain", "server:id". nil permits
// everything.
type Only []string

// Permits reports whether an operation may be called.
func (o Only) Permits(id ID) bool {
	if o == nil {
		return true
	}
	for _, name := range o {
		family, owner, ok := strings.Cut(name, ":")
		switch {
		case !ok && id.Kind == KindEntity && id.Owner == name,
			family == "action" && ok && id.Kind == KindAction && id.Op == owner,
			family == "plugin" && ok && id.Kind == KindPlugin && strings.EqualFold(id.Owner, owner),
			family == "server" && ok && id.Kind == KindUpstream && id.Owner == owner:
			return true
		}
	}
	return false
}
