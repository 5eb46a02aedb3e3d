package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/exposure"
)

// View is a snapshot seen with one principal's rights and one exposure mode.
// Descriptions, types, search and bindings are made from it and carry its
// version. It is immutable. What it shows of entities differs by surface: see At.
type View struct {
	snapshot  *Snapshot
	who       auth.Principal // its scopes and sets
	mode      exposure.Mode
	auto      bool
	version   string
	from      *View // that this one is a part of; nil for none
	toolByID  map[ID]bool
	scripted  map[ID]bool
	routed    map[ID]bool
	allowed   map[ID]bool
	resources []*Resource // those with scripted operations, narrowed to the rights

	at   [surfaces]surfaceView
	memo sync.Map // what projections made of this view, by their own key
}

// surfaceView is what is made once of a view for one surface.
type surfaceView struct {
	listing sync.Once
	listed  []*Operation
	looking sync.Once
	sight   *Sight
}

func newView(s *Snapshot, p auth.Principal, mode exposure.Mode, auto bool, key string) *View {
	sum := sha256.Sum256([]byte(s.version + "\x1c" + key))
	v := &View{
		snapshot: s, who: auth.Principal{Scopes: p.Scopes, Sets: p.Sets}, mode: mode, auto: auto, version: hex.EncodeToString(sum[:8]),
		toolByID: map[ID]bool{}, scripted: map[ID]bool{}, routed: map[ID]bool{}, allowed: map[ID]bool{},
	}
	nowhere := map[string]bool{} // entities none of whose sets the principal may name
	for _, r := range s.resources {
		nowhere[r.Name] = len(visibleSets(places(r), p)) == 0
	}
	for _, op := range s.operations {
		if !allows(p, op) || nowhere[op.Resource] {
			continue
		}
		v.allowed[op.ID] = true
		offer := exposure.Entity(mode, op.Exposure, op.Default, auto)
		switch op.ID.Kind {
		case KindCode:
			offer = exposure.Offer{Listed: exposure.CodeTools(mode)}
		case KindAction: // in every mode
			offer = exposure.Offer{Listed: true, Scripted: exposure.CodeTools(mode)}
		case KindEntity, KindPlugin, KindUpstream:
		}
		v.toolByID[op.ID] = offer.Listed && op.Reach&ReachTools != 0 && op.ListedBeside == nil
		v.scripted[op.ID] = offer.Scripted && op.Reach&ReachScript != 0
		// Modes choose the form in which clients of models get operations; programs get those
		// that are there in any form.
		v.routed[op.ID] = (offer.Listed || offer.Scripted) && op.Reach&ReachREST != 0 && op.ID.Kind.routed()
	}
	v.listBeside()
	v.collect()
	return v
}

// listBeside lists the operations that are listed beside others.
func (v *View) listBeside() {
	listed := maps.Clone(v.toolByID)
	for _, op := range v.snapshot.operations {
		if op.ListedBeside != nil && v.allowed[op.ID] && op.Reach&ReachTools != 0 {
			v.toolByID[op.ID] = slices.ContainsFunc(v.snapshot.operations, func(other *Operation) bool { return listed[other.ID] && op.ListedBeside(other) })
		}
	}
}

// collect lists the entities that scripts see.
func (v *View) collect() {
	scripts := v.At(SurfaceScript)
	for _, r := range v.snapshot.resources {
		if seen := scripts.Resource(r.Name); seen != nil {
			v.resources = append(v.resources, seen)
		}
	}
}

// Sees returns an entity narrowed to the principal's rights, whatever the mode shows;
// nil if there is nothing that the principal may do with it.
func (v *View) Sees(name string) *Resource { return v.At(SurfaceApp).Resource(name) }

// Knows reports whether the principal may learn of an entity: whether it may do anything
// with it, on whatever surface, and even if the run was narrowed to other entities.
func (v *View) Knows(name string) bool {
	for v.from != nil {
		v = v.from
	}
	return v.Sees(name) != nil
}

// Operation returns an operation narrowed to the principal's rights, whatever the mode
// shows; nil if its scopes are not covered, its entity is in no set that the principal
// may name, or there is none.
func (v *View) Operation(id ID) *Operation { return v.At(SurfaceApp).Operation(id) }

// OfScripts returns the view that the app's own scripts have with a principal's rights: what
// the caller is shown has no influence on it.
func (v *View) OfScripts(p auth.Principal) *View { return v.snapshot.View(p, exposure.Full, v.auto) }

// Narrow returns the view of a run that is restricted to the operations for which keep
// returns true. Entities without any operation left exist in none of its edges.
func (v *View) Narrow(keep func(ID) bool) *View {
	n := &View{
		snapshot: v.snapshot, who: v.who, mode: v.mode, auto: v.auto, version: v.version + "~", from: v,
		toolByID: map[ID]bool{}, scripted: map[ID]bool{}, routed: map[ID]bool{}, allowed: map[ID]bool{},
	}
	for id := range v.allowed {
		if keep(id) {
			n.allowed[id], n.toolByID[id], n.scripted[id], n.routed[id] = true, v.toolByID[id], v.scripted[id], v.routed[id]
		}
	}
	n.collect()
	return n
}

