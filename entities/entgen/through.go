package entgen

import (
	"entgo.io/ent/entc/gen"
)

// throughSchema is the schema of an edge of many to many, given on either side; nil
// where the edge has none.
func throughSchema(e *gen.Edge) *gen.Type {
	switch {
	case e.Through != nil:
		return e.Through
	case e.Ref != nil && e.M2M():
		return e.Ref.Through
	}
	return nil
}

// writtenElsewhere says where an edge is written whose schema cannot be filled by
// linking both sides: what ent then writes passes the schema's hooks by, has none
// of its required fields, or gives one id to several rows. It is "" for edges that
// are written as any other.
func (m *model) writtenElsewhere(e *gen.Edge) string {
	t := throughSchema(e)
	switch {
	case t == nil:
		return ""
	case m.exposed[t.Name] != nil:
		return "It is written as " + t.Name + "."
	case t.NumHooks() > 0 || t.NumPolicy() > 0, !m.linkable(e, t):
		return "It is written by the app only."
	}
	return ""
}

// linkable reports whether ent can make a row of an edge schema from the two ids.
func (m *review) linkable(e *gen.Edge, t *gen.Type) bool {
	if t.HasOneFieldID() && t.ID.UserDefined && !numbered(t.ID) {
		return false
	}
	for _, f := range t.Fields {
		// Defaults of the app are there only on the side that names the schema.
		kept := f.Optional || f.Default && (e.Through != nil || f.Column().Default != nil)
		if !kept && f.Name != e.Rel.Columns[0] && f.Name != e.Rel.Columns[1] {
			return false
		}
	}
	for _, other := range t.Edges {
		if other.OwnFK() && !other.Optional && other.Field() == nil {
			return false
		}
	}
	return true
}

// compositeIDName names a type that has no id of one field.
func compositeIDName(n *gen.Type) string {
	if n.IsView() {
		return "a view"
	}
	return "an edge schema with a composite id"
}
