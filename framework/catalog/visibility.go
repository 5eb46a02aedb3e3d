package catalog

import (
	"reflect"
	"slices"
	"sync"
)

// Surface is where a call comes from. Exposure modes hide entities from a surface,
// and what is hidden there cannot be reached there by a relationship either. Plans and tapes
// keep the numbers, so that a new one comes last.
type Surface uint8

const (
	SurfaceApp    Surface = iota // the app's own code: all that the principal's rights allow
	SurfaceTools                 // operations that are listed as tools
	SurfaceScript                // SDK in a script
	SurfaceREST                  // routes of the REST API
	surfaces
)

// Sight is what a caller sees of entities on one surface. It is the one place where
// entities are narrowed to rights: types, schemas, validation, search, decoding and
// execution of calls take entities and operations from here. It is immutable, and made
// at its first use.
type Sight struct {
	view      *View
	surface   Surface
	resources map[string]*Resource
	whole     bool

	narrowed sync.Map // ID -> *Operation
	memo     sync.Map
}

// At returns the sight of the view on a surface.
func (v *View) At(s Surface) *Sight {
	at := &v.at[s]
	at.looking.Do(func() { at.sight = newSight(v, s) })
	return at.sight
}

func newSight(v *View, surface Surface) *Sight {
	s := &Sight{view: v, surface: surface, resources: map[string]*Resource{}, whole: true}
	for _, r := range v.snapshot.resources {
		seen := *r
		seen.Operations = slices.DeleteFunc(slices.Clone(r.Operations), func(op string) bool { return !s.Has(EntityID(r.Name, op)) })
		seen.Sets = visibleSets(r.Sets, v.who)
		seen.Fields = visibleFields(r.Fields, v.who, seen.does(AccessModel, AccessCreate, AccessStore))
		seen.Searchable = r.Searchable && slices.ContainsFunc(seen.Fields, func(f Field) bool { return f.Searchable && !f.WriteOnly })
		s.whole = s.whole && len(seen.Operations) == len(r.Operations) && slices.Equal(seen.Sets, r.Sets) && reflect.DeepEqual(seen.Fields, r.Fields)
		if len(seen.Operations) > 0 {
			s.resources[r.Name] = &seen
		}
	}
	for _, r := range v.snapshot.resources {
		if seen := s.resources[r.Name]; seen != nil {
			seen.Edges = s.edges(seen)
			s.whole = s.whole && reflect.DeepEqual(seen.Edges, r.Edges)
		}
	}
	return s
}

// Has reports whether the caller can call an operation on this surface.
func (s *Sight) Has(id ID) bool {
	switch s.surface {
	case SurfaceTools:
		return s.view.toolByID[id]
	case SurfaceScript:
		return s.view.scripted[id]
	case SurfaceREST:
		return s.view.routed[id]
	case SurfaceApp:
	}
	return s.view.allowed[id]
}

// Whole reports whether nothing of the catalog's entities is hidden.
func (s *Sight) Whole() bool { return s.whole }

// Resource returns an entity with the operations, sets, fields and edges that the caller
// sees. It is nil if the caller cannot do anything with it.
func (s *Sight) Resource(name string) *Resource { return s.resources[name] }

// Operation returns an operation as the caller sees it, nil if the caller cannot call it.
func (s *Sight) Operation(id ID) *Operation {
	if !s.Has(id) {
		return nil
	}
	op := s.view.snapshot.Operation(id)
	if op == nil || op.Narrow == nil || s.whole {
		return op
	}
	if made, ok := s.narrowed.Load(id); ok {
		return made.(*Operation)
	}
	made, _ := s.narrowed.LoadOrStore(id, op.Narrow(s))
	return made.(*Operation)
}

// SightMemo returns what a provider made of a sight under a key, making it once.
// make may run more than once when callers race; one result is kept.
func SightMemo[T any](s *Sight, key any, make func() T) T {
	if got, ok := s.memo.Load(key); ok {
		return got.(T)
	}
	got, _ := s.memo.LoadOrStore(key, make())
	return got.(T)
}

func (s *Sight) edges(own *Resource) []Edge {
	var out []Edge
	for _, e := range own.Edges {
		if seen, ok := s.edge(own, e); ok {
			out = append(out, seen)
		}
	}
	return out
}

// edge is the one rule of relationships. An edge is as visible and as writable as
// the fields that hold it, its target, and the rows that change with it:
//
//   - It exists where the target can be read here: by its scopes, by the exposure on
//     this surface, and by a run's `only`.
//   - It can be read where all fields that hold it can be read, whichever side has
//     them. One whose own field can only be written can only be written, too; one
//     that other rows hold does not exist then, since writing it would reveal which
//     rows are linked.
//   - It can be written where those fields can be written, and where the caller may
//     update the rows that change: the target's where these hold it; those of both
//     sides where a table between them does, unless the links are declared to belong
//     to this side alone. A field that is set at creation only makes the edge one
//     that is set at creation only, or, from the other side, never.
func (s *Sight) edge(own *Resource, e Edge) (Edge, bool) {
	target := s.resources[e.Target]
	if target == nil || !target.Readable() {
		return e, false
	}
	for _, k := range e.Keys {
		if !s.reads(own, e, k) {
			e.WriteOnly = true
		}
	}
	written := own.does(AccessCreate, AccessStore)
	if written {
		s.writable(&e, target)
	}
	return e, !e.WriteOnly || e.Held == HeldHere && !e.ReadOnly && written
}

// writable is the part of the rule that is about writing.
func (s *Sight) writable(e *Edge, target *Resource) {
	for _, k := range e.Keys {
		switch declared := s.view.snapshot.Resource(k.Entity).Field(k.Field); {
		case declared.ReadOnly:
			e.forbid(k.Field + ", which holds it, is read-only.")
		case declared.Immutable && e.Held == HeldHere:
			e.Immutable = true
		case declared.Immutable:
			e.forbid(k.Field + " of " + k.Entity + ", which holds it, is set at creation only.")
		}
	}
	if e.Held != HeldHere && !e.Owned && !target.Updatable() {
		e.forbid("It would change " + e.Target + " entities, which you may not change.")
	}
}

// reads reports whether the caller may read a field that holds an edge of an entity.
func (s *Sight) reads(own *Resource, e Edge, k Key) bool {
	holder := own
	if e.Held != HeldHere {
		if holder = s.resources[k.Entity]; holder == nil || !holder.Readable() {
			return false
		}
	}
	f := holder.Field(k.Field)
	return f != nil && f.Readable()
}

// forbid makes an edge read-only; the first reason counts.
func (e *Edge) forbid(why string) {
	if !e.ReadOnly {
		e.ReadOnly, e.Reason = true, why
	}
}
