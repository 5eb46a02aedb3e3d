package entgen

import (
	"encoding/json"
	"slices"
	"strings"

	"entgo.io/ent/entc/gen"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/expose"
	inputs "github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/catalog"
)

// place is a kind of things that schemas declare, with the annotation that is read there; the
// two others do nothing.
type place struct{ what, plural, annotation, goType, remedy string }

var (
	onSchema = place{"a schema", "schemas", expose.EntityName, "expose.Entity", "a schema takes expose.Entity, and without it nobody sees anything of it"}
	onField  = place{"a field", "fields", expose.FieldName, "expose.Field", "a field takes expose.Field, and expose.Field{Sensitive: expose.Yes()} hides what it has"}
	onEdge   = place{"an edge", "edges", expose.EdgeName, "expose.Edge", "an edge takes expose.Edge, and expose.Edge{Hidden: expose.Yes()} hides it"}
	onIndex  = place{what: "an index", remedy: "an index cannot have one"}
)

// checkPlaces reports annotations that stand where nothing reads them: whoever wrote one
// believes that it hides or limits something.
func (m *review) checkPlaces(n *gen.Type) {
	check := func(where string, p place, all gen.Annotations) {
		for _, other := range []place{onSchema, onField, onEdge} {
			if _, stands := all[other.annotation]; stands && other.annotation != p.annotation {
				m.problem("%s: %s is for %s and does nothing on %s: %s", where, other.goType, other.plural, p.what, p.remedy)
			}
		}
	}
	check(n.Name, onSchema, n.Annotations)
	for _, f := range n.Fields {
		check(n.Name+"."+f.Name, onField, f.Annotations)
	}
	for _, e := range n.Edges {
		check(n.Name+"."+e.Name, onEdge, e.Annotations)
	}
	for _, x := range n.Indexes {
		check(n.Name+", index "+x.Name, onIndex, x.Annotations)
	}
	if n.HasOneFieldID() {
		check(n.Name+"."+n.ID.Name, onField, n.ID.Annotations)
	}
}

// describeID returns what the annotation of an id says of it. An id is always read, and
// whether callers may set it is ent's to say, so the annotation can do nothing else.
func (m *model) describeID(n *gen.Type) string {
	where := n.Name + "." + n.ID.Name
	a := decode[expose.Field](m, where, n.ID.Annotations, expose.FieldName)
	if a == nil {
		return ""
	}
	rest := *a
	rest.Description = ""
	if raw, err := json.Marshal(rest); err != nil || string(raw) != "{}" {
		m.problem("%s: of expose.Field an id takes the Description only; limits of an id are ent's (MaxLen, Match), and nothing hides it", where)
	}
	return a.Description
}

// checkSamples reports a default or an example that callers could not send: a model with
// the default could not be sent back, and the examples of tools would fail.
func (m *review) checkSamples(where string, f *gen.Field, s shape, cf *catalog.Field, c *descriptor.Column) {
	// What a type of the app's own takes is known to its code only.
	if s.Seen == "" && len(cf.Default) > 0 && string(cf.Default) != "null" {
		if why := inputs.Unfit(c, cf, cf.Default); why != "" {
			m.problem("%s: its default %s cannot be sent back by callers: %s; change the default or the limit", where, cf.Default, why)
		}
	}
	if len(cf.Example) == 0 {
		return
	}
	why := inputs.Unfit(c, cf, cf.Example)
	if text := ""; why == "" && json.Unmarshal(cf.Example, &text) == nil && cf.Type == catalog.TypeString {
		if size := f.Column().Size; size > 0 && int64(len(text)) > size { // ent counts bytes
			why = "it needs more bytes of UTF-8 than MaxLen lets it have"
		}
	}
	if why != "" {
		m.problem("%s: its Example %s cannot be sent by callers: %s", where, cf.Example, why)
	}
}

// checkScopes reports scopes that no token can carry: RFC 6749 separates them by spaces.
func (m *review) checkScopes(where, member string, scopes []string) {
	for _, s := range scopes {
		if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			m.problem("%s: %s has %q, which no token can carry: a scope is a word of printable ASCII without spaces, quotes and backslashes, such as \"pay:read\"", where, member, s)
		}
	}
}

// checkOperations reports operations that there are not, and those that a read-only entity
// does not have.
func (m *review) checkOperations(n *gen.Type, a *expose.Entity) {
	known := catalog.EntityOperationNames()
	for _, op := range a.Operations {
		o, _ := catalog.EntityOperationNamed(op)
		switch {
		case !slices.Contains(known, op):
			m.problem("%s: there is no operation %q; the operations are %s", n.Name, op, strings.Join(known, ", "))
		case isSet(a.ReadOnly) && o.Access.Writes():
			m.problem("%s: it is ReadOnly, and its Operations name %q, which writes: remove one of the two", n.Name, op)
		}
	}
}
