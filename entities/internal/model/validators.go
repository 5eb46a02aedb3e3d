package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
)

// unsavedDriver is the driver of builders that are checked and never saved.
type unsavedDriver struct{}

var errUnstored = errors.New("entities: a builder that is only for validation was saved")

func (unsavedDriver) Exec(context.Context, string, any, any) error  { return errUnstored }
func (unsavedDriver) Query(context.Context, string, any, any) error { return errUnstored }
func (u unsavedDriver) Tx(context.Context) (dialect.Tx, error)      { return dialect.NopTx(u), nil }
func (unsavedDriver) Close() error                                  { return nil }
func (unsavedDriver) Dialect() string                               { return dialect.SQLite }

// KeepClient keeps the client of a set for validators, which are the same in all sets.
func (m *Model) KeepClient(c shim.Client) { m.unrestricted().client.Store(&c) }

// unsavedBuilders returns what setters and validators are asked with while nothing is stored; nil
// before a set was opened. hooked reports whether a hook may change what validators
// refuse before they are asked.
func (m *Model) unsavedBuilders(k *Kind) (tx shim.Tx, hooked bool) {
	client := m.unrestricted().client.Load()
	if client == nil {
		return nil, false
	}
	tx, err := (*client).Begin(context.Background(), unsavedDriver{})
	if err != nil {
		return nil, false
	}
	return tx, !k.Plain || k.Entity.Hooked || (*client).Hooked(k.Type)
}

// askValidators reports the values of a model that setters and ent's validators refuse, whatever
// is stored.
func (d *decoder) askValidators(m *Values) {
	if d.ahead == nil || m == nil || d.full() {
		return
	}
	tx, hooked := d.ahead.unsavedBuilders(d.kind)
	if tx == nil {
		return
	}
	d.later = append(d.later, d.kind.refusedValues(tx, m)...)
	if !hooked {
		d.later = append(d.later, d.ahead.refusedFields(tx, d.kind, m, m.At)...)
	}
}

// refusedValues returns what setters say of a model's fields.
func (k *Kind) refusedValues(tx shim.Tx, m *Values) (out []fault.Detail) {
	id, err := k.ParseID(fmt.Sprint(exampleID(k))) // a builder needs one, and nothing is stored
	if err != nil {
		return nil
	}
	w := k.Update(tx, id)
	for _, f := range m.Fields {
		if f.Value == nil || f.Field.Immutable {
			continue
		}
		if err := k.Set(w.Mutation, f.Column.Name, f.Value); err != nil {
			detail, _ := m.refusedValue(&f, err)
			out = append(out, detail)
		}
	}
	return out
}

// refusedFields returns what ent's validators say of a model's fields, each asked about by
// itself. A field that never changes has no builder that sets it alone.
func (m *Model) refusedFields(tx shim.Tx, k *Kind, values *Values, at string) (out []fault.Detail) {
	id, err := k.ParseID(fmt.Sprint(exampleID(k))) // a builder needs one, and nothing is stored
	if err != nil {
		return nil
	}
	for _, f := range values.Fields {
		if f.Value == nil || f.Field.Immutable {
			continue
		}
		w := k.Update(tx, id)
		if k.Set(w.Mutation, f.Column.Name, f.Value) != nil {
			continue
		}
		if err := w.Check(); err != nil && m.App.Trait(err).Invalid {
			out = append(out, m.refusedField(tx, k, values, at, err))
		}
	}
	return out
}

// refusedField is what a validator's error says of a field.
func (m *Model) refusedField(tx shim.Tx, k *Kind, values *Values, at string, err error) fault.Detail {
	name := k.jsonName(m.App.Trait(err).Field)
	return fault.Detail{Path: at + "/" + filter.Escape(name), Message: name + m.refusal(tx, k, values, name, err)}
}

// Refusals returns what ent's validators report about a model. ent stops at the first
// of them; the others are found by trying one field at a time.
func (m *Model) Refusals(tx shim.Tx, k *Kind, values *Values, at string, first error) []fault.Detail {
	out := []fault.Detail{m.refusedField(tx, k, values, at, first)}
	if values == nil || !k.Plain { // a hook may change what is refused before it is checked
		return out
	}
	for _, d := range m.refusedFields(tx, k, values, at) {
		if d.Path != out[0].Path {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b fault.Detail) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// refusal says why a validator refused a field, as what follows the field's name.
func (m *Model) refusal(tx shim.Tx, k *Kind, values *Values, name string, err error) string {
	why := LastPart(err)
	if values == nil {
		return ": " + why
	}
	if name == k.KeyField().Name && why == tooLong {
		if words := m.explainIDLimit(tx, k, values); words != "" {
			return " " + words
		}
		return fmt.Sprintf(" is too long for an id of %s: it has %d bytes of UTF-8", k.Name(), len(values.Shown))
	}
	i := slices.IndexFunc(values.Fields, func(f FieldValue) bool { return f.Field.Name == name })
	if i < 0 {
		return ": " + why
	}
	f := &values.Fields[i]
	if words := m.explainLimit(tx, k, values, f, why); words != "" {
		return " " + words
	}
	if why == doesNotMatch {
		return " does not match the pattern that the app checks"
	}
	return ": " + hideValue(f.Field, f.Value, why)
}

// hideValue removes the value of a sensitive field from what the app's code says about
// it.
func hideValue(f *catalog.Field, value any, text string) string {
	shown := fmt.Sprint(value)
	if !f.Sensitive || shown == "" {
		return text
	}
	text = strings.ReplaceAll(text, strconv.Quote(shown), journal.Redacted)
	return strings.ReplaceAll(text, shown, journal.Redacted)
}

// LastPart returns the end of one of ent's messages, without where ent found it.
func LastPart(err error) string {
	s := err.Error()
	if i := strings.LastIndex(s, ": "); i >= 0 {
		return s[i+2:]
	}
	return s
}

// jsonName returns the JSON name of an ent field or edge.
func (k *Kind) jsonName(ent string) string {
	for _, c := range k.Entity.Columns {
		if c.Ent == ent {
			return c.Field
		}
	}
	for _, e := range k.Entity.Edges {
		if e.Ent == ent {
			return e.Name
		}
	}
	return ent
}
