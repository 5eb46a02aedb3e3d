package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// Values are a checked set of fields and edges to write.
type Values struct {
	ID     any    // native; nil where the input names none
	Shown  string // the id as callers see it
	Fields []FieldValue
	Fixed  []FieldValue // of fields that callers do not write, which a change has to leave as they are
	Edges  []EdgeValue
	At     string // JSON Pointer of the model in the input
	// Refused are values that their fields do not take, but that may be what is stored: values of
	// an enum that were removed since, or what another program wrote. Kept are the fields of
	// those that were found to be.
	Refused []RefusedValue
	Kept    []string
	Key     map[string]any // the fields of the kind's unique key, as filters take them, also where their edges are set
}

// FieldValue is what a field is set to.
type FieldValue struct {
	Column *descriptor.Column
	Field  *catalog.Field
	Value  any // nil clears
}

// RefusedValue is a value in JSON that its field does not take.
type RefusedValue struct {
	Field   *catalog.Field
	Value   any // as filter.Decode returns it
	Details []fault.Detail
	hint    string // "" for the code's own
}

// refusals says what is wrong with the values that fields do not take.
func (m *Values) refusals() (out []fault.Detail) {
	for i := range m.Refused {
		out = append(out, m.Refused[i].Details...)
	}
	return out
}

// HasJSON reports whether a model sets fields whose JSON a setter may refuse.
func (m *Values) HasJSON() bool {
	return slices.ContainsFunc(m.Fields, func(f FieldValue) bool {
		_, isJSON := f.Value.(json.RawMessage)
		return isJSON && f.Column.Form == nil
	})
}

// RefuseUnsettable moves the values of JSON fields that their setters do not take to Refused.
func (m *Values) RefuseUnsettable(k *Kind, w shim.Write) {
	m.Fields = slices.DeleteFunc(m.Fields, func(f FieldValue) bool {
		raw, isJSON := f.Value.(json.RawMessage)
		if !isJSON || f.Column.Form != nil {
			return false
		}
		err := k.Set(w.Mutation, f.Column.Name, f.Value)
		if err == nil {
			return false
		}
		detail, hint := m.refusedValue(&f, err)
		v, err := filter.Decode(raw)
		if err != nil {
			return false
		}
		m.Refused = append(m.Refused, RefusedValue{f.Field, v, []fault.Detail{detail}, hint})
		return true
	})
}

// EdgeValue is what an edge is set to.
type EdgeValue struct {
	Edge   *descriptor.Edge
	JSON   *catalog.Edge
	Target *Kind
	Clear  bool
	Link   []any // native ids
	Unlink []any
	Places map[any]string // id -> JSON Pointer of where it stands in the input
}

// Empty reports whether nothing is set.
func (m *Values) Empty() bool { return len(m.Fields) == 0 && len(m.Edges) == 0 }

// Has reports whether a field is set.
func (m *Values) Has(field string) bool {
	return slices.Contains(m.Kept, field) || slices.ContainsFunc(m.Fields, func(f FieldValue) bool { return f.Field.Name == field })
}

// HasEdge reports whether an edge is set.
func (m *Values) HasEdge(edge string) bool {
	return slices.ContainsFunc(m.Edges, func(e EdgeValue) bool { return e.JSON.Name == edge })
}

// Names reports whether the model says something of a field or an edge.
func (m *Values) Names(name string) bool { return m != nil && (m.Has(name) || m.HasEdge(name)) }

// Apply puts the model into a builder's mutation.
func (m *Values) Apply(k *Kind, w shim.Write, creating bool) error {
	var details []fault.Detail
	hint := ""
	for _, f := range m.Fields {
		var err error
		switch {
		case f.Value != nil:
			err = k.Set(w.Mutation, f.Column.Name, f.Value)
		case !creating || f.Field.Generated && f.Field.Default == nil: // a hook that fills it sees that null was meant
			err = w.Mutation.ClearField(f.Column.Name)
		}
		if err != nil {
			detail, advice := m.refusedValue(&f, err)
			details, hint = append(details, detail), cmp.Or(hint, advice)
		}
	}
	for _, e := range m.Edges {
		if err := e.apply(k, w, creating); err != nil {
			details = append(details, fault.Detail{Path: m.At + "/" + filter.Escape(e.JSON.Name), Message: err.Error()})
		}
	}
	if len(details) == 0 {
		return nil
	}
	if f := fault.Invalid(details...); hint != "" {
		return f.WithHint("%s", hint)
	}
	return fault.Invalid(details...)
}

// refusedValue says what a field's setter reports of its value, and what to do about it
// where that is more than the code's own hint.
func (m *Values) refusedValue(f *FieldValue, err error) (d fault.Detail, hint string) {
	d = fault.Detail{Path: m.At + "/" + filter.Escape(f.Field.Name), Message: f.Field.Name + ": " + hideValue(f.Field, f.Value, err.Error())}
	var place *shim.JSONError
	if errors.As(err, &place) {
		d.Path, hint = d.Path+place.Path, place.Hint
		if f.Field.Sensitive { // what was sent may be near the secret that was meant
			d.Message = f.Field.Name + " does not have the right type or form"
		}
	}
	return d, hint
}

