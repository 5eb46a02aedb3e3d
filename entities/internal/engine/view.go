package engine

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"entgo.io/ent/dialect"
	"entgo.io/ent/privacy"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

// view is the entities as the caller of one call sees them. Its filters and
// relationships reach only what its rights, its surface and the run's `only` leave;
// anything else could be read, or guessed, from the other side of an edge. Of each
// entity it contains the rows that the app's policies and interceptors let the caller
// read.
type view struct {
	fields
	// foreign says of a reader that calls of the transaction were made by actions, perhaps with
	// rights that it has not.
	foreign bool
	// own says that it is of code that works by itself, and not in a call of an operation.
	own bool

	// What rules are asked with.
	rules *Rules
	tx    *transaction.Tx
	ctx   context.Context

	viewing context.Context         // ctx, with the transaction and the viewer in it
	secured bool                    // it has session variables, by which the database may hide rows
	cached  map[string]*filter.Rule // by ent type
}

var _ filter.Rules = (*view)(nil)

// ForLater returns the same view for what comes after its call.
func (s *view) ForLater() *view {
	return &view{fields: s.fields, foreign: s.foreign, own: s.own, rules: s.rules, tx: s.tx, ctx: context.WithoutCancel(s.ctx)}
}

// IsOutside reports whether it is of somebody who may not name the transaction's set.
func (s *view) IsOutside() bool { return s != nil && s.outside }

// Knows reports whether the caller may hear of an entity.
func (s *view) Knows(k *model.Kind) bool {
	return s == nil || !s.outside && s.view.Knows(k.Name())
}

// FieldName is the name of a field where a fault may have it, else "".
func (s *view) FieldName(k *model.Kind, field string) string {
	if s == nil {
		return ""
	}
	if seen := s.of(k); seen == nil || seen.FieldNamed(field) == nil {
		return ""
	}
	return field
}

// ColumnField is the name of a column's field as the caller knows it, "" where it does not.
func (s *view) ColumnField(k *model.Kind, column string) string {
	if s == nil {
		return k.ColumnField(column)
	}
	if seen := s.of(k); seen != nil {
		return seen.ColumnField(column)
	}
	return ""
}

// Rule implements filter.Rules. It ends in forbidden where a policy refuses the query as a
// whole.
func (s *view) Rule(e *descriptor.Entity) (*filter.Rule, error) {
	return s.Rows(s.model.ByName[e.Resource.Name])
}

// Rows asks the app which rows of a kind the caller may read; nil is all of them.
// It ends in forbidden where a policy refuses the query as a whole.
func (s *view) Rows(k *model.Kind) (*filter.Rule, error) {
	if s.outside {
		return filter.Nothing, nil
	}
	if !s.tx.Client.Ruled(k.Type) {
		return nil, nil
	}
	if r, ok := s.cached[k.Type]; ok {
		return r, nil
	}
	ctx, err := s.Context()
	if err != nil {
		return nil, err
	}
	rows, err := k.Rows(ctx, s.tx.Ent)
	if err != nil {
		return nil, s.refusal(k, err)
	}
	var r *filter.Rule
	if rows != nil {
		r = &filter.Rule{Key: cmp.Or(k.RowsBy, k.Entity.Key.Name), Keys: rows}
	}
	if s.cached == nil {
		s.cached = map[string]*filter.Rule{}
	}
	s.cached[k.Type] = r
	return r, nil
}

// RowsOrNone is Rows, where a refused query is one that finds nothing.
func (s *view) RowsOrNone(k *model.Kind) (*filter.Rule, error) {
	r, err := s.Rows(k)
	if fault.CodeOf(err) == fault.Forbidden {
		return filter.Nothing, nil
	}
	return r, err
}

// Forget drops the cached rules: what was written may be what they depend on.
func (s *view) Forget() {
	if s != nil {
		clear(s.cached)
	}
}

