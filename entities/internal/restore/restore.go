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
	restored map[changes.Row]restored
	wanted   account.RowPages // what restored rows have to be
}

// New returns an undo that has restored nothing.
func New(a *account.Account, h Host) *Undo {
	a.Past.Undoing = true
	return &Undo{Account: a, host: h, wanted: account.NewRowPages(a.Attempt)}
}

// restored is a row that was restored, and where it is noted what it has to be in the end.
type restored struct {
	id     any
	gone   bool
	wanted account.RowRef
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

func (u *Undo) restore(ctx context.Context, all *undo.Restoration) (err error) {
	ctx = undo.With(ctx, nil) // hooks make calls of their own
	before := make([]bool, len(all.Rows))
	for i, of := range all.Rows {
		before[i] = of.Restored
	}
	defer func() {
		for i, of := range all.Rows {
			if err != nil { // and the call is rolled back
				of.Restored = before[i]
			}
		}
	}()
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
		of.Restored = of.Restored || len(x.places) == 0
	}
	if len(places) > 0 {
		return undo.Conflict(places)
	}
	if !u.Attempt.KeepsImages() {
		return fault.New(fault.MemoryExceeded, "the undo would have to hold more of the rows than a run may").
			WithHint("Raise run.maxBytes: half of it is for that.")
	}
	return nil
}

// restoreOne restores a row, and once more the rows restored before that hooks have written to meanwhile.
func (u *Undo) restoreOne(ctx context.Context, x *restoration) error {
	mark := u.Log.Len()
	x.mark = mark
	if err := x.restore(ctx); err != nil || len(x.places) > 0 {
		return err
	}
	own := changes.RowOf(x.k, x.id)
	again := map[changes.Row]restored{}
	for _, w := range u.Log.Since(mark) {
		at := changes.RowOf(w.Kind, w.ID)
		if r, done := u.restored[at]; done && at != own && !w.Void {
			again[at] = r
		}
	}
	for at, r := range again {
		if err := u.settleAgain(ctx, at, r, x.all); err != nil {
			return err
		}
	}
	return nil
}

// keep notes what a row that was restored has to be in the end; nil is gone.
func (u *Undo) keep(x *row, wanted account.HeldRow) error {
	r := restored{id: x.id, gone: wanted == nil}
	if wanted != nil {
		if !u.Attempt.HoldImage(account.SizeOfRow(wanted)) {
			return nil // the end of the call says so
		}
		var err error
		if r.wanted, err = u.wanted.Put(wanted); err != nil {
			return err
		}
	}
	if u.restored == nil {
		u.restored = map[changes.Row]restored{}
	}
	u.restored[changes.RowOf(x.k, x.id)] = r
	u.Weighing.Excuse(x.k, x.id)
	return nil
}

// settleAgain undoes what hooks have done to a row since it was restored.
func (u *Undo) settleAgain(ctx context.Context, at changes.Row, r restored, all *undo.Restoration) error {
	if !r.gone {
		wanted, err := u.wanted.Get(r.wanted)
		if err != nil {
			return err
		}
		x := &row{undo: u, k: at.Kind, table: u.Tables[at.Kind], id: r.id, mark: u.Log.Len(), of: &undo.Row{Entity: at.Kind.Name(), Set: u.Set, ID: at.ID}, all: all}
		return x.settle(ctx, wanted)
	}
	there, err := u.Exists(ctx, at.Kind, r.id)
	if err != nil || !there {
		return err
	}
	_, err = u.Writer.DeleteMany(ctx, u.SQL, at.Kind.Entity, at.Kind.BoundIDs([]any{r.id}))
	return err
}

// logWrite records that a statement of the undo's own has written a row.
func (u *Undo) logWrite(k *model.Kind, id any, action store.Action) {
	u.Touched = true
	u.Log.Begin(changes.Write{Kind: k, ID: id, Action: action})
}
