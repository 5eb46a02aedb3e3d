package model

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// maxBatch bounds the models or ids of one call.
const maxBatch = 10_000

// The checked inputs of the writing operations.
type (
	CreateInput struct{ Values *Values }
	UpsertInput struct {
		Values    *Values
		Replace   bool
		IfVersion *int64
	}
	UpsertManyInput struct{ Models []*Values }
	PatchInput      struct {
		ID        any
		Shown     string
		Changes   *Values
		IfVersion *int64
	}
	DeleteInput struct {
		IDs       []any
		Places    []string // where each id stands in the input
		IfVersion *int64
	}
)

// open reads the input object of an operation and reports unknown members. It returns
// nil where the input is not an object.
func (d *report) open(raw json.RawMessage, op string) map[string]any {
	v, problem := filter.Input(raw)
	if problem != nil {
		d.details = append(d.details, *problem)
		return nil
	}
	members, ok := v.(map[string]any)
	if !ok {
		d.wrong("", "an object", v)
		return nil
	}
	known := catalog.EntityInputs(op)
	for _, name := range sortedKeys(members) {
		if !slices.Contains(known, name) && !d.full() {
			d.fail("/"+filter.Escape(name), "unknown input %s%s", filter.Quote(name), fault.DidYouMean(name, known))
		}
	}
	if set, ok := members["set"]; ok {
		if d.set, ok = set.(string); !ok {
			d.wrong("/set", "the name of a set", set)
		}
	}
	return members
}

func (d *report) flag(members map[string]any, name string) bool {
	v, ok := members[name]
	if !ok {
		return false
	}
	b, ok := v.(bool)
	if !ok {
		d.wrong("/"+name, "true or false", v)
	}
	return b
}

// version reads ifVersion, which only versioned entities know.
func (d *decoder) version(members map[string]any) *int64 {
	v, ok := members["ifVersion"]
	if !ok {
		return nil
	}
	if !d.kind.Entity.Resource.Versioned {
		d.fail("/ifVersion", "%s has no version", d.kind.Name())
		return nil
	}
	number, ok := v.(json.Number)
	if n, err := number.Int64(); ok && err == nil {
		return &n
	}
	d.wrong("/ifVersion", "an integer", v)
	return nil
}

// need returns a member that must be there.
func (d *report) need(members map[string]any, name string) (any, bool) {
	v, ok := members[name]
	if !ok {
		d.fail("/"+name, "%s is required", name)
	}
	return v, ok
}

func decodeCreate(d *decoder, raw json.RawMessage) any {
	in := &CreateInput{}
	members := d.open(raw, "create")
	if members == nil {
		return in
	}
	if v, ok := d.need(members, "model"); ok {
		in.Values = d.model(v, "/model", true)
		d.settle(in.Values, false)
		d.askValidators(in.Values)
		d.complete(in.Values, v, true)
	}
	return in
}

func decodeUpsert(d *decoder, raw json.RawMessage) any {
	in := &UpsertInput{}
	members := d.open(raw, "upsert")
	if members == nil {
		return in
	}
	in.Replace = d.flag(members, "replace")
	in.IfVersion = d.version(members)
	if v, ok := d.need(members, "model"); ok {
		in.Values = d.model(v, "/model", true)
		d.settle(in.Values, d.mayChange(in.Values))
		d.askValidators(in.Values)
		if in.IfVersion == nil { // else it is a conflict
			d.complete(in.Values, v, in.Replace)
		}
	}
	return in
}

func decodeUpsertMany(d *decoder, raw json.RawMessage) any {
	in := &UpsertManyInput{}
	members := d.open(raw, "upsert-many")
	if members == nil {
		return in
	}
	for i, v := range d.list(members, "models") {
		m := d.model(v, fmt.Sprintf("/models/%d", i), true)
		d.settle(m, d.mayChange(m))
		d.askValidators(m)
		d.complete(m, v, false)
		in.Models = append(in.Models, m)
	}
	return in
}

// mayChange reports whether a model may be that of an entity which exists.
func (d *decoder) mayChange(m *Values) bool {
	return m != nil && (m.ID != nil || m.HasUniqueKey(d.kind))
}

