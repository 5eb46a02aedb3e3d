package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"entgo.io/ent/privacy"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
)

// writeFault turns an error of a write into the fault that a caller can use. m is
// what was written, nil for a deletion.
func (e *engine) writeFault(ctx context.Context, t *tx, k *kind, m *model, err error) error {
	var known *fault.Fault
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if t.sql.Stale(err) {
		return t.verdict(err)
	}
	if lost := t.sql.Recover(ctx); lost != nil {
		return t.verdict(lost)
	}
	at := ""
	if m != nil {
		at = m.at
	}
	if errors.Is(err, privacy.Deny) {
		return fault.New(fault.Forbidden, denial(err)).WithPath(at).
			WithHint("A policy of the app refused the change; its message says why.").Because(err)
	}
	if broken := t.store.backend.Violation(err); broken != nil {
		return e.violationFault(ctx, t, k, m, broken).Because(err)
	}
	trait := e.app.Trait(err)
	switch {
	case trait.Invalid:
		return fault.Invalid(e.refusals(t.ent, k, m, at, err)...)
	case trait.Constraint:
		if m != nil {
			if details := e.danglingReferences(ctx, t, k, m); len(details) > 0 {
				return fault.Invalid(details...).Because(err)
			}
		}
		if f := m.rowTaken(k); f != nil {
			return f.Because(err)
		}
		return fault.New(fault.Conflict, lastPart(err)).WithPath(at).
			WithRetry(fault.Fix).WithHint("Choose values that fit what is already stored.").Because(err)
	case trait.NotFound && m != nil && k.Policy: // its own predicate passed the row by
		return keptByPolicy(k, "changed")
	case trait.NotFound && m != nil:
		return fault.Newf(fault.Conflict, "the %s was changed or deleted by somebody else", k.name()).Because(err)
	}
	if err, mine := t.store.backend.Trouble(t.set, err); mine {
		var refused *fault.Fault
		if errors.As(err, &refused) && refused.Code == fault.InvalidPayload && refused.Path == "" {
			return refused.WithPath(at)
		}
		return err
	}
	// What is left comes from a hook of the app, which has its reasons.
	return fault.New(fault.InvalidPayload, err.Error()).WithPath(at).
		WithHint("A rule of the app refused the change; its message says why.").Because(err)
}

// rowTaken is the fault for a to-many edge that names a row which already belongs to
// another; nil if the model has no such edge.
func (m *model) rowTaken(k *kind) *fault.Fault {
	if m == nil {
		return nil
	}
	for _, ed := range m.edges {
		if ed.edge.TargetKey == "" || len(ed.link) == 0 {
			continue
		}
		return fault.Newf(fault.Conflict, "one of these %s belongs to another %s already", ed.json.Name, k.name()).
			WithRetry(fault.Fix).WithHint("Move it from its own side: patch the %s.", ed.target.name()).WithPath(m.at + "/" + filter.Escape(ed.json.Name))
	}
	return nil
}

// refusals returns what ent's validators report about a model. ent stops at the first
// of them; the others are found by trying one field at a time.
func (e *engine) refusals(tx shim.Tx, k *kind, m *model, at string, first error) []fault.Detail {
	out := []fault.Detail{e.refusedField(tx, k, m, at, first)}
	if m == nil || !k.Plain { // a hook may change what is refused before it is checked
		return out
	}
	for _, d := range e.refusedFields(tx, k, m, at) {
		if d.Path != out[0].Path {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b fault.Detail) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// refusal says why a validator refused a field, as what follows the field's name.
func (e *engine) refusal(tx shim.Tx, k *kind, m *model, name string, err error) string {
	why := lastPart(err)
	if m == nil {
		return ": " + why
	}
	if name == k.key().Name && why == tooLong {
		if words := e.explainIDLimit(tx, k, m); words != "" {
			return " " + words
		}
		return fmt.Sprintf(" is too long for an id of %s: it has %d bytes of UTF-8", k.name(), len(m.shown))
	}
	i := slices.IndexFunc(m.fields, func(f fieldValue) bool { return f.field.Name == name })
	if i < 0 {
		return ": " + why
	}
	f := &m.fields[i]
	if words := e.explainLimit(tx, k, m, f, why); words != "" {
		return " " + words
	}
	if why == doesNotMatch {
		return " does not match the pattern that the app checks"
	}
	return ": " + hideValue(f.field, f.value, why)
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

// lastPart returns the end of one of ent's messages, without where ent found it.
func lastPart(err error) string {
	s := err.Error()
	if i := strings.LastIndex(s, ": "); i >= 0 {
		return s[i+2:]
	}
	return s
}

// jsonName returns the JSON name of an ent field or edge.
func (k *kind) jsonName(ent string) string {
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
