package refusal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// violationFault says which rule of the database a write broke. m is what was written,
// nil for a deletion.
func (t *Faults) violationFault(ctx context.Context, k *model.Kind, m *model.Values, broken *database.Violation) *fault.Fault {
	at := ""
	if m != nil {
		at = m.At
	}
	owner, names := t.columns(broken)
	other := "entity"
	if owner != nil {
		other = owner.Name()
	}
	switch broken.Rule {
	case database.Unique:
		return duplicateFault(k, m, owner, names)
	case database.ForeignKey, database.NotNull:
		if m == nil { // with NotNull it was to be set to null
			return fault.Newf(fault.Conflict, "the %s is still referenced", k.Name()).
				WithRetry(fault.Fix).WithHint("First delete or change what refers to it.")
		}
		if broken.Rule == database.NotNull {
			return requiredFault(k, m, owner, names)
		}
		if details := t.danglingReferences(ctx, k, m); len(details) > 0 {
			return fault.Invalid(details...)
		}
		if f := t.pairedFault(k, m); f != nil {
			return f
		}
		return fault.New(fault.InvalidPayload, "something that this refers to does not exist").WithPath(at).
			WithHint("A foreign key of the database refused it: store first what it refers to, or correct the ids in it.")
	case database.Exclusion:
		return fault.Newf(fault.Conflict, "this one conflicts with another %s%s", other, transaction.InParentheses(broken.Name)).
			WithPath(at).WithRetry(fault.Fix).WithHint("Choose values that do not conflict with those of another %s.", other)
	case database.RowSecurity:
		return fault.New(fault.Forbidden, "the database's row-level security refused the change").WithPath(at).
			WithHint("You may store only rows that its policies let you write; somebody with other rights must do this.")
	case database.Raised:
		return fault.New(fault.InvalidPayload, "the database refused the change: "+broken.Message).WithPath(at).
			WithHint("A trigger of the database refused it; the message says why.").ByRule()
	}
	if m != nil && broken.Table == "" { // a domain's: those of tables name theirs
		if details := t.refusedFields(ctx, k, m); len(details) > 0 {
			return fault.Invalid(details...)
		}
	}
	if field := t.checkedField(k, m, broken); field != "" {
		at += "/" + filter.Escape(field)
	}
	return fault.Newf(fault.InvalidPayload, "a rule of the database refused the change%s", transaction.InParentheses(broken.Name)).WithPath(at).
		WithHint("Choose values that fit the rule.")
}

