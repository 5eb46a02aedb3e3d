package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/koan-go/koan/entities/internal/backend"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/fault"
)

// violationFault says which rule of the database a write broke. m is what was written,
// nil for a deletion.
func (e *engine) violationFault(ctx context.Context, t *tx, k *kind, m *model, broken *backend.Violation) *fault.Fault {
	at := ""
	if m != nil {
		at = m.at
	}
	owner, names := t.columns(broken)
	other := "entity"
	if owner != nil {
		other = owner.name()
	}
	switch broken.Rule {
	case backend.Unique:
		return duplicateFault(k, m, owner, names)
	case backend.ForeignKey, backend.NotNull:
		if m == nil { // with NotNull it was to be set to null
			return fault.Newf(fault.Conflict, "the %s is still referenced", k.name()).
				WithRetry(fault.Fix).WithHint("First delete or change what refers to it.")
		}
		if broken.Rule == backend.NotNull {
			return requiredFault(k, m, owner, names)
		}
		if details := e.danglingReferences(ctx, t, k, m); len(details) > 0 {
			return fault.Invalid(details...)
		}
		return fault.New(fault.InvalidPayload, "something that this refers to does not exist").WithPath(at)
	case backend.Exclusion:
		return fault.Newf(fault.Conflict, "this one conflicts with another %s%s", other, inParentheses(broken.Name)).
			WithPath(at).WithRetry(fault.Fix).WithHint("Choose values that do not conflict with those of another %s.", other)
	case backend.RowSecurity:
		return fault.New(fault.Forbidden, "the database's row-level security refused the change").WithPath(at).
			WithHint("You may store only rows that its policies let you write; somebody with other rights must do this.")
	case backend.Raised:
		return fault.New(fault.InvalidPayload, "the database refused the change: "+broken.Message).WithPath(at).
			WithHint("A trigger of the database refused it; the message says why.")
	}
	return fault.Newf(fault.InvalidPayload, "a rule of the database refused the change%s", inParentheses(broken.Name)).WithPath(at).
		WithHint("Choose values that fit the rule.")
}

// inParentheses puts the name of a rule behind a message, if it has one.
func inParentheses(rule string) string {
	if rule == "" {
		return ""
	}
	return " (" + rule + ")"
}

// duplicateFault is the fault for a value that another row has. owner is nil, and there
// are no names, if the caller does not know them.
func duplicateFault(k *kind, m *model, owner *kind, names []string) *fault.Fault {
	f := fault.New(fault.Conflict, "a value that must be unique is already taken").
		WithRetry(fault.Fix).WithHint("Use another value.")
	if owner != nil && len(names) > 0 {
		f = fault.Newf(fault.Conflict, "another %s already has this %s", owner.name(), strings.Join(names, " and ")).
			WithRetry(fault.Fix).WithHint("Use another value, or find the %s that has it and change that one.", owner.name())
	}
	if m == nil {
		return f
	}
	at := m.at
	if owner == k && len(names) > 0 {
		at += "/" + filter.Escape(names[max(0, slices.IndexFunc(names, m.names))])
	}
	return f.WithPath(at)
}

// requiredFault is the fault for a column that would become null, of this entity or of
// one that refers to it. owner is nil, and there are no names, if the caller does not
// know them.
func requiredFault(k *kind, m *model, owner *kind, names []string) *fault.Fault {
	switch {
	case owner == nil || len(names) == 0:
		return fault.New(fault.InvalidPayload, "a required value would be empty").WithPath(m.at)
	case owner != k:
		return fault.Newf(fault.InvalidPayload, "a %s cannot exist without its %s", owner.name(), strings.Join(names, " and ")).
			WithHint("Delete the %s, or give it to another %s.", owner.name(), k.name()).WithPath(m.pathTo(owner.name()))
	}
	return fault.Invalid(fault.Detail{Path: m.at + "/" + strings.Join(names, ","), Message: strings.Join(names, ", ") + " cannot be empty"})
}

