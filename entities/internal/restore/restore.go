// Package restore restores rows that a run changed to what they were, in place of the operation that a
// call of an undo names. Rows are written through ent's builders, so that hooks, policies and recorded
// changes are those of any write, and then to the last bit, whatever hooks have added.
//
// What belongs here: how one row becomes what it was, and what keeps it from that. Not here: which
// rows are restored and in which order (framework/run/undo), who may see or write what (package rules),
// and operations, of which it asks a Host.
package restore

import (
	"context"
	"encoding/json"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/rules"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/undo"
)

// Host is what an undo asks of the operations over the transaction that it writes in.
type Host interface {
	// View returns what the caller of the call that is being served sees.
	View() *rules.View
	// KeepChosen has the values that a builder has now be its caller's, and not the tape's.
	KeepChosen(k *model.Kind, m ent.Mutation)
	// Remove deletes a row that the caller may read. It reports whether the row is gone: a rule of the
	// app may keep it.
	Remove(ctx context.Context, k *model.Kind, id any) (gone bool, err error)
	// Answer returns a row as an operation that wrote it returns it.
	Answer(ctx context.Context, k *model.Kind, id any) (json.RawMessage, error)
	// WriteFault returns the fault for an error of a statement that writes a row.
	WriteFault(ctx context.Context, k *model.Kind, m *model.Values, err error) error
	// DeleteFault returns the fault for an error of a statement that deletes a row.
	DeleteFault(ctx context.Context, k *model.Kind, id any, err error) error
}

// Undo restores rows in one transaction, in as many calls as that takes.
type Undo struct {
	*account.Account
	host     Host
	caller   *rules.View // of the call that is being served
	restored map[changes.Row]*restored
}

// New returns an undo that has restored nothing.
func New(a *account.Account, h Host) *Undo { return &Undo{Account: a, host: h} }

// restored is a row that was restored, and what it has to be in the end; nil is gone.
type restored struct {
	*restoration
	wanted account.HeldRow
}

// InPlaceOf restores rows in place of an operation on entities of a kind, and returns what that returns.
func (u *Undo) InPlaceOf(ctx context.Context, k *model.Kind, op string, all *undo.Restoration) (json.RawMessage, error) {
	u.caller = u.host.View()
	if err := u.restore(ctx, all); err != nil {
		return nil, err
	}
	if op == "delete" || op == "delete-many" {
		return json.RawMessage(`{"deleted":1}`), nil
	}
	id, err := k.ParseID(all.Rows[0].ID)
	if err != nil {
		return nil, err
	}
	there, err := u.Exists(ctx, k, id)
	if err != nil || !there {
		return json.RawMessage("{}"), err
	}
	out, err := u.host.Answer(ctx, k, id)
	if op == "upsert-many" {
		out = append(append([]byte(`{"items":[`), out...), `]}`...)
	}
	return out, err
}

func (u *Undo) restore(ctx context.Context, all *undo.Restoration) error {
	ctx = undo.With(ctx, nil) // hooks make calls of their own
	var places []undo.Place
	for _, of := range all.Rows {
		of.Left, of.Waiting = nil, nil
		x, err := u.restorationOf(of, all)
		if err == nil && len(x.places) == 0 {
			err = x.disclosePlaces(u.restoreOne(ctx, x))
		}
		if err != nil {
			return err
		}
		places = append(places, x.places...)
	}
	if len(places) > 0 {
		return undo.Conflict(places)
	}
	if !u.Attempt.KeepsImages() {
		return fault.New(fault.MemoryExceeded, "the undo would have to hold more of the rows than a run may").
			WithHint("Raise run.maxBytes: a third of it is for that.")
	}
	for _, of := range all.Rows {
		of.Restored = true
	}
	return nil
}

// restoreOne restores a row, and once more the rows restored before that hooks have written to meanwhile.
func (u *Undo) restoreOne(ctx context.Context, x *restoration) error {
	mark := u.Log.Len()
	if err := x.restore(ctx); err != nil || len(x.places) > 0 {
		return err
	}
	own := changes.RowOf(x.k, x.id)
	again := map[changes.Row]*restored{}
	for _, w := range u.Log.Since(mark) {
		at := changes.RowOf(w.Kind, w.ID)
		if r := u.restored[at]; r != nil && at != own && !w.Void {
			again[at] = r
		}
	}
	for _, r := range again {
		if err := r.settleAgain(ctx); err != nil {
			return err
		}
	}
	return nil
}

// keep notes what a row that was restored has to be in the end.
func (u *Undo) keep(x *restoration, wanted account.HeldRow) {
	if u.restored == nil {
		u.restored = map[changes.Row]*restored{}
	}
	u.restored[changes.RowOf(x.k, x.id)] = &restored{x, wanted}
	u.Weighing.Excuse(x.k, x.id)
}

// settleAgain undoes what hooks have done to the row since it was restored.
func (r *restored) settleAgain(ctx context.Context) error {
	if r.wanted != nil {
		return r.settle(ctx, r.wanted)
	}
	there, err := r.undo.Exists(ctx, r.k, r.id)
	if err != nil || !there {
		return err
	}
	_, err = r.undo.Writer.DeleteMany(ctx, r.undo.SQL, r.k.Entity, r.k.BoundIDs([]any{r.id}))
	return err
}

// logWrite records that a statement of the undo's own has written a row.
func (u *Undo) logWrite(k *model.Kind, id any, action store.Action) {
	u.Touched = true
	u.Log.Begin(changes.Write{Kind: k, ID: id, Action: action})
}
