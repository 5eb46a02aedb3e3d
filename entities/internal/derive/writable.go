package derive

import (
	"slices"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/inspect"
)

// setReadOnly decides which entities can be written: those that the options or the configuration open, and
// whose rows one column names.
func (g *graph) setReadOnly() {
	for _, e := range g.entities {
		e.Resource.ReadOnly = g.options.ReadOnly
		if o, ok := g.overlay(e); ok && o.ReadOnly != nil {
			e.Resource.ReadOnly = *o.ReadOnly
		}
		if why := g.whyReadOnly(e); why != "" {
			e.Resource.ReadOnly = true
			g.unwritable = append(g.unwritable, e)
		}
	}
}

// listUnwritable notes why tables that are served cannot be written.
func (g *graph) listUnwritable() {
	for _, e := range g.unwritable {
		if e.source.Writable() && g.out.Sources[e.Resource.Name] == e.source {
			g.out.Unwritable = append(g.out.Unwritable, inspect.Omitted{Name: e.source.Qualified(), Reason: g.whyReadOnly(e)})
		}
	}
	slices.SortFunc(g.out.Unwritable, func(a, b inspect.Omitted) int { return strings.Compare(a.Name, b.Name) })
}

// whyReadOnly says why an entity cannot be written whatever the configuration says, as the rest of a sentence
// about its table; "" where it can.
func (g *graph) whyReadOnly(e *entity) string {
	r := e.source
	switch {
	case !r.Writable():
		return "it is a " + string(r.Kind)
	case r.Unwritable != "":
		return r.Unwritable
	case len(r.Key) == 0:
		return "the table has no key"
	case len(r.Key) > 1:
		if why := whyKeyReadOnly(r); why != "" {
			return why
		}
	case r.Column(r.Key[0]).Generated:
		return "the database computes its key, and rows of such tables cannot be written yet"
	case r.Column(r.Key[0]).Type == "": // of SQLite: 1 and '1' are two rows, and one id
		return "its key has no type, so that several rows may have the same id, and rows of such tables cannot be written"
	case e.Key.Name == "" && !isExactAsText(r.Column(r.Key[0])):
		return "its key is of the type " + r.Column(r.Key[0]).Type + ", whose values no text is exact for, and rows of such tables cannot be written"
	}
	return g.untraced(e)
}

// isExactAsText reports whether a key's values are those of texts that the database makes of them and reads again.
func isExactAsText(c *inspect.Column) bool {
	switch c.Storage {
	case descriptor.Text, descriptor.Int, descriptor.UUID, descriptor.Time, descriptor.Day, descriptor.Decimal:
		return true
	case descriptor.Bytes:
		return c.Type != "" // else of any type
	case descriptor.Float, descriptor.Bool, descriptor.JSON, descriptor.Held:
	}
	return false
}

// hasKey reports whether columns name the rows of an entity.
func (e *entity) hasKey() bool { return e.Key.Name != "" || len(e.Key.Parts) > 0 }

// whyKeyReadOnly says why rows of a table whose key has several columns cannot be written.
func whyKeyReadOnly(r *inspect.Relation) string {
	for _, name := range r.Key {
		switch c := r.Column(name); {
		case c.Generated:
			return "the database computes " + name + " of its key, and rows of such tables cannot be written yet"
		case c.Storage == descriptor.Bytes || c.Storage == descriptor.JSON || c.Type == "":
			return "its key has the column " + name + ", whose values no text is exact for, and rows of such tables cannot be written"
		}
	}
	return ""
}

// untraced names a foreign key that deletes or changes rows with those of an entity, and along which nobody
// could tell which: it leads to columns other than the key, or to a key that is a text for callers alone.
func (g *graph) untraced(e *entity) string {
	for _, r := range g.found.Relations {
		for _, f := range r.ForeignKeys {
			if f.OnDelete != "" && g.of[g.found.Find(f.Schema, f.Table)] == e && (e.Key.Name == "" || !slices.Equal(f.Refers, e.source.Key)) {
				return "deleting a row of it deletes or changes rows of " + r.Qualified() + " along a foreign key that does not refer to an id, which cannot be undone yet"
			}
		}
	}
	return ""
}

// refer notes which rows refer to those of an entity along a foreign key. Of rows that no column names, or
// that the configuration hides, nobody could keep what a deletion does to them: it is refused where there are
// any.
func (e *entity) refer(one *toOne, hidden bool) {
	if one.column == "" {
		return
	}
	r := descriptor.Referrer{
		Entity: e.Resource.Name, Column: one.column,
		Cascade: one.key.OnDelete == "CASCADE", SetNull: one.key.OnDelete == "SET NULL",
	}
	switch {
	case !hidden && len(e.source.Key) > 0 && e.hasKey():
		one.to.Referrers = append(one.to.Referrers, r)
	case r.Cascade || r.SetNull:
		one.to.Unexposed = append(one.to.Unexposed, descriptor.Unexposed{Table: e.Table, Column: one.column})
	}
}
