package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/exposure"
)

// View is a snapshot seen with one principal's rights and one exposure mode.
// Descriptions, types, search and bindings are made from it and carry its
// version. It is immutable.
type View struct {
	snapshot  *Snapshot
	mode      exposure.Mode
	auto      bool
	version   string
	tools     []*Operation
	toolByID  map[ID]bool
	script    []*Operation
	scripted  map[ID]bool
	resources []*Resource // those with scripted operations, narrowed to the rights
	byName    map[string]*Resource
	allowed   map[ID]bool
	whole     bool                 // the rights hide nothing
	seen      map[string]*Resource // narrowed to the rights, whatever the mode shows
	narrowed  map[ID]*Operation    // where the rights make it another one

	memo sync.Map // what projections made of this view, by their own key
}

func newView(s *Snapshot, p auth.Principal, mode exposure.Mode, auto bool, key string) *View {
	sum := sha256.Sum256([]byte(s.version + "\x1c" + key))
	v := &View{
		snapshot: s, mode: mode, auto: auto, version: hex.EncodeToString(sum[:8]),
		toolByID: map[ID]bool{}, scripted: map[ID]bool{}, allowed: map[ID]bool{}, byName: map[string]*Resource{},
	}
	nowhere := map[string]bool{} // entities none of whose sets the principal may name
	for _, r := range s.resources {
		nowhere[r.Name] = len(visibleSets(places(r), p)) == 0
	}
	for _, op := range s.operations {
		v.allowed[op.ID] = p.Missing(op.Scopes) == "" && !nowhere[op.Resource]
	}
	v.look(p)
	ops := map[string][]string{} // resource -> scripted ops
	for _, op := range s.operations {
		if !v.allowed[op.ID] {
			continue
		}
		op = v.Operation(op.ID)
		offer := exposure.Entity(mode, op.Exposure, op.Default, auto)
		if op.ID.Kind == KindCode {
			offer = exposure.Offer{Listed: exposure.CodeTools(mode)}
		}
		if offer.Listed && op.Reach&ReachTools != 0 {
			v.tools = append(v.tools, op)
			v.toolByID[op.ID] = true
		}
		if offer.Scripted && op.Reach&ReachScript != 0 {
			v.script = append(v.script, op)
			v.scripted[op.ID] = true
			if op.Resource != "" {
				ops[op.Resource] = append(ops[op.Resource], op.ID.Op)
			}
		}
	}
	for _, r := range s.resources {
		has := ops[r.Name]
		if len(has) == 0 {
			continue
		}
		seen := *v.seen[r.Name]
		seen.Operations = slices.DeleteFunc(slices.Clone(r.Operations), func(op string) bool { return !slices.Contains(has, op) })
		v.resources = append(v.resources, &seen)
		v.byName[r.Name] = &seen
	}
	// An edge to an entity that this view hides exists in no type, filter or with.
	for _, r := range v.resources {
		r.Edges = slices.DeleteFunc(slices.Clone(r.Edges), func(e Edge) bool { return v.byName[e.Target] == nil })
	}
	return v
}

// look narrows entities and operations to a principal's rights.
func (v *View) look(p auth.Principal) {
	v.whole, v.seen, v.narrowed = true, map[string]*Resource{}, map[ID]*Operation{}
	for _, r := range v.snapshot.resources {
		seen := *r
		seen.Operations = slices.DeleteFunc(slices.Clone(r.Operations), func(op string) bool { return !v.allowed[EntityID(r.Name, op)] })
		seen.Sets = visibleSets(r.Sets, p)
		seen.Fields = visibleFields(r.Fields, p, slices.ContainsFunc(seen.Operations, func(op string) bool { return slices.Contains(filling, op) }))
		seen.Searchable = r.Searchable && slices.ContainsFunc(seen.Fields, func(f Field) bool { return f.Searchable && !f.WriteOnly })
		v.whole = v.whole && len(seen.Operations) == len(r.Operations) && slices.Equal(seen.Sets, r.Sets) && reflect.DeepEqual(seen.Fields, r.Fields)
		if len(seen.Operations) > 0 {
			v.seen[r.Name] = &seen
		}
	}
	if v.whole {
		return
	}
	for _, r := range v.seen {
		r.Edges = slices.DeleteFunc(slices.Clone(r.Edges), func(e Edge) bool { return v.seen[e.Target] == nil })
	}
	for _, op := range v.snapshot.operations {
		if op.Narrow != nil && v.allowed[op.ID] {
			v.narrowed[op.ID] = op.Narrow(v)
		}
	}
}

// filling are the operations that give values to fields.
var filling = []string{"new", "upsert", "upsert-many", "patch", "update-by-query"}

// Whole tells that the principal's rights hide nothing of the entities.
func (v *View) Whole() bool { return v.whole }

// Sees gives an entity narrowed to the principal's rights, whatever the mode shows;
// nil if there is nothing that the principal may do with it.
func (v *View) Sees(name string) *Resource { return v.seen[name] }

