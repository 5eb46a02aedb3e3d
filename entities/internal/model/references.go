package model

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
)

// BoundIDs returns native ids as they are bound in plain SQL.
func (k *Kind) BoundIDs(ids []any) []any {
	out := make([]any, len(ids))
	for i, id := range ids {
		out[i] = k.BoundID(id)
	}
	return out
}

// ScanIDs returns the native ids of keys as the database has them.
func (k *Kind) ScanIDs(keys []any) ([]any, error) {
	out := make([]any, len(keys))
	for i, key := range keys {
		var err error
		if out[i], err = k.ScanID(key); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ShowIDs returns ids as callers see them, in their order.
func (k *Kind) ShowIDs(ids []any) []string {
	slices.SortFunc(ids, func(a, b any) int {
		return cmp.Or(CompareIDs(a, b), strings.Compare(k.FormatID(a), k.FormatID(b)))
	})
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = k.FormatID(id)
	}
	return out
}

// Native returns the id that a reference field has, as ParseID returns it.
func (k *Kind) Native(value any) (any, error) { return k.ParseID(fmt.Sprint(value)) }

// SetReference sets the reference that a column of a kind is, or clears it for a nil id. A
// reference that nothing but the other side of its edge knows is left as it is.
func (k *Kind) SetReference(w ent.Mutation, column string, id any) error {
	for i := range k.Edges {
		e := &k.Edges[i]
		if e.Column.OwnKey != column {
			continue
		}
		if id == nil {
			return k.Edge(w, e.Column.Ent, shim.Clear, nil)
		}
		return k.Edge(w, e.Column.Ent, shim.Link, []any{id})
	}
	return nil
}

// MayFollowReference reports the same for an entity as somebody sees it, nil if it is
// hidden.
func MayFollowReference(seen *catalog.Resource, child *Kind, r *descriptor.Referrer) bool {
	switch {
	case seen == nil:
		return false
	case r.Cascade:
		return seen.Deletable()
	}
	return seen.Updatable() && child.clearable(r.Column)
}

// clearable reports whether callers may clear a reference of rows that exist.
func (k *Kind) clearable(column string) bool {
	for i := range k.Entity.Columns {
		if c := &k.Entity.Columns[i]; c.Name == column {
			f := k.Entity.Resource.Field(c.Field)
			return !f.ReadOnly && !f.Immutable
		}
	}
	for i := range k.Edges {
		if e := &k.Edges[i]; e.Column.OwnKey == column {
			return !e.JSON.Immutable
		}
	}
	return true
}

// ColumnField returns a column's name as callers know it, "" if they do not.
func (k *Kind) ColumnField(column string) string {
	if column == k.Entity.Key.Name {
		return k.KeyField().Name
	}
	for _, c := range k.Entity.Columns {
		if c.Name == column {
			return c.Field
		}
	}
	for _, ed := range k.Entity.Edges {
		if ed.OwnKey == column {
			return ed.Name
		}
	}
	return ""
}

// IsMutual reports whether an edge leads from a kind to itself and is its own inverse.
func (k *Kind) IsMutual(e *Edge) bool {
	return e.Target == k && !slices.ContainsFunc(k.Edges, func(o Edge) bool {
		if e.Column.JoinTable == "" {
			return o.Column.TargetKey == e.Column.OwnKey
		}
		return o.Column.JoinTable == e.Column.JoinTable && o.Column.JoinOwn == e.Column.JoinTarget
	})
}

// PointsTo reports whether an edge's column leads from a kind to another.
func (k *Kind) PointsTo(target *Kind) bool {
	for i := range k.Edges {
		if k.Edges[i].Target == target && k.Edges[i].Column.OwnKey != "" {
			return true
		}
	}
	return false
}

// CompareIDs orders ids that the database generates in ascending order.
func CompareIDs(a, b any) int {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	switch {
	case x.CanInt() && y.CanInt():
		return cmp.Compare(x.Int(), y.Int())
	case x.CanUint() && y.CanUint():
		return cmp.Compare(x.Uint(), y.Uint())
	}
	return 0
}
