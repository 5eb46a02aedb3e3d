package rules

import (
	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
)

// fields are the entities, fields and relationships that somebody may read or write: what its
// rights, its surface and the run's `only` leave. They ask nobody and no database.
type fields struct {
	model *model.Model // what the caller sees
	sight *catalog.Sight
	view  *catalog.View
	who   auth.Principal
	// outside says that it is of somebody who may not name the transaction's set, and so
	// sees nothing of it: of who gets what a run reports, where a call had other rights.
	outside bool
}

// Of returns a kind as the caller sees it, nil if it does not.
func (s *fields) Of(k *model.Kind) *model.Kind { return s.model.ByName[k.Name()] }

// Shows reports whether the caller is answered with rows of a kind.
func (s *fields) Shows(k *model.Kind) bool {
	r := s.sight.Resource(k.Name())
	return r != nil && r.Shown() && !s.outside
}

// ReadsEdge reports whether the caller sees an edge of a kind.
func (s *fields) ReadsEdge(k *model.Kind, e *model.Edge) bool {
	own := s.Of(k)
	if own == nil {
		return false
	}
	seen, _ := own.EdgeNamed(e.JSON.Name)
	return seen != nil && !seen.JSON.WriteOnly
}

// ReadsColumn reports whether the caller may read a column of a kind.
func (s *fields) ReadsColumn(k *model.Kind, column string) bool {
	seen := s.Of(k)
	if seen == nil {
		return false
	}
	if column == seen.Entity.Key.Name {
		return true
	}
	for i := range seen.Entity.Columns {
		if c := &seen.Entity.Columns[i]; c.Name == column {
			f := seen.FieldNamed(c.Field)
			return f != nil && f.Readable()
		}
	}
	for i := range seen.Edges {
		if e := &seen.Edges[i]; e.Column.OwnKey == column {
			return !e.JSON.WriteOnly
		}
	}
	return false
}

// WritesColumn reports whether the caller may write a column, or nobody may: then it follows
// from what was written.
func (s *fields) WritesColumn(k *model.Kind, column string) bool {
	seen, field := s.Of(k), ""
	for i := range k.Entity.Columns {
		if c := &k.Entity.Columns[i]; c.Name == column {
			field = c.Field
		}
	}
	whole := k.FieldNamed(field)
	if seen == nil || whole == nil || whole.ReadOnly {
		return true
	}
	own := seen.FieldNamed(whole.Name)
	return own != nil && !own.ReadOnly
}

// WritesEdge reports whether the caller may write an edge of a kind, or nobody may.
func (s *fields) WritesEdge(k *model.Kind, e *model.Edge) bool {
	seen := s.Of(k)
	if seen == nil || e.JSON.ReadOnly {
		return true
	}
	own, _ := seen.EdgeNamed(e.JSON.Name)
	return own != nil && !own.JSON.ReadOnly
}

// mayFollow reports whether the caller might do to the rows of an entity what a
// foreign key of theirs does.
func (s *fields) mayFollow(child *model.Kind, r *descriptor.Referrer) bool {
	return model.MayFollowReference(s.sight.Resource(child.Name()), child, r)
}

// Entities returns what the caller sees of them.
func (s *fields) Entities() *model.Model { return s.model }