func (e *EdgeValue) apply(k *Kind, w shim.Write, creating bool) error {
	change := func(c shim.EdgeChange, ids []any) error { return k.Edge(w.Mutation, e.Edge.Ent, c, ids) }
	// A to-one edge that is linked again needs no clearing before, unless it is the
	// other side that has to let go.
	if e.Clear && !creating && (e.JSON.Many || len(e.Link) == 0 || e.Edge.FarKey() != "") {
		if err := change(shim.Clear, nil); err != nil {
			return err
		}
	}
	if len(e.Unlink) > 0 && !creating {
		if err := change(shim.Unlink, e.Unlink); err != nil {
			return err
		}
	}
	if len(e.Link) > 0 {
		return change(shim.Link, e.Link)
	}
	return nil
}

// Missing returns the problems of a model that is to be created and lacks something. What callers do not
// write, the app has to fill.
func (m *Values) Missing(k *Kind) []fault.Detail {
	var out []fault.Detail
	lack := func(name string) {
		out = append(out, fault.Detail{Path: m.At + "/" + filter.Escape(name), Message: name + " is required to create a " + k.Name()})
	}
	for i := range k.Entity.Resource.Fields {
		f := &k.Entity.Resource.Fields[i]
		if f.Required && !f.ReadOnly && !m.Has(f.Name) && (f.Edge == "" || !m.HasEdge(f.Edge)) && !(m.ID != nil && k.Entity.Key.HasPart(k.Entity.Column(f.Name).Name)) {
			lack(f.Name)
		}
	}
	for i := range k.Entity.Resource.Edges {
		e := &k.Entity.Resource.Edges[i]
		if e.Required && !e.ReadOnly && e.Reference == "" && !m.HasEdge(e.Name) {
			lack(e.Name)
		}
	}
	for i := range m.Edges {
		if ed := &m.Edges[i]; ed.JSON.ReadOnly && len(ed.Link) > 0 {
			out = append(out, m.ReadOnlyEdge(ed))
		}
	}
	if k.KeyField().Required && m.ID == nil {
		lack(k.KeyField().Name)
	}
	if k.blind {
		out = append(out, fault.Detail{Path: m.At, Message: "a new " + k.Name() + " requires a relationship that you may not see"})
	}
	return out
}

// ReadOnlyEdge says that an edge is not written here, and why.
func (m *Values) ReadOnlyEdge(ed *EdgeValue) fault.Detail {
	message := ed.JSON.Name + " cannot be changed after creation"
	if ed.JSON.ReadOnly {
		why := ed.JSON.Reason
		if why == "" {
			why = ed.JSON.Description
		}
		message = strings.TrimSpace(ed.JSON.Name + " cannot be written here. " + why)
	}
	return fault.Detail{Path: m.At + "/" + filter.Escape(ed.JSON.Name), Message: message}
}

// Keyed reports whether the edge is a column of the model's own row.
func (e *EdgeValue) Keyed() bool { return e.Edge.OwnKey != "" && e.Edge.JoinTable == "" }

// IsGuarded reports whether the edge's own column may not be written at any time.
func (e *EdgeValue) IsGuarded() bool { return e.Keyed() && (e.JSON.ReadOnly || e.JSON.Immutable) }

// Immutable reports whether a model has fields or edges that a change may not set.
func (m *Values) Immutable() bool {
	if len(m.Fixed) > 0 {
		return true
	}
	for i := range m.Edges {
		if m.Edges[i].IsGuarded() {
			return true
		}
	}
	for i := range m.Fields {
		if m.Fields[i].Field.Immutable {
			return true
		}
	}
	return false
}

// PathTo is the path of the model's edge to another entity, of the model itself
// where there is none.
func (m *Values) PathTo(target string) string {
	for _, ed := range m.Edges {
		if ed.Target.Name() == target {
			return m.At + "/" + filter.Escape(ed.JSON.Name)
		}
	}
	return m.At
}

// HasUniqueKey reports whether a model has no id, but all of its kind's unique key that callers write.
func (m *Values) HasUniqueKey(k *Kind) bool {
	return m.ID == nil && len(m.Key) > 0 && len(m.Key) == len(k.givenKey())
}

// Reset completes a model that replaces an entity: what is absent gets its
// default, or null. What the caller cannot read or write is kept when it is absent; so
// are the rows of to-many edges, and what a function generated.
func (m *Values) Reset(k, seen *Kind) {
	for i := range k.Entity.Resource.Fields {
		f := &k.Entity.Resource.Fields[i]
		if m.Has(f.Name) || f.ReadOnly || f.Immutable || !filter.Readable(seen.FieldNamed(f.Name)) || f.Generated || f.Edge != "" && m.HasEdge(f.Edge) {
			continue
		}
		column := k.Entity.Column(f.Name)
		if f.Default != nil {
			if v, err := filter.Decode(f.Default); err == nil {
				if value, ok := k.FieldValue(column, f, v); ok {
					m.Fields = append(m.Fields, FieldValue{column, f, value})
				}
			}
			continue
		}
		if f.Nullable {
			m.Fields = append(m.Fields, FieldValue{column, f, nil})
		}
	}
	for i := range seen.Edges {
		ed := &seen.Edges[i]
		if !ed.JSON.Many && !ed.JSON.Required && !ed.JSON.ReadOnly && !ed.JSON.Immutable && !ed.JSON.WriteOnly && ed.JSON.Reference == "" && !m.HasEdge(ed.JSON.Name) {
			m.Edges = append(m.Edges, EdgeValue{Edge: ed.Column, JSON: ed.JSON, Target: ed.Target, Clear: true})
		}
	}
}

// FieldValue returns a field's value in JSON as Values have it; ok is false where the
// field does not take it.
func (k *Kind) FieldValue(c *descriptor.Column, f *catalog.Field, v any) (value any, ok bool) {
	d := decoder{kind: k}
	return d.value(c, f, v, "")
}
