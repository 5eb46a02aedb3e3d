// Package write carries out the operations that write entities: it stores what models say and deletes rows,
// with the mutations of one transaction, as the view of its caller lets it. Where no code of the app
// has to see each row, statements of our own write them; otherwise ent's builders do.
//
// What belongs here: operations, and when several rows go together. Not here: the text of statements
// (package statement), a decision who may write what (package rules), or how a call comes here.
package write

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/mutation"
	"github.com/koan-go/koan/entities/internal/refusal"
	"github.com/koan-go/koan/entities/internal/rules"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// Rows are the rows of one kind that a call writes.
type Rows struct {
	*mutation.Mutations
	by *rules.View // what its caller sees
	k  *model.Kind
}

// Of returns the rows of a kind in a transaction, for a caller.
func Of(m *mutation.Mutations, by *rules.View, k *model.Kind) Rows { return Rows{m, by, k} }

// Progress hears how far a call is.
type Progress interface {
	Progress(done, total float64, message string)
}

// Create stores a model as a new entity, and returns it. Where its id or a unique key is taken, that is a
// conflict.
func (t Rows) Create(ctx context.Context, in *model.CreateInput) (json.RawMessage, error) {
	return models{t}.createOnly(ctx, in.Values)
}

// Upsert stores a model: it creates the entity, or changes the one that has the model's id, or else its
// unique key. It returns what is stored.
func (t Rows) Upsert(ctx context.Context, in *model.UpsertInput) (json.RawMessage, error) {
	return models{t}.upsert(ctx, in.Values, in.Replace, in.IfVersion)
}

// UpsertMany does so with many models in their order, and returns {"items":[...]} in that order.
func (t Rows) UpsertMany(ctx context.Context, in *model.UpsertManyInput, to Progress) (json.RawMessage, error) {
	return t.storeAll(ctx, in.Models, to)
}

// Patch changes an entity that must exist, and returns what it became.
func (t Rows) Patch(ctx context.Context, in *model.PatchInput) (json.RawMessage, error) {
	return models{t}.patch(ctx, in)
}

// UpdateByQuery makes the same changes to the rows that match, and returns {"updated":n}.
func (t Rows) UpdateByQuery(ctx context.Context, in *model.QueryInput, to Progress) (json.RawMessage, error) {
	m := matches{t}
	return m.byQuery(ctx, in, to, "updated", m.updateOne)
}

// DeleteByQuery deletes the rows that match, and returns {"deleted":n}.
func (t Rows) DeleteByQuery(ctx context.Context, in *model.QueryInput, to Progress) (json.RawMessage, error) {
	m := matches{t}
	return m.byQuery(ctx, in, to, "deleted", m.deleteOne)
}

// Delete deletes entities, and returns how many existed, as {"deleted":n}.
func (t Rows) Delete(ctx context.Context, in *model.DeleteInput, to Progress) (json.RawMessage, error) {
	return deletion{t}.all(ctx, in, to)
}

// Answer returns an entity as an operation that wrote it returns it.
func (t Rows) Answer(ctx context.Context, id any) (json.RawMessage, error) {
	return t.answer(ctx, id, nil)
}

// setID chooses the id of a new row.
func (t Rows) setID(w shim.Write, m *model.Values) error {
	err := t.k.SetID(w.Mutation, m.ID)
	if err != nil && len(t.k.Entity.Key.Parts) > 0 { // it says what the fields do not
		return fault.New(fault.InvalidPayload, err.Error()).WithPath(m.At + "/" + filter.Escape(t.k.KeyField().Name)).WithHint("Leave the id out: it follows from its fields.")
	}
	return err
}

// faults says what errors of writes mean to the caller.
func (t Rows) faults() *refusal.Faults { return refusal.For(t.Tx, t.by) }

// native reports whether rows of a kind are written by statements of our
// own: nothing of the app stands around ent's statement, and the caller sees whole
// rows. What ent's builders do besides the statement (defaults, validators) still
// runs.
func (t Rows) native() bool {
	return t.k.Plain && !t.HasHooks(t.k) && !t.by.MayHide(t.k)
}

