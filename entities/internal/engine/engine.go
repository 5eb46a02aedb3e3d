package engine

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/entities/internal/write"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
)

// engine is what all operations share. Once started it is immutable, except for client.
type engine struct {
	base   *engine        // with all that there is; nil where this is it
	sight  *catalog.Sight // what is seen; nil for all
	app    *shim.App
	opts   Options
	reader *read.Engine                // from the start on
	writer *write.Writer               // likewise
	byType map[string]*kind            // by ent type: all
	byName map[string]*kind            // by resource: the exposed ones
	client atomic.Pointer[shim.Client] // of some set, once one was opened
}

// kind is one ent type with what is looked up often.
type kind struct {
	*shim.Kind
	edges []edge
	rules map[string]rules
	// refers has what fields that are foreign keys refer to, hidden edges or not.
	refers map[string]*kind

	// Of a kind as a caller sees it: partial says that the caller reads less of a row than
	// there is, blind that a new row needs an edge that the caller does not see.
	partial, blind bool
}

// edge joins the two descriptions of an edge.
type edge struct {
	json   *catalog.Edge
	column *descriptor.Edge
	target *kind
	keyed  bool // writing it is writing a column of its own table
}

// newEngine indexes an app. It panics on a pattern or schema that does not compile,
// which is a programming error.
func newEngine(app *shim.App, o Options) *engine {
	e := &engine{app: app, opts: o, byType: map[string]*kind{}, byName: map[string]*kind{}}
	for _, s := range app.Kinds {
		k := &kind{Kind: s, rules: map[string]rules{}, refers: map[string]*kind{}}
		e.byType[s.Type] = k
		if s.Entity == nil {
			continue
		}
		e.byName[s.Entity.Resource.Name] = k
		s.Entity.Resource.Operations = offeredOperations(&s.Entity.Resource)
		for i := range s.Entity.Resource.Fields {
			f := &s.Entity.Resource.Fields[i]
			r, err := newRules(f)
			if err != nil {
				panic(fmt.Sprintf("entities: %s: %v", s.Type, err))
			}
			k.rules[f.Name] = r
		}
	}
	for _, k := range e.byName {
		for _, c := range k.Entity.Columns {
			if target := e.byName[c.Refers]; target != nil {
				k.refers[c.Field] = target
			}
		}
		for i := range k.Entity.Resource.Edges {
			json := &k.Entity.Resource.Edges[i]
			column := k.Entity.Edge(json.Name)
			k.edges = append(k.edges, edge{json: json, column: column, target: e.byName[json.Target], keyed: column.Own()})
		}
	}
	return e
}

// offeredOperations returns the operations that an entity has, of those that its schema
// names.
func offeredOperations(r *catalog.Resource) []string {
	wanted, out := r.Operations, []string{}
	for i := range operations {
		if o := &operations[i]; !(o.Access.Writes() && r.ReadOnly) && (len(wanted) == 0 || slices.Contains(wanted, o.Name)) {
			out = append(out, o.Name)
		}
	}
	return out
}

// unrestricted returns the engine without the restrictions of a view.
func (e *engine) unrestricted() *engine {
	if e.base != nil {
		return e.base
	}
	return e
}

// resource describes an entity as it is seen, nil if it is not.
func (e *engine) resource(name string) *catalog.Resource {
	if e.sight != nil {
		return e.sight.Resource(name)
	}
	if k := e.byName[name]; k != nil {
		return &k.Entity.Resource
	}
	return nil
}

func (k *kind) name() string { return k.Entity.Resource.Name }

func (k *kind) key() *catalog.Field { return &k.Entity.Resource.Key }

// field returns a field by its JSON name, nil if there is none.
func (k *kind) field(name string) *catalog.Field {
	for i := range k.Entity.Resource.Fields {
		if f := &k.Entity.Resource.Fields[i]; f.Name == name {
			return f
		}
	}
	return nil
}

// edge returns an edge by its JSON name, nil if there is none.
func (k *kind) edge(name string) (*edge, *kind) {
	for i := range k.edges {
		if k.edges[i].json.Name == name {
			return &k.edges[i], k.edges[i].target
		}
	}
	return nil, nil
}

// bindID returns a native id as it is bound in plain SQL.
func (k *kind) bindID(id any) any {
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
