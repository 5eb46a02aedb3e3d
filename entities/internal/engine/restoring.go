package engine

import (
	"context"
	"encoding/json"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/restore"
	"github.com/koan-go/koan/entities/internal/rules"
)

// restoring returns the undo that restores rows in the transaction.
func (t *tx) restoring() *restore.Undo {
	if t.undo == nil {
		t.undo = restore.New(t.Account, undoHost{t})
	}
	return t.undo
}

// undoHost is what an undo asks of the operations over its transaction.
type undoHost struct{ t *tx }

var _ restore.Host = undoHost{}

// View implements restore.Host.
func (h undoHost) View() *rules.View { return h.t.caller }

// KeepChosen implements restore.Host.
func (h undoHost) KeepChosen(k *model.Kind, m ent.Mutation) { h.t.KeepChosen(k, m) }

// Remove implements restore.Host.
func (h undoHost) Remove(ctx context.Context, k *model.Kind, id any) (gone bool, err error) {
	return h.t.rows(k).Remove(ctx, id)
}

// Answer implements restore.Host.
func (h undoHost) Answer(ctx context.Context, k *model.Kind, id any) (json.RawMessage, error) {
	return h.t.rows(k).Answer(ctx, id)
}

// WriteFault implements restore.Host.
func (h undoHost) WriteFault(ctx context.Context, k *model.Kind, m *model.Values, err error) error {
	return h.t.faults().OfWrite(ctx, k, m, err)
}

// DeleteFault implements restore.Host.
func (h undoHost) DeleteFault(ctx context.Context, k *model.Kind, id any, err error) error {
	return h.t.faults().OfDelete(ctx, k, id, err)
}
