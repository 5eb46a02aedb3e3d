// Package refusal says why something could not be written: what an error of the database, of ent or of a
// hook means to who wrote it, at which field, and what to do next.
//
// What belongs here: faults, and what they ask the database for. Not here: who may know what, which
// it asks a view of package rules for, and a write.
package refusal

import (
	"context"
	"errors"
	"math"
	"regexp"

	"entgo.io/ent/dialect"
	"entgo.io/ent/privacy"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/mutation"
	"github.com/koan-go/koan/entities/internal/rules"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// Faults are what errors of writes in a transaction mean to somebody.
type Faults struct {
	*transaction.Tx
	by *rules.View
}

// For returns the faults for who is told, nil before the first call.
func For(t *transaction.Tx, by *rules.View) *Faults { return &Faults{t, by} }

// OfWrite turns an error of a write into the fault that a caller can use. m is
// what was written, nil for a deletion.
func (t *Faults) OfWrite(ctx context.Context, k *model.Kind, m *model.Values, err error) error {
	var known *fault.Fault
	switch {
	case run.Ends(err), errors.Is(err, store.ErrStale):
		return err
	case errors.As(err, &known) && known.Code == fault.CallTooLarge:
		if known.Path == "" && m != nil {
			return known.WithPath(m.At)
		}
		return err
	case known != nil: // a hook made it, which has its reasons
		return known.ByRule().Because(err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	if t.SQL.Stale(err) {
		return t.Verdict(err)
	}
	if lost := t.SQL.Recover(ctx); lost != nil {
		return t.Verdict(lost)
	}
	at := ""
	if m != nil {
		at = m.At
	}
	if f := mutation.UnkeptFault(k, at, err); f != nil {
		return f
	}
	if errors.Is(err, privacy.Deny) {
		return fault.New(fault.Forbidden, rules.Denial(err)).WithPath(at).
			WithHint("A policy of the app refused the change; its message says why.").Because(err)
	}
	if f := t.Exhausted(ctx, k, at, err); f != nil {
		return f
	}
	if broken := t.Backend.Violation(err); broken != nil {
		return t.violationFault(ctx, k, m, broken).Because(err)
	}
	trait := t.Model.App.Trait(err)
	switch {
	case trait.Invalid:
		return fault.Invalid(t.Model.Refusals(t.Ent, k, m, at, err)...).Because(err)
	case trait.Constraint:
		if m != nil {
			if details := t.danglingReferences(ctx, k, m); len(details) > 0 {
				return fault.Invalid(details...).Because(err)
			}
		}
		if f := rowTaken(k, m); f != nil {
			return f.Because(err)
		}
		return fault.New(fault.Conflict, model.LastPart(err)).WithPath(at).
			WithRetry(fault.Fix).WithHint("Choose values that fit what is already stored.").Because(err)
	case trait.NotFound && m != nil && k.Policy: // its own predicate passed the row by
		return rules.KeptByPolicy(k, "changed")
	case trait.NotFound && m != nil:
		return fault.Newf(fault.Conflict, "the %s was changed or deleted by somebody else", k.Name()).Because(err)
	}
	if err, mine := t.Backend.Trouble(t.Set, err); mine {
		if f := t.misfitFault(ctx, k, m, err); f != nil {
			return f
		}
		return err
	}
	if f := t.unscannedFault(k, at, err); f != nil {
		return f
	}
	// What is left comes from a hook of the app, which has its reasons.
	return fault.New(fault.InvalidPayload, err.Error()).WithPath(at).
		WithHint("A rule of the app refused the change; its message says why.").Because(err).ByRule()
}

// rowTaken is the fault for an edge that names a row which already belongs to another; nil if
// the model has no such edge.
func rowTaken(k *model.Kind, m *model.Values) *fault.Fault {
	if m == nil {
		return nil
	}
	for _, ed := range m.Edges {
		if ed.Edge.FarKey() == "" || len(ed.Link) == 0 {
			continue
		}
		of := "this %s"
		if ed.JSON.Many {
			of = "one of these %s"
		}
		return fault.Newf(fault.Conflict, of+" belongs to another %s already", ed.JSON.Name, k.Name()).
			WithRetry(fault.Fix).WithHint("Move it from its own side: patch the %s.", ed.Target.Name()).WithPath(m.At + "/" + filter.Escape(ed.JSON.Name))
	}
	return nil
}

// unscanned matches what database/sql says of a value that a Go type does not hold.
var unscanned = regexp.MustCompile(`sql: Scan error on column index \d+, name "([^"]+)"`)

// unscannedFault is the fault of a row that ent has changed and cannot read again, since another
// program has stored something else than its field's Go type holds; nil for other errors.
func (t *Faults) unscannedFault(k *model.Kind, at string, err error) *fault.Fault {
	found := unscanned.FindStringSubmatch(err.Error())
	if found == nil {
		return nil
	}
	seen := k
	if t.by != nil {
		seen = t.by.Of(k)
	}
	what := "a stored value"
	if seen != nil {
		if name := seen.ColumnField(found[1]); name != "" {
			what = "the stored " + filter.Quote(name)
		}
	}
	return fault.Newf(fault.Conflict, "%s of this %s is not what the app's Go type can hold", what, k.Name()).
		WithPath(at).WithRetry(fault.Fix).WithHint("Another program stored it. Set the field in the same call, or correct it in the database.").Because(err)
}

// Exhausted is the fault for a row that got no id because the database has counted to the last
// one, which SQLite calls a full disk; nil where an error means anything else.
func (t *Faults) Exhausted(ctx context.Context, k *model.Kind, at string, err error) *fault.Fault {
	if k.Entity == nil || k.Entity.Key.Storage != descriptor.Int {
		return nil
	}
	if v := t.Backend.Violation(err); v == nil || v.Rule != database.Exhausted {
		if t.Backend.Dialect().Name() != dialect.SQLite || fault.CodeOf(database.Fault(t.Backend, t.Set, err)) != fault.ServiceUnavailable {
			return nil
		}
		last, lost := t.HasRow(ctx, "SELECT 1 FROM "+string(sqltext.AppendName(nil, k.Entity.Table))+" WHERE rowid=?", int64(math.MaxInt64))
		if lost == nil && !last && mutation.CountsByTable(ctx, t.Tx) {
			last, lost = t.HasRow(ctx, "SELECT 1 FROM sqlite_sequence WHERE name=? AND seq>=?", k.Entity.Table, int64(math.MaxInt64))
		}
		if lost != nil || !last {
			return nil
		}
	}
	return fault.Newf(fault.Conflict, "the database has used the last id of %s, and cannot give one to a new row", k.Name()).
		WithPath(at).WithRetry(fault.Fix).WithHint("Choose an id, if the entity lets you. Otherwise somebody must reset the counter of the table.").Because(err)
}
