package engine

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"entgo.io/ent/privacy"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// callerView is the entities as the caller of one call sees them. Its filters and
// relationships reach only what its rights, its surface and the run's `only` leave;
// anything else could be read, or guessed, from the other side of an edge. Of each
// entity it contains the rows that the app's policies and interceptors let the caller
// read.
type callerView struct {
	model *model.Model // what the caller sees
	sight *catalog.Sight
	view  *catalog.View
	who   auth.Principal
	// outside says that it is of somebody who may not name the transaction's set, and so
	// sees nothing of it: of who gets what a run reports, where a call had other rights.
	outside bool
	// foreign says of a reader that calls of the transaction were made by actions, perhaps with
	// rights that it has not.
	foreign bool
	// own says that it is of code that works by itself, and not in a call of an operation.
	own bool

	// What rules are asked with.
	tx  *tx
	ctx context.Context

	viewing context.Context         // ctx, with the transaction and the viewer in it
	secured bool                    // it has session variables, by which the database may hide rows
	rules   map[string]*filter.Rule // by ent type
}

var _ filter.Rules = (*callerView)(nil)

// see returns what the caller of a call sees in a transaction.
func (e *Engine) see(ctx context.Context, t *tx, call catalog.Call) *callerView {
	sight := call.Sight()
	return &callerView{model: e.As(sight), sight: sight, view: call.View(), who: call.Principal(), tx: t, ctx: ctx}
}

// ownView returns what the app's own code sees that works in a transaction by itself: what the
// calls that it could make see.
func (e *Engine) ownView(ctx context.Context, t *tx) *callerView {
	who, view, _ := run.CallerOf(ctx)
	sight := view.At(catalog.SurfaceApp)
	return &callerView{model: e.As(sight), sight: sight, view: view, who: who, outside: !who.MayName(t.set), own: true, tx: t, ctx: ctx}
}

// readerOf returns what who gets what the run reports sees: the call's caller, unless the call
// is made by an action, which may have other rights, or a context that says more of it.
func (e *Engine) readerOf(ctx context.Context, t *tx) *callerView {
	r, other := run.ReaderOf(ctx)
	if !other {
		t.caller.foreign = t.reader != nil && t.reader.foreign
		return t.caller
	}
	sight := r.View.At(catalog.SurfaceApp)
	return &callerView{model: e.As(sight), sight: sight, view: r.View, who: r.Principal, outside: !r.Principal.MayName(t.set), tx: t, ctx: r.Context, foreign: true}
}

// forReport has what is read meanwhile be what the run may report; the returned function ends
// that.
func (t *tx) forReport() (end func()) {
	caller := t.caller
	if t.reader != nil {
		t.caller = t.reader
	}
	return func() { t.caller = caller }
}

// forLater returns the same view for what comes after its call.
func (s *callerView) forLater(t *tx) *callerView {
	return &callerView{model: s.model, sight: s.sight, view: s.view, who: s.who, outside: s.outside, foreign: s.foreign, own: s.own, tx: t, ctx: context.WithoutCancel(s.ctx)}
}

// of returns a kind as the caller sees it, nil if it does not.
func (s *callerView) of(k *model.Kind) *model.Kind { return s.model.ByName[k.Name()] }

// shows reports whether the caller is answered with rows of a kind.
func (s *callerView) shows(k *model.Kind) bool {
	r := s.sight.Resource(k.Name())
	return r != nil && r.Shown() && !s.outside
}

// reads reports whether the caller sees an edge of a kind.
func (s *callerView) reads(k *model.Kind, e *model.Edge) bool {
	own := s.of(k)
	if own == nil {
		return false
	}
	seen, _ := own.EdgeNamed(e.JSON.Name)
	return seen != nil && !seen.JSON.WriteOnly
}

// knows reports whether the caller may hear of an entity.
func (s *callerView) knows(k *model.Kind) bool {
	return s == nil || !s.outside && s.view.Knows(k.Name())
}

