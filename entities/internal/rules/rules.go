// Package rules decides which rows and fields somebody may read and write. It is the one place that every
// operation, count, aggregate, event and undo asks: which entities, fields and relationships there are for
// who asks (View.Of, Shows, ReadsEdge), which rows of them (View.Rows, and Readable, Image and Reported, which
// ask it), and what may become of rows (View.Permits, CheckReferences, ForbiddenCascade). It joins exposure,
// scopes and the run's `only`, ent's privacy and interceptors, and the row level security of the database.
//
// What belongs here: decisions, and the faults that say them without saying more. Not here:
// operations, what has been written, or a second way to ask a policy.
package rules

import (
	"context"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
)

// Viewer puts what an app's own code needs to know of a principal into a context.
type Viewer func(ctx context.Context, p auth.Principal) context.Context

// Rules are those of one app.
type Rules struct {
	Model  *model.Model // of everything that is exposed
	Viewer Viewer       // nil where the app needs none
}

func (r *Rules) view(t *transaction.Tx, sight *catalog.Sight, v *catalog.View, who auth.Principal) *View {
	return &View{fields: fields{model: r.Model.As(sight), sight: sight, view: v, who: who, outside: !who.MayName(t.Set)}, rules: r, tx: t}
}

// OfCall returns what the caller of a call sees in a transaction.
func (r *Rules) OfCall(ctx context.Context, t *transaction.Tx, call catalog.Call) *View {
	v := r.view(t, call.Sight(), call.View(), call.Principal())
	v.outside, v.ctx = false, ctx // the run has asked whether it may name the set
	return v
}

// OfApp returns what the app's own code sees that works in a transaction by itself: what the
// calls that it could make see.
func (r *Rules) OfApp(ctx context.Context, t *transaction.Tx) *View {
	who, of, _ := run.CallerOf(ctx)
	v := r.view(t, of.At(catalog.SurfaceApp), of, who)
	v.own, v.ctx = true, ctx
	return v
}

// OfReader returns what who gets what the run reports sees: the call's caller, unless the call
// is made by an action, which may have other rights, or a context that says more of it. before
// is who got it until now, nil for nobody.
func (r *Rules) OfReader(ctx context.Context, t *transaction.Tx, caller, before *View) *View {
	reader, other := run.ReaderOf(ctx)
	if !other {
		caller.foreign = before != nil && before.foreign
		return caller
	}
	v := r.view(t, reader.View.At(catalog.SurfaceApp), reader.View, reader.Principal)
	v.foreign, v.ctx = true, reader.Context
	return v
}

// OfFollower returns what somebody sees who follows the changes of a set.
func (r *Rules) OfFollower(ctx context.Context, t *transaction.Tx, of *catalog.View, who auth.Principal) *View {
	v := r.view(t, of.At(catalog.SurfaceREST), of, who)
	v.ctx = auth.With(ctx, who)
	return v
}
