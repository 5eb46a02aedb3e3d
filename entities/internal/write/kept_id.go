package write

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/fault"
)

// Databases may keep an id otherwise than its caller has written it, and may find a row by other texts than its id:
// char(n) is filled up with blanks, citext ignores case, a decimal is rounded. A row has one id in all that a run
// notes of it, and that is the one which the database keeps.

// errOtherwise ends a statement for many rows of which one came back with another id.
var errOtherwise = errors.New("entities: the database keeps an id otherwise than it was sent")

// checkKept refuses a new row that would not be found by the id that its caller has chosen.
func (t Rows) checkKept(ctx context.Context, p *prepared, kept any) error {
	if p.model.ID == nil || p.id == nil || t.k.FormatID(kept) == t.k.FormatID(p.id) {
		return nil
	}
	found, err := t.present(ctx, []any{p.id})
	if err != nil || slices.Contains(found, t.k.FormatID(kept)) {
		return err
	}
	return fault.Invalid(fault.Detail{
		Path:    p.model.At + "/" + filter.Escape(t.k.KeyField().Name),
		Message: "the database keeps this id as " + filter.Quote(t.k.FormatID(kept)) + ", not as " + filter.Quote(t.k.FormatID(p.id)) + ": send it as it is kept",
	})
}

// present returns which ids the database finds rows by, as these rows have them.
func (t Rows) present(ctx context.Context, ids []any) ([]string, error) {
	keys, err := t.Writer.Present(ctx, t.SQL, t.k.Entity, t.k.BoundIDs(ids))
	if err != nil {
		return nil, err
	}
	found, err := t.k.ScanIDs(keys)
	out := make([]string, len(found))
	for i, id := range found {
		out[i] = t.k.FormatID(id)
	}
	return out, err
}

// asKept returns ids as the rows have them that the database finds by them; those of no row stay as they are.
func (t Rows) asKept(ctx context.Context, ids []any) ([]any, error) {
	if !t.k.Entity.Key.MeetsOthers() || len(ids) == 0 {
		return ids, nil
	}
	found, err := t.present(ctx, ids)
	if err != nil {
		return nil, err
	}
	rows, near := map[string]bool{}, map[string]bool{} // that nobody has named exactly; near which ids there is one
	for _, id := range found {
		rows[id], near[spelled(id)] = true, true
	}
	exact := make([]bool, len(ids))
	for i, id := range ids {
		exact[i] = rows[t.k.FormatID(id)]
	}
	for _, id := range ids {
		delete(rows, t.k.FormatID(id))
	}
	out := slices.Clone(ids)
	for i, id := range ids {
		if exact[i] || len(rows) == 0 && !near[spelled(t.k.FormatID(id))] {
			continue
		}
		keys, err := t.Writer.Present(ctx, t.SQL, t.k.Entity, []any{t.k.BoundID(id)})
		if err != nil {
			return nil, err
		}
		if len(keys) == 1 {
			if out[i], err = t.k.ScanID(keys[0]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// spelled is the same for most spellings of an id.
func spelled(id string) string { return fold.Text(strings.ReplaceAll(id, " ", "")) }

// nameAsKept sets the ids of models to those that their rows have.
func (t Rows) nameAsKept(ctx context.Context, models ...*model.Values) error {
	var named []*model.Values
	var ids []any
	for _, m := range models {
		if m.ID != nil {
			named, ids = append(named, m), append(ids, m.ID)
		}
	}
	ids, err := t.asKept(ctx, ids)
	for i := range ids {
		named[i].ID, named[i].Shown = ids[i], t.k.FormatID(ids[i])
	}
	return err
}

// otherSpelling reports whether an earlier model of a call may have the id of this one in another spelling. seen are
// the ids so far, by what the database may find them by.
func (t Rows) otherSpelling(seen map[string]string, m *model.Values) bool {
	if m.ID == nil || !t.k.Entity.Key.MeetsOthers() {
		return false
	}
	first, known := seen[spelled(m.Shown)]
	if !known {
		seen[spelled(m.Shown)] = m.Shown
	}
	return known && first != m.Shown
}