// checkedField returns the field that a check of a table is about, as the caller knows it: "" where that is
// none, or not one alone. SQLite calls a check that has no name by its text, PostgreSQL by its table and
// column.
func (t *Faults) checkedField(k *model.Kind, m *model.Values, broken *database.Violation) (field string) {
	if m == nil || broken.Table != "" && !isTableOf(k, broken) {
		return ""
	}
	_, table := sqltext.SplitQualified(k.Entity.Table)
	words := strings.FieldsFunc(broken.Name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i := range k.Entity.Columns {
		c := &k.Entity.Columns[i]
		if !slices.Contains(words, c.Name) && broken.Name != table+"_"+c.Name+"_check" {
			continue
		}
		if field != "" {
			return ""
		}
		field = t.by.FieldName(k, c.Field)
	}
	return field
}

// isTableOf reports whether a rule is one of the table of a kind. A set in a schema of its own has tables
// whose names do not say it.
func isTableOf(k *model.Kind, v *database.Violation) bool {
	schema, table := sqltext.SplitQualified(k.Entity.Table)
	return table == v.Table && (schema == "" || schema == v.Schema)
}

// duplicateFault is the fault for a value that another row has. owner is nil, and there
// are no names, if the caller does not know them.
func duplicateFault(k *model.Kind, m *model.Values, owner *model.Kind, names []string) *fault.Fault {
	f := fault.New(fault.Conflict, "a value that must be unique is already taken").
		WithRetry(fault.Fix).WithHint("Use another value.")
	if owner != nil && len(names) > 0 {
		f = fault.Newf(fault.Conflict, "another %s already has this %s", owner.Name(), strings.Join(names, " and ")).
			WithRetry(fault.Fix).WithHint("Use another value, or find the %s that has it and change that one.", owner.Name())
	}
	if m == nil {
		return f
	}
	at := m.At
	if owner == k && len(names) > 0 {
		at += "/" + filter.Escape(names[max(0, slices.IndexFunc(names, m.Names))])
	}
	return f.WithPath(at)
}

// requiredFault is the fault for a column that would become null, of this entity or of
// one that refers to it. owner is nil, and there are no names, if the caller does not
// know them.
func requiredFault(k *model.Kind, m *model.Values, owner *model.Kind, names []string) *fault.Fault {
	switch {
	case owner == nil || len(names) == 0:
		return fault.New(fault.InvalidPayload, "a required value would be empty").WithPath(m.At).
			WithHint("A column of the database must not be null: give every required field a value.")
	case owner != k:
		return fault.Newf(fault.InvalidPayload, "a %s cannot exist without its %s", owner.Name(), strings.Join(names, " and ")).
			WithHint("Delete the %s, or give it to another %s.", owner.Name(), k.Name()).WithPath(m.PathTo(owner.Name()))
	}
	return fault.Invalid(fault.Detail{Path: m.At + "/" + strings.Join(names, ","), Message: strings.Join(names, ", ") + " cannot be empty"})
}

// OfDelete is the fault for a row that could not be deleted.
func (t *Faults) OfDelete(ctx context.Context, k *model.Kind, id any, err error) error {
	failed := t.OfWrite(ctx, k, nil, err)
	broken := t.Backend.Violation(err)
	var f *fault.Fault
	if broken == nil || broken.Rule != database.ForeignKey && broken.Rule != database.NotNull || !errors.As(failed, &f) {
		return failed
	}
	holders, err := t.holders(ctx, k, []any{id})
	if err != nil {
		return t.Verdict(err)
	}
	if len(holders) == 0 {
		if holders, err = t.relatedHolders(ctx, k, id); err != nil {
			return t.Verdict(err)
		}
	}
	var by, where []string
	for _, h := range holders {
		by = append(by, h.String())
		if h.field != "" {
			where = append(where, fmt.Sprintf("%s.%s", h.kind.Name(), h.field))
		}
	}
	if len(by) == 0 {
		by = []string{"something that is not served here"}
	}
	f.Message = fmt.Sprintf("the %s is still referenced by %s", k.Name(), strings.Join(by, " and "))
	if len(where) > 0 {
		f.Hint = fmt.Sprintf("First delete what refers to it, or make it refer to another: see %s.", strings.Join(where, " and "))
	}
	return f
}

// holder is rows of a kind that prevent another row from being deleted.
type holder struct {
	kind  *model.Kind
	rows  int
	field string // by which they refer to it; "" where the caller does not see it
	seen  bool   // by the caller
}

func (h holder) String() string {
	switch {
	case !h.seen:
		return "entities that you may not read"
	case h.rows == 1:
		return "a " + h.kind.Name()
	}
	return fmt.Sprintf("%d %s entities", h.rows, h.kind.Name())
}

// holders finds what prevents rows from being deleted: what refers to them, or to rows
// that would be deleted with them.
func (t *Faults) holders(ctx context.Context, k *model.Kind, ids []any) (out []holder, err error) {
	walked := map[*descriptor.Referrer]map[changes.Row]bool{}
	for queue := []transaction.Layer{{Kind: k, IDs: ids}}; len(queue) > 0; queue = queue[1:] {
		l := queue[0]
		for i := range l.Kind.Entity.Referrers {
			r := &l.Kind.Entity.Referrers[i]
			if r.SetNull {
				continue
			}
			child := t.Model.ByName[r.Entity]
			found, err := t.ReferringThrough(ctx, child, r, l.Kind.BoundIDs(l.IDs))
			if err != nil {
				return nil, err
			}
			if walked[r] == nil {
				walked[r] = map[changes.Row]bool{}
			}
			if found = transaction.Unvisited(child, found, walked[r]); len(found) == 0 {
				continue
			}
			if r.Cascade {
				queue = append(queue, transaction.Layer{Kind: child, IDs: found})
				continue
			}
			h, err := t.holderOf(ctx, child, r, found)
			if err != nil {
				return nil, err
			}
			if h.seen || !slices.ContainsFunc(out, func(o holder) bool { return !o.seen }) {
				out = append(out, h)
			}
		}
	}
	return out, nil
}

// relatedHolders finds the holders of a row along foreign keys whose columns are compared in pairs: those of several
// columns, and those to a key of numbers or days, or to other columns than the key.
func (t *Faults) relatedHolders(ctx context.Context, k *model.Kind, id any) (out []holder, err error) {
	for i := range k.Entity.Edges {
		e := &k.Entity.Edges[i]
		child := t.Model.ByName[e.Target]
		if len(e.On) == 0 || e.Relation != descriptor.O2M && (e.Relation != descriptor.O2O || e.Inverse) || e.Cascade || e.SetNull || child == nil {
			continue
		}
		b := t.Statement()
		row, other := b.NewAlias(), b.NewAlias()
		b.Raw("SELECT ")
		filter.KeyText(b, other, &child.Entity.Key)
		b.Raw(" FROM ").Name(k.Entity.Table).Raw(" AS ").Alias(row).Raw(" JOIN ").Name(child.Entity.Table).Raw(" AS ").Alias(other).Raw(" ON ")
		filter.Joined(b, row, other, e.On)
		b.Raw(" WHERE ")
		filter.KeyIs(b, row, &k.Entity.Key, k.BoundID(id))
		ids, err := t.IDs(ctx, child, b)
		if err != nil {
			return nil, err
		}
		if len(ids) == 0 {
			continue
		}
		h, err := t.holderOf(ctx, child, &descriptor.Referrer{Entity: e.Target, Column: e.On[0].Target}, ids)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

// pairedFault says of a foreign key whose columns are compared in pairs which end of it a write has broken: nil where
// the fields that were set are of several.
func (t *Faults) pairedFault(k *model.Kind, m *model.Values) *fault.Fault {
	var there, here []string // fields that others refer to, and those that refer to others
	var target *model.Kind
	for i := range k.Entity.Edges {
		e := &k.Entity.Edges[i]
		field := slices.IndexFunc(m.Fields, func(f model.FieldValue) bool {
			return slices.ContainsFunc(e.On, func(p descriptor.Pair) bool { return p.Own == f.Column.Name })
		})
		switch {
		case field < 0:
		case e.Relation == descriptor.O2M || e.Relation == descriptor.O2O && !e.Inverse:
			there = append(there, m.Fields[field].Field.Name)
		default:
			here, target = append(here, m.Fields[field].Field.Name), t.Model.ByName[e.Target]
		}
	}
	switch {
	case len(there) > 0 && len(here) == 0:
		return fault.Newf(fault.Conflict, "the %s is still referenced by its %s", k.Name(), there[0]).WithPath(m.At + "/" + filter.Escape(there[0])).
			WithRetry(fault.Fix).WithHint("First delete what refers to it, or make it refer to another.")
	case len(here) == 1 && len(there) == 0 && target != nil && t.by.Knows(target):
		return fault.Invalid(fault.Detail{Path: m.At + "/" + filter.Escape(here[0]), Message: "there is no " + target.Name() + " with this " + here[0]})
	}
	return nil
}

// holderOf is what the caller may know of rows that refer to others.
func (t *Faults) holderOf(ctx context.Context, child *model.Kind, r *descriptor.Referrer, ids []any) (holder, error) {
	h := holder{kind: child}
	seen := t.by.Of(child)
	if seen == nil || !t.by.Shows(child) {
		return h, nil
	}
	left, err := t.by.Readable(ctx, child, ids)
	if err != nil {
		return h, err
	}
	if h.rows, h.seen = len(left), len(left) > 0; h.seen {
		h.field = seen.ColumnField(r.Column)
	}
	return h, nil
}

// columns turns a table and columns into an entity and its fields, as the caller
// knows them: nil for an entity, and no names for columns, that it does not know.
func (t *Faults) columns(v *database.Violation) (owner *model.Kind, names []string) {
	v = t.ofKey(v)
	for _, k := range t.Model.ByName {
		if isTableOf(k, v) && t.by.Knows(k) {
			owner = k
		}
	}
	if owner == nil {
		return nil, nil
	}
	seen := owner
	if t.by != nil {
		seen = t.by.Of(owner)
	}
	for _, column := range v.Columns {
		name := ""
		if seen != nil {
			name = seen.ColumnField(column)
		}
		if name == "" {
			return owner, nil
		}
		names = append(names, name)
	}
	return owner, names
}

// ofKey returns a violation with the columns of the folded key that it names.
func (t *Faults) ofKey(v *database.Violation) *database.Violation {
	if !strings.HasPrefix(v.Name, sqltext.KeyPrefix) {
		return v
	}
	for _, k := range t.Model.ByName {
		for _, columns := range k.Entity.FoldedKeys {
			x := sqltext.FoldedKey{Table: k.Entity.Table, Columns: columns, Folded: k.Entity.FoldedColumns(columns)}
			if x.Name() == v.Name {
				schema, table := sqltext.SplitQualified(k.Entity.Table)
				return &database.Violation{Rule: v.Rule, Name: v.Name, Schema: cmp.Or(v.Schema, schema), Table: table, Columns: columns}
			}
		}
	}
	return v
}

// danglingReferences returns the references of a model to rows that do not exist.
func (t *Faults) danglingReferences(ctx context.Context, k *model.Kind, m *model.Values) []fault.Detail {
	var out []fault.Detail
	look := func(target *model.Kind, id any, at string) {
		there, err := t.Exists(ctx, target, id)
		if err == nil && !there {
			out = append(out, t.by.Dangling(target, id, at))
		}
	}
	for _, ed := range m.Edges {
		for _, id := range ed.Link {
			look(ed.Target, id, ed.Places[id])
		}
	}
	for _, f := range m.Fields {
		if target := k.Refers[f.Field.Name]; target != nil && f.Value != nil {
			if id, err := target.Native(f.Value); err == nil {
				look(target, id, m.At+"/"+filter.Escape(f.Field.Name))
			}
		}
	}
	return out
}
