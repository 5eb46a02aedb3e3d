package rules

import (
	"context"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

// View is the entities as the caller of one call sees them. Its filters and
// relationships reach only what its rights, its surface and the run's `only` leave;
// anything else could be read, or guessed, from the other side of an edge. Of each
// entity it contains the rows that the app's policies and interceptors let the caller
// read.
type View struct {
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

var _ filter.Rules = (*View)(nil)

// ForLater returns the same view for what comes after its call.
func (s *View) ForLater() *View {
	return &View{fields: s.fields, foreign: s.foreign, own: s.own, rules: s.rules, tx: s.tx, ctx: context.WithoutCancel(s.ctx)}
}

// IsOutside reports whether it is of somebody who may not name the transaction's set.
func (s *View) IsOutside() bool { return s != nil && s.outside }

// HasViewer reports whether what the app's own code gets says who asks.
func (s *View) HasViewer() bool { return s.rules.Viewer != nil }

// Knows reports whether the caller may hear of an entity.
func (s *View) Knows(k *model.Kind) bool {
	return s == nil || !s.outside && s.view.Knows(k.Name())
}

// FieldName is the name of a field where a fault may have it, else "".
func (s *View) FieldName(k *model.Kind, field string) string {
	if s == nil {
		return ""
	}
	if seen := s.Of(k); seen == nil || seen.FieldNamed(field) == nil {
		return ""
	}
	return field
}

// Forget drops the cached rules: what was written may be what they depend on.
func (s *View) Forget() {
	if s != nil {
		clear(s.cached)
	}
}

// Context is what the app's own code gets: with the transaction, and with what Viewer puts into it.
func (s *View) Context() (context.Context, error) {
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
func (s *View) Hides(k *model.Kind) bool { return s.secured || s.tx.Client.Ruled(k.Type) }

// MayHide reports whether the caller may see less of a kind's rows than there is.
func (s *View) MayHide(k *model.Kind) bool {
	own := s.Of(k)
	return own == nil || own.Partial || s.tx.Client.Ruled(k.Type) || !s.Shows(k)
}

// IsSecured reports whether the database itself may hide rows from who gets what the run
// reports that it does not hide from the call's caller.
func (s *View) IsSecured() bool {
	return s != nil && s.foreign && s.rules.Viewer != nil && s.tx.Backend.Dialect().Name() == dialect.Postgres
}