// plain reports whether a model of a native kind is about columns of its own table
// only, and refers to nothing that rules of the app may hide.
func (t Rows) plain(m *model.Values) bool {
	if !t.native() || t.k.HasFilledKey() && m.HasUniqueKey(t.k) {
		return false
	}
	for i := range m.Edges {
		if e, _ := t.k.EdgeNamed(m.Edges[i].JSON.Name); !e.Keyed || t.by.Hides(e.Target) {
			return false
		}
	}
	for i := range m.Fields {
		if target := t.k.Refers[m.Fields[i].Field.Name]; target != nil && t.by.Hides(target) {
			return false
		}
	}
	return true
}

// unseenRow is the error for a row that could not be stored although the transaction
// sees no row with its id: either somebody else stored one meanwhile, which the next
// attempt will see, or row-level security hides it from the caller.
func (t Rows) unseenRow(m *model.Values) error {
	if t.Attempt.Number() == 1 && t.Attempt.Atomic() {
		return store.ErrStale
	}
	return fault.Newf(fault.Conflict, "another %s already has this id", t.k.Name()).WithPath(m.At + "/id").
		WithRetry(fault.Fix).WithHint("Use another id, or leave it out.")
}

// atVersion refuses to continue from another version than the caller has seen.
func (t Rows) atVersion(ctx context.Context, id any, want *int64) error {
	if want == nil {
		return nil
	}
	b := t.Statement()
	b.Raw("SELECT ").Name(t.k.Entity.VersionColumn).Raw(" FROM ").Name(t.k.Entity.Table).Raw(" WHERE ")
	filter.OwnKeyIs(b, &t.k.Entity.Key, t.k.BoundID(id))
	rows, err := t.SQL.QueryContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var now int64
	for rows.Next() {
		if err := rows.Scan(&now); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil || now == *want {
		return err
	}
	return staleVersion("the %s is at version %d, not %d: somebody changed it", t.k.Name(), now, *want).
		WithDetails(map[string]any{"version": now, "ifVersion": *want})
}

// answer reads the result of a write: only the id, if the caller may not read the row, or nobody could.
func (t Rows) answer(ctx context.Context, id any, m *model.Values) (json.RawMessage, error) {
	out, err := t.stored(ctx, id)
	if err != nil {
		return nil, err
	}
	return t.Weighing.CheckReturned(t.by, t.k, m, id, out)
}

// stored reads a row that was written: only the id, if the caller may not read it.
func (t Rows) stored(ctx context.Context, id any) (json.RawMessage, error) {
	out, err := t.by.Image(ctx, t.k, id)
	if err == nil && out != nil {
		err = t.HoldImage(t.k, id, len(out))
	}
	if err != nil || out != nil {
		return out, err
	}
	there, err := t.Exists(ctx, t.k, id)
	if err == nil && !there {
		err = fault.Newf(fault.Conflict, "a rule of the app removed the %s while it was being stored", t.k.Name())
	}
	if err != nil {
		return nil, err
	}
	return account.OnlyID(t.k, id), nil
}

// tryTogether runs statements that the database may refuse because of one row among
// many. If it does, done is false and nothing of them is left.
func (t Rows) tryTogether(ctx context.Context, statements func() error) (done bool, err error) {
	end, err := t.Savepoint(ctx, false)
	if err != nil {
		return false, err
	}
	err = statements()
	if serr := end(err == nil); serr != nil {
		return false, errors.Join(err, serr)
	}
	if err != nil && (errors.Is(err, errOtherwise) || t.faults().IsRefused(err)) {
		return false, nil
	}
	return err == nil, err
}

// inPortions calls fn with a limited number of bound ids at a time.
func (t Rows) inPortions(ids []any, to Progress, do func(bound []any) error) error {
	const portion = 1024
	for begin := 0; begin < len(ids); begin += portion {
		end := min(begin+portion, len(ids))
		if err := do(t.k.BoundIDs(ids[begin:end])); err != nil {
			return err
		}
		if len(ids) > portion {
			to.Progress(float64(end), float64(len(ids)), "")
		}
	}
	return nil
}