// Context is what the app's own code gets: with the transaction, and with what Viewer puts into it.
func (s *view) Context() (context.Context, error) {
	if s.viewing == nil {
		if err := s.tx.Bind(s.ctx); err != nil {
			return nil, err
		}
		ctx := s.tx.Context(s.ctx, s.own)
		if fn := s.rules.Viewer; fn != nil {
			if err := fault.Guard(func() error { ctx = fn(ctx, s.who); return nil }); err != nil {
				return nil, err
			}
		}
		vars, err := database.Variables(ctx)
		if err == nil {
			err = database.CheckVariables(s.tx.Backend.Dialect().Name(), vars)
		}
		if err != nil {
			return nil, err
		}
		s.viewing, s.secured = ctx, len(vars) > 0
	}
	return s.viewing, nil
}

// Hides reports whether rules of the app, or the database's row level security, may
// hide rows of a kind from the caller.
func (s *view) Hides(k *model.Kind) bool { return s.secured || s.tx.Client.Ruled(k.Type) }

// MayHide reports whether the caller may see less of a kind's rows than there is.
func (s *view) MayHide(k *model.Kind) bool {
	own := s.of(k)
	return own == nil || own.Partial || s.tx.Client.Ruled(k.Type) || !s.shows(k)
}

// IsSecured reports whether the database itself may hide rows from who gets what the run
// reports that it does not hide from the call's caller.
func (s *view) IsSecured() bool {
	return s != nil && s.foreign && s.rules.Viewer != nil && s.tx.Backend.Dialect().Name() == dialect.Postgres
}

// Visible reports whether there is a row that the caller may read. Where a policy
// refuses to tell, it ends in forbidden.
func (s *view) Visible(ctx context.Context, k *model.Kind, id any) (bool, error) {
	rule, err := s.Rows(k)
	if err != nil {
		return false, err
	}
	return s.tx.Reader.Exists(s.tx.RowContext(ctx), s.tx.SQL, k.Entity, k.BoundID(id), rule)
}

// Readable returns those of some ids whose rows the caller may read.
func (s *view) Readable(ctx context.Context, k *model.Kind, ids []any) ([]any, error) {
	rule, err := s.RowsOrNone(k)
	if rule == nil || err != nil {
		return ids, err
	}
	var out []any
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		there, err := s.tx.Reader.Exists(s.tx.RowContext(ctx), s.tx.SQL, k.Entity, k.BoundID(id), rule)
		if err != nil {
			return nil, err
		}
		if there {
			out = append(out, id)
		}
	}
	return out, nil
}

// Image reads a row as the caller may see it; nil if there is none for the caller.
func (s *view) Image(ctx context.Context, k *model.Kind, id any) ([]byte, error) {
	rule, err := s.RowsOrNone(k)
	if err != nil || !s.shows(k) {
		return nil, err
	}
	return s.tx.Reader.Image(s.tx.RowContext(ctx), s.tx.SQL, s.of(k).Entity, k.BoundID(id), rule)
}

// Reported returns an image that was just read as the run may report it to the view's reader,
// who is nil before there was a call.
func (s *view) Reported(ctx context.Context, k *model.Kind, id any, image []byte) ([]byte, error) {
	if image == nil || s == nil {
		return image, nil
	}
	if s.rules.Viewer != nil {
		var err error
		if ctx, err = s.Context(); err != nil {
			return nil, err
		}
	}
	if !s.MayHide(k) && !s.IsSecured() {
		return image, nil
	}
	return s.Image(ctx, k, id)
}

// refusal turns an error of a policy or an interceptor into a fault.
func (s *view) refusal(k *model.Kind, err error) error {
	var known *fault.Fault
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, shim.ErrNotRows):
		return fault.New(fault.CapabilityUnsupported, err.Error()).
			WithHint("Let interceptors and policies of %s add predicates only; pages have limits of their own.", k.Type).Because(err)
	}
	if err, mine := s.tx.Backend.Trouble(s.tx.Set, err); mine {
		return err
	}
	return fault.Newf(fault.Forbidden, "%s cannot be read: %s", k.Name(), Denial(err)).
		WithHint("A policy of the app refused it; its message says why.").Because(err)
}

// Denial is the reason that a policy gave.
func Denial(err error) string {
	reason := strings.TrimSuffix(strings.TrimSuffix(err.Error(), privacy.Deny.Error()), ": ")
	if reason == "" {
		return "a policy of the app denies it"
	}
	return reason
}