// deleteFault is the fault for a row that could not be deleted.
func (e *engine) deleteFault(ctx context.Context, t *tx, k *kind, id any, err error) error {
	failed := e.writeFault(ctx, t, k, nil, err)
	broken := t.store.backend.Violation(err)
	var f *fault.Fault
	if broken == nil || broken.Rule != backend.ForeignKey && broken.Rule != backend.NotNull || !errors.As(failed, &f) {
		return failed
	}
	holders, err := e.holders(ctx, t, k, []any{id}, map[string]bool{})
	if err != nil {
		return t.verdict(err)
	}
	var by, where []string
	for _, h := range holders {
		by = append(by, h.String())
		if h.field != "" {
			where = append(where, fmt.Sprintf("%s.%s", h.kind.name(), h.field))
		}
	}
	if len(by) == 0 {
		by = []string{"something that is not served here"}
	}
	f.Message = fmt.Sprintf("the %s is still referenced by %s", k.name(), strings.Join(by, " and "))
	if len(where) > 0 {
		f.Hint = fmt.Sprintf("First delete what refers to it, or make it refer to another: see %s.", strings.Join(where, " and "))
	}
	return f
}

// holder is rows of a kind that prevent another row from being deleted.
type holder struct {
	kind  *kind
	rows  int
	field string // by which they refer to it; "" where the caller does not see it
	seen  bool   // by the caller
}

func (h holder) String() string {
	switch {
	case !h.seen:
		return "entities that you may not read"
	case h.rows == 1:
		return "a " + h.kind.name()
	}
	return fmt.Sprintf("%d %s entities", h.rows, h.kind.name())
}

// holders finds what prevents rows from being deleted: what refers to them, or to rows
// that would be deleted with them.
func (e *engine) holders(ctx context.Context, t *tx, k *kind, ids []any, walked map[string]bool) (out []holder, err error) {
	for i := range k.Entity.Referrers {
		r := &k.Entity.Referrers[i]
		child := t.store.engine.byName[r.Entity]
		found, err := t.referringThrough(ctx, child, r, k.bindIDs(ids))
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(id any) bool {
			key := child.Type + "/" + r.Column + "/" + child.FormatID(id)
			again := walked[key]
			walked[key] = true
			return again
		})
		if len(found) == 0 || r.SetNull {
			continue
		}
		if r.Cascade {
			deeper, err := e.holders(ctx, t, child, found, walked)
			if err != nil {
				return nil, err
			}
			out = append(out, deeper...)
			continue
		}
		h := holder{kind: child}
		if seen := t.caller.of(child); seen != nil && t.caller.shows(child) {
			left, err := t.readable(ctx, child, found)
			if err != nil {
				return nil, err
			}
			if h.rows, h.seen = len(left), len(left) > 0; h.seen {
				h.field = seen.columnField(r.Column)
			}
		}
		if !h.seen && slices.ContainsFunc(out, func(o holder) bool { return !o.seen }) {
			continue
		}
		out = append(out, h)
	}
	return out, nil
}

// columns turns a table and columns into an entity and its fields, as the caller
// knows them: nil for an entity, and no names for columns, that he does not.
func (t *tx) columns(v *backend.Violation) (owner *kind, names []string) {
	for _, k := range t.store.engine.byName {
		if k.Entity.Table == v.Table && t.caller.knows(k) {
			owner = k
		}
	}
	if owner == nil {
		return nil, nil
	}
	seen := owner
	if t.caller != nil {
		seen = t.caller.of(owner)
	}
	for _, column := range v.Columns {
		name := ""
		if seen != nil {
			name = seen.columnField(column)
		}
		if name == "" {
			return owner, nil
		}
		names = append(names, name)
	}
	return owner, names
}

// columnField returns a column's name as callers know it, "" if they do not.
func (k *kind) columnField(column string) string {
	if column == k.Entity.Key.Name {
		return k.key().Name
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

// pathTo is the path of the model's edge to another entity, of the model itself
// where there is none.
func (m *model) pathTo(target string) string {
	for _, ed := range m.edges {
		if ed.target.name() == target {
			return m.at + "/" + filter.Escape(ed.json.Name)
		}
	}
	return m.at
}

// danglingReferences returns the references of a model to rows that do not exist.
func (e *engine) danglingReferences(ctx context.Context, t *tx, k *kind, m *model) []fault.Detail {
	var out []fault.Detail
	look := func(target *kind, id any, at string) {
		there, err := t.exists(ctx, target, id)
		if err == nil && !there {
			out = append(out, danglingReference(t, target, id, at))
		}
	}
	for _, ed := range m.edges {
		for _, id := range ed.link {
			look(ed.target, id, ed.places[id])
		}
	}
	for _, f := range m.fields {
		if target := k.refers[f.field.Name]; target != nil && f.value != nil {
			if id, err := target.native(f.value); err == nil {
				look(target, id, m.at+"/"+filter.Escape(f.field.Name))
			}
		}
	}
	return out
}