// visibleFields makes write-only of fields whose scopes a principal lacks, and
// leaves those out that cannot be written either.
func visibleFields(fields []Field, p auth.Principal, writes bool) []Field {
	hidden := func(f Field) bool { return p.Missing(f.ReadScopes) != "" }
	if !slices.ContainsFunc(fields, hidden) {
		return fields
	}
	out := slices.Clone(fields)
	for i := range out {
		out[i].WriteOnly = out[i].WriteOnly || hidden(out[i])
	}
	return slices.DeleteFunc(out, func(f Field) bool { return hidden(f) && (f.ReadOnly || !writes) })
}

// places are the sets that an entity lives in.
func places(r *Resource) []string {
	if len(r.Sets) == 0 {
		return []string{"default"}
	}
	return r.Sets
}

// visibleSets narrows an entity's sets to what a principal may name; nil stays nil.
func visibleSets(sets []string, p auth.Principal) []string {
	if sets == nil {
		return nil
	}
	return p.Covered(sets)
}

// DefaultSet returns the set of calls that name none.
func (v *View) DefaultSet() string { return v.who.DefaultSet() }

// Snapshot is the snapshot that the view is of.
func (v *View) Snapshot() *Snapshot { return v.snapshot }

// Mode is the resolved exposure mode.
func (v *View) Mode() exposure.Mode { return v.mode }

// Negotiated reports whether the server's mode was left open, so that package defaults
// count.
func (v *View) Negotiated() bool { return v.auto }

// Version identifies the view: snapshot, rights and mode.
func (v *View) Version() string { return v.version }

// Tools are the operations listed as tools, by ID. Do not change the slice.
func (v *View) Tools() []*Operation { return v.operations(SurfaceTools) }

// Script are the operations that scripts can call, by ID. Do not change the slice.
func (v *View) Script() []*Operation { return v.operations(SurfaceScript) }

// operations lists the operations that can be called on a surface, as they are seen
// there.
func (v *View) operations(s Surface) []*Operation {
	own := &v.at[s]
	own.listing.Do(func() {
		at := v.At(s)
		for _, op := range v.snapshot.operations {
			if seen := at.Operation(op.ID); seen != nil && (s != SurfaceTools || v.lists(op)) {
				own.listed = append(own.listed, seen)
			}
		}
	})
	return own.listed
}

// lists reports whether a tool of the view is to be listed (CONTRACT section 2).
func (v *View) lists(op *Operation) bool {
	if op.ID.Kind == KindAction && v.mode == exposure.Code && !op.ListedInCode {
		return false
	}
	return !op.Unlisted
}

// Resources are the entities that scripts see, by name.
func (v *View) Resources() []*Resource { return v.resources }

// Resource returns an entity that scripts see by name, nil if the view has none.
func (v *View) Resource(name string) *Resource { return v.At(SurfaceScript).Resource(name) }

// Listed reports whether an operation is a tool in this view. Tools leaves out those that can be
// called without being listed.
func (v *View) Listed(id ID) bool { return v.toolByID[id] }

// Scripted reports whether scripts can call an operation in this view.
func (v *View) Scripted(id ID) bool { return v.scripted[id] }

// Routes are the operations that REST has routes for, by ID. Do not change the slice.
func (v *View) Routes() []*Operation { return v.operations(SurfaceREST) }

// Allowed reports whether the principal's scopes cover an operation, whatever the
// mode shows.
func (v *View) Allowed(id ID) bool { return v.allowed[id] }

// Effects are what a caller may rely on: an operation's own, and for a script also
// those outside of all that it can call.
func (v *View) Effects(op *Operation) Effects {
	e := op.Effects
	if op.ID.Kind == KindCode && !e.ReadOnly {
		e.Outside = e.Outside || slices.ContainsFunc(v.snapshot.operations, func(called *Operation) bool { return called.Effects.Outside && v.scripted[called.ID] })
	}
	return e
}

// Tool finds a listed operation by tool name, in either spelling: dotted, or with "_" for
// ".". A disabled one is found too, so that a call of it can say so. It returns nil if the
// view has none of that name.
func (v *View) Tool(name string) *Operation {
	id, _ := v.snapshot.ToolID(name)
	if op := v.snapshot.Operation(id); op != nil && op.Reach == 0 && v.allowed[id] {
		return op
	}
	return v.At(SurfaceTools).Operation(id)
}

// Underscored spells a tool name for clients that reject dots.
func Underscored(tool string) string { return strings.ReplaceAll(tool, ".", "_") }

// Memo returns the value of a projection of this view, by key; make makes it at the first
// call. It may run more than once when callers race; one result is kept.
func Memo[T any](v *View, key any, make func() T) T {
	if got, ok := v.memo.Load(key); ok {
		return got.(T)
	}
	got, _ := v.memo.LoadOrStore(key, make())
	return got.(T)
}
