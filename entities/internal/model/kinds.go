// Package model is the entities of an app as callers see them: their kinds with fields and
// edges, what operations take and return, and what inputs say, once they are decoded.
//
// What belongs here: what is known without looking at data. Not here: a
// transaction, or anything that reads or writes rows.
package model

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
)

// Model is the entities of an app: all of them, or what somebody sees of them. It is
// immutable, except for client.
type Model struct {
	base   *Model         // with all that there is; nil where this is it
	sight  *catalog.Sight // what is seen; nil for all
	App    *shim.App
	ByType map[string]*Kind            // by ent type: all
	ByName map[string]*Kind            // by resource: the exposed ones
	client atomic.Pointer[shim.Client] // of some set, once one was opened
}

// Kind is one ent type with what is looked up often.
type Kind struct {
	*shim.Kind
	Edges []Edge
	rules map[string]rules
	// Refers has what fields that are foreign keys refer to, hidden edges or not.
	Refers map[string]*Kind
	// Days are the columns of days, by the names that ent's mutations take.
	Days []string
	// Rounded are the columns of decimals of which SQLite makes numbers, Bounded those whose
	// declared type does not keep every value.
	Rounded, Bounded []*descriptor.Column
	// JSON are the columns of JSON that ent keeps.
	JSON []*descriptor.Column

	// Of a kind as a caller sees it: Partial says that the caller reads less of a row than
	// there is, blind that a new row needs an edge that the caller does not see.
	Partial, blind bool

	schemas schemas
}

// Restores reports whether a row that comes back can be created with its old id.
func (k *Kind) Restores() bool {
	return k.SettableID || k.Entity != nil && k.Entity.Key.Origin == descriptor.Counted
}

// Edge joins the two descriptions of an edge.
type Edge struct {
	JSON   *catalog.Edge
	Column *descriptor.Edge
	Target *Kind
	Keyed  bool // writing it is writing a column of its own table
}

// New indexes an app. It panics on a pattern or schema that does not compile, which
// is a programming error.
func New(app *shim.App) *Model {
	e := &Model{App: app, ByType: map[string]*Kind{}, ByName: map[string]*Kind{}}
	for _, s := range app.Kinds {
		k := &Kind{Kind: s, rules: map[string]rules{}, Refers: map[string]*Kind{}}
		e.ByType[s.Type] = k
		if s.Entity == nil {
			continue
		}
		e.ByName[s.Entity.Resource.Name] = k
		s.Entity.Resource.Operations = offeredOperations(&s.Entity.Resource)
		s.Entity.Resource.Key.Numeric = s.Entity.Key.IsInteger()
		for i := range s.Entity.Resource.Fields {
			f := &s.Entity.Resource.Fields[i]
			f.Numeric = f.Type == catalog.TypeID && s.Entity.Column(f.Name).IsInteger()
			r, err := newRules(f)
			if err != nil {
				panic(fmt.Sprintf("entities: %s: %v", s.Type, err))
			}
			k.rules[f.Name] = r
		}
	}
	for _, k := range e.ByName {
		for i := range k.Entity.Columns {
			c := &k.Entity.Columns[i]
			if target := e.ByName[c.Refers]; target != nil {
				k.Refers[c.Field] = target
			}
			if c.Storage == descriptor.Day {
				k.Days = append(k.Days, c.Name)
			}
			if c.Affinity != "" {
				k.Rounded = append(k.Rounded, c)
			}
			if c.Storage == descriptor.JSON && c.Form == nil {
				k.JSON = append(k.JSON, c)
			}
			if c.Capacity != nil {
				k.Bounded = append(k.Bounded, c)
			}
		}
		for i := range k.Entity.Resource.Edges {
			json := &k.Entity.Resource.Edges[i]
			column := k.Entity.Edge(json.Name)
			k.Edges = append(k.Edges, Edge{JSON: json, Column: column, Target: e.ByName[json.Target], Keyed: column.Own()})
		}
	}
	return e
}

// offeredOperations returns the operations that an entity has, of those that its schema
// names.
func offeredOperations(r *catalog.Resource) []string {
	wanted, out := r.Operations, []string{}
	for i := range Operations {
		if o := &Operations[i]; !(o.Access.Writes() && r.ReadOnly) && (len(wanted) == 0 || slices.Contains(wanted, o.Name)) {
			out = append(out, o.Name)
		}
	}
	return out
}

// unrestricted returns the model without the restrictions of a view.
func (m *Model) unrestricted() *Model {
	if m.base != nil {
		return m.base
	}
	return m
}

// resource describes an entity as it is seen, nil if it is not.
func (m *Model) resource(name string) *catalog.Resource {
	if m.sight != nil {
		return m.sight.Resource(name)
	}
	if k := m.ByName[name]; k != nil {
		return &k.Entity.Resource
	}
	return nil
}

// Name returns the name of the entity.
func (k *Kind) Name() string { return k.Entity.Resource.Name }

// KeyField describes the id.
func (k *Kind) KeyField() *catalog.Field { return &k.Entity.Resource.Key }

// FieldNamed returns a field by its JSON name, nil if there is none.
func (k *Kind) FieldNamed(name string) *catalog.Field {
	for i := range k.Entity.Resource.Fields {
		if f := &k.Entity.Resource.Fields[i]; f.Name == name {
			return f
		}
	}
	return nil
}

// givenKey returns the fields of the unique key for upserts that callers write.
func (k *Kind) givenKey() (names []string) {
	for _, name := range k.Entity.UpsertBy {
		if f := k.FieldNamed(name); f == nil || !f.ReadOnly {
			names = append(names, name)
		}
	}
	return names
}

// HasFilledKey reports whether the app fills other fields of that key.
func (k *Kind) HasFilledKey() bool { return len(k.givenKey()) < len(k.Entity.UpsertBy) }

// EdgeNamed returns an edge by its JSON name, nil if there is none.
func (k *Kind) EdgeNamed(name string) (*Edge, *Kind) {
	for i := range k.Edges {
		if k.Edges[i].JSON.Name == name {
			return &k.Edges[i], k.Edges[i].Target
		}
	}
	return nil, nil
}

// BoundID returns a native id as it is bound in plain SQL.
func (k *Kind) BoundID(id any) any {
	v, err := k.BindID(id)
	if err != nil {
		return invalidID{err}
	}
	return v
}

// invalidID is an id that its Go type refuses to bind; the statement fails with its
// error.
type invalidID struct{ err error }

func (u invalidID) Value() (driver.Value, error) { return nil, u.err }