// Rule implements filter.Rules. It ends in forbidden where a policy refuses the query as a
// whole.
func (s *callerView) Rule(e *descriptor.Entity) (*filter.Rule, error) {
	return s.rule(s.model.ByName[e.Resource.Name])
}

// rule asks the app which rows of a kind the caller may read; nil is all of them.
// It ends in forbidden where a policy refuses the query as a whole.
func (s *callerView) rule(k *model.Kind) (*filter.Rule, error) {
	if s.outside {
		return filter.Nothing, nil
	}
	if !s.tx.client.Ruled(k.Type) {
		return nil, nil
	}
	if r, ok := s.rules[k.Type]; ok {
		return r, nil
	}
	ctx, err := s.viewer()
	if err != nil {
		return nil, err
	}
	rows, err := k.Rows(ctx, s.tx.ent)
	if err != nil {
		return nil, s.tx.refusal(k, err)
	}
	var r *filter.Rule
	if rows != nil {
		r = &filter.Rule{Key: cmp.Or(k.RowsBy, k.Entity.Key.Name), Keys: rows}
	}
	if s.rules == nil {
		s.rules = map[string]*filter.Rule{}
	}
	s.rules[k.Type] = r
	return r, nil
}

// ruleOrNothing is rule, where a refused query is one that finds nothing.
func (s *callerView) ruleOrNothing(k *model.Kind) (*filter.Rule, error) {
	r, err := s.rule(k)
	if fault.CodeOf(err) == fault.Forbidden {
		return filter.Nothing, nil
	}
	return r, err
}

// forget drops the cached rules: what was written may be what they depend on.
func (s *callerView) forget() {
	if s != nil {
		clear(s.rules)
	}
}

// viewer is the context that the app's own code gets: with the transaction, and
// with what Viewer puts into it.
func (s *callerView) viewer() (context.Context, error) {
	if s.viewing == nil {
		if err := s.tx.bindClient(s.ctx); err != nil {
			return nil, err
		}
		ctx := s.tx.context(s.ctx, s.own)
		if fn := s.tx.engine.viewer; fn != nil {
			if err := fault.Guard(func() error { ctx = fn(ctx, s.who); return nil }); err != nil {
				return nil, err
			}
		}
		vars, err := database.Variables(ctx)
		if err == nil {
			err = database.CheckVariables(s.tx.engine.backend.Dialect().Name(), vars)
		}
		if err != nil {
			return nil, err
		}
		s.viewing, s.secured = ctx, len(vars) > 0
	}
	return s.viewing, nil
}

// hides reports whether rules of the app, or the database's row level security, may
// hide rows of a kind from the caller.
func (s *callerView) hides(k *model.Kind) bool { return s.secured || s.tx.client.Ruled(k.Type) }

// mayHide reports whether the caller may see less of a kind's rows than there is.
func (s *callerView) mayHide(k *model.Kind) bool {
	own := s.of(k)
	return own == nil || own.Partial || s.tx.client.Ruled(k.Type) || !s.shows(k)
}

// refusal turns an error of a policy or an interceptor into a fault.
func (t *tx) refusal(k *model.Kind, err error) error {
	var known *fault.Fault
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, shim.ErrNotRows):
		return fault.New(fault.CapabilityUnsupported, err.Error()).
			WithHint("Let interceptors and policies of %s add predicates only; pages have limits of their own.", k.Type).Because(err)
	}
	if err, mine := t.engine.backend.Trouble(t.set, err); mine {
		return err
	}
	return fault.Newf(fault.Forbidden, "%s cannot be read: %s", k.Name(), denial(err)).
		WithHint("A policy of the app refused it; its message says why.").Because(err)
}

// denial is the reason that a policy gave.
func denial(err error) string {
	reason := strings.TrimSuffix(strings.TrimSuffix(err.Error(), privacy.Deny.Error()), ": ")
	if reason == "" {
		return "a policy of the app denies it"
	}
	return reason
}