// Operation gives an operation as this view sees it, nil if its scopes are not
// covered, its entity is in no set that the principal may name, or there is none.
func (v *View) Operation(id ID) *Operation {
	switch op := v.narrowed[id]; {
	case op != nil:
		return op
	case v.allowed[id]:
		return v.snapshot.Operation(id)
	}
	return nil
}

// Narrow gives the view with only the operations that keep lets through: what one
// run may do that gave up the rest. Entities without any operation left exist in
// none of its edges.
func (v *View) Narrow(keep func(ID) bool) *View {
	n := &View{snapshot: v.snapshot, mode: v.mode, auto: v.auto, version: v.version + "~", whole: v.whole, seen: v.seen, narrowed: v.narrowed, toolByID: map[ID]bool{}, scripted: map[ID]bool{}, allowed: map[ID]bool{}, byName: map[string]*Resource{}}
	for id, may := range v.allowed {
		n.allowed[id] = may && keep(id)
	}
	for _, op := range v.tools {
		if keep(op.ID) {
			n.tools = append(n.tools, op)
			n.toolByID[op.ID] = true
		}
	}
	for _, op := range v.script {
		if keep(op.ID) {
			n.script = append(n.script, op)
			n.scripted[op.ID] = true
		}
	}
	for _, r := range v.resources {
		seen := *r
		seen.Operations = slices.DeleteFunc(slices.Clone(r.Operations), func(op string) bool { return !keep(EntityID(r.Name, op)) })
		if len(seen.Operations) > 0 {
			n.resources = append(n.resources, &seen)
			n.byName[r.Name] = &seen
		}
	}
	for _, r := range n.resources {
		r.Edges = slices.DeleteFunc(slices.Clone(r.Edges), func(e Edge) bool { return n.byName[e.Target] == nil })
	}
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

// visibleSets narrows an entity's sets to what a principal may name. A declared
// pattern stays if the principal may name all of it, and becomes the
// principal's own narrower names otherwise.
func visibleSets(sets []string, p auth.Principal) []string {
	if sets == nil {
		return nil
	}
	out := []string{}
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, set := range sets {
		pattern := strings.HasSuffix(set, auth.All)
		for _, own := range p.Sets {
			switch {
			case auth.MatchSet(own, set): // covers the name or the whole pattern
				add(set)
			case pattern && auth.MatchSet(set, own): // the principal's is narrower
				add(own)
			}
		}
	}
	return out
}

// Snapshot is what the view sees.
func (v *View) Snapshot() *Snapshot { return v.snapshot }

// Mode is the resolved exposure mode.
func (v *View) Mode() exposure.Mode { return v.mode }

// Negotiated tells that the server's mode was left open, so that package defaults
// count.
func (v *View) Negotiated() bool { return v.auto }

// Version identifies the view: snapshot, rights and mode.
func (v *View) Version() string { return v.version }

// Tools are the operations listed as tools, by ID. Do not change the slice.
func (v *View) Tools() []*Operation { return v.tools }

// Script are the operations that scripts can call, by ID.
func (v *View) Script() []*Operation { return v.script }

// Resources are the entities that scripts see, by name, narrowed to the
// principal's rights: operations, sets, edges.
func (v *View) Resources() []*Resource { return v.resources }

// Resource gives a scripted entity by name, nil if the view has none.
func (v *View) Resource(name string) *Resource { return v.byName[name] }

// Listed tells whether an operation is a tool in this view.
func (v *View) Listed(id ID) bool { return v.toolByID[id] }

// Scripted tells whether scripts can call an operation in this view.
func (v *View) Scripted(id ID) bool { return v.scripted[id] }

// Allowed tells whether the principal's scopes cover an operation, whatever the
// mode shows.
func (v *View) Allowed(id ID) bool { return v.allowed[id] }

// Effects are what a caller may rely on: an operation's own, and for a script also
// those outside of all that it can call.
func (v *View) Effects(op *Operation) Effects {
	e := op.Effects
	if op.ID.Kind == KindCode && !e.ReadOnly {
		e.Outside = e.Outside || slices.ContainsFunc(v.script, func(called *Operation) bool { return called.Effects.Outside })
	}
	return e
}

// Tool finds a listed operation by tool name, in either spelling: dotted, or
// with "_" for ".". One that is switched off is found too: calling it says so.
// nil if the view has none of that name.
func (v *View) Tool(name string) *Operation {
	known := func(op *Operation) bool { return v.toolByID[op.ID] || op.Reach == 0 && v.allowed[op.ID] }
	if op := v.snapshot.byTool[name]; op != nil && known(op) {
		return op
	}
	for _, op := range v.snapshot.operations {
		if known(op) && Underscored(v.snapshot.toolNames[op.ID]) == name {
			return op
		}
	}
	return nil
}

// Underscored spells a tool name for clients that refuse dots.
func Underscored(tool string) string { return strings.ReplaceAll(tool, ".", "_") }

// Memo gives what a projection made of this view under a key, making it once.
// make may run more than once when callers race; one result is kept.
func Memo[T any](v *View, key any, make func() T) T {
	if got, ok := v.memo.Load(key); ok {
		return got.(T)
	}
	got, _ := v.memo.LoadOrStore(key, make())
	return got.(T)
}