// complete reports what is missing from a model that can only create an entity: one
// without an id and without the unique key that entities are found by, or one that is
// whole: it creates or replaces an entity. The handler reports the same, together with what else is wrong by
// then.
func (d *decoder) complete(m *Values, given any, whole bool) {
	if m == nil || d.full() || len(d.missing) >= fault.MaxFound {
		return
	}
	members, _ := given.(map[string]any)
	if _, named := members[d.kind.KeyField().Name]; !whole && (named || m.HasUniqueKey(d.kind)) {
		return
	}
	said := d.meant(members)
	missing := slices.DeleteFunc(m.Missing(d.kind), func(f fault.Detail) bool {
		steps := fault.Steps(f.Path)
		return said[steps[len(steps)-1]]
	})
	if d.ahead != nil {
		d.later = append(d.later, missing...)
		return
	}
	d.missing = append(d.missing, missing...)
}

// meant returns the names of an entity's members that an input has or, to judge by its names that
// the entity does not have, seems to mean: what is wrong with these is reported already.
func (d *decoder) meant(members map[string]any) map[string]bool {
	known := d.kind.names()
	out := make(map[string]bool, len(members))
	for name := range members {
		if !slices.Contains(known, name) {
			name = fault.Nearest(name, known)
		}
		out[name] = true
	}
	return out
}

// list returns a member that is a list of bounded length.
func (d *report) list(members map[string]any, name string) []any {
	v, ok := d.need(members, name)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	switch {
	case !ok:
		d.wrong("/"+name, "a list", v)
	case len(list) > maxBatch:
		d.fail("/"+name, "at most %d in one call, not %d", maxBatch, len(list))
		return nil
	}
	return list
}

func decodePatch(d *decoder, raw json.RawMessage) any {
	in := &PatchInput{}
	members := d.open(raw, "patch")
	if members == nil {
		return in
	}
	if v, ok := d.need(members, "id"); ok {
		in.ID, in.Shown = d.ownID(v, "/id")
	}
	if v, ok := d.need(members, "changes"); ok {
		d.changing = true
		in.Changes = d.model(v, "/changes", true)
		d.settle(in.Changes, true)
		d.askValidators(in.Changes)
		d.dropOwnID(in)
	}
	in.IfVersion = d.version(members)
	return in
}

// dropOwnID removes the id from changes that were made from an entity as it was read.
func (d *decoder) dropOwnID(in *PatchInput) {
	if in.Changes == nil || in.Changes.ID == nil {
		return
	}
	if in.ID != nil && in.Changes.Shown != in.Shown {
		d.fail("/changes/"+filter.Escape(d.kind.KeyField().Name), "an id cannot be changed")
	}
	in.Changes.ID, in.Changes.Shown = nil, ""
	d.keys = d.keys[:len(d.keys)-1] // it is the other one again
}

func decodeDelete(d *decoder, raw json.RawMessage) any {
	in := &DeleteInput{}
	members := d.open(raw, "delete")
	if members == nil {
		return in
	}
	if v, ok := d.need(members, "id"); ok {
		id, _ := d.ownID(v, "/id")
		in.IDs, in.Places = []any{id}, []string{"/id"}
	}
	in.IfVersion = d.version(members)
	return in
}

func decodeDeleteMany(d *decoder, raw json.RawMessage) any {
	in := &DeleteInput{}
	members := d.open(raw, "delete-many")
	if members == nil {
		return in
	}
	named := map[any]bool{}
	for i, v := range d.list(members, "ids") {
		at := fmt.Sprintf("/ids/%d", i)
		if id, shown, ok := d.key(d.kind, v, at); ok && !named[id] {
			named[id] = true
			d.keys = append(d.keys, shown)
			in.IDs, in.Places = append(in.IDs, id), append(in.Places, at)
		}
	}
	return in
}

// decodeNew checks the input of `new`, which knows only the set.
func decodeNew(d *decoder, raw json.RawMessage) any {
	d.open(raw, "new")
	return nil
}
