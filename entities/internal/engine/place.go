package engine

import (
	"context"
	"errors"
	"sync"

	"entgo.io/ent"
	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/mutation"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// place is an open set as its base client reaches it. In the context of a run, what the
// client does is part of the run. Elsewhere it is the app's own affair, but for this: a
// mutation and what its hooks do are kept or undone together.
type place struct {
	engine *Engine
	d      database.Database
	client shim.Client
	// mutations are the units of mutations that are under way, by their goroutine. ent passes the
	// caller's context, and not that of the hooks around it, to the second and later mutations
	// of a bulk: they find theirs by the goroutine alone.
	mutations sync.Map // int64 -> *unit
}

// connect makes the base client of a set.
func (e *Engine) connect(d database.Database) (_ shim.Client, err error) {
	defer fault.Recover(&err)
	p := &place{engine: e, d: d}
	drv := d.Driver()
	p.client, err = e.App.Connect(d.Set(), &clientDriver{Driver: drv, place: p}, p.hook)
	return p.client, err
}

// hook is the hook of the set's clients. It runs before all other hooks of ent, so it sees what
// ent's defaults generated and, when the others have run, the outcome. In a run it puts
// generated values on the tape and records changes; everywhere it increments versions.
func (p *place) hook(next ent.Mutator) ent.Mutator {
	return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
		k := p.engine.ByType[m.Type()]
		if k == nil {
			return next.Mutate(ctx, m)
		}
		ctx, s, err := p.enter(ctx, true)
		if err != nil {
			return nil, err
		}
		checked, err := mutation.Prepare(k, m, next, p.engine.data.Backend.Dialect().Name())
		switch {
		case err != nil:
			return nil, err
		case s == nil:
			return p.mutate(ctx, k, m, checked)
		}
		ctx = mutation.With(ctx, s.t.Mutations)
		if s.own {
			return s.t.mutateForApp(ctx, k, m, checked)
		}
		return s.t.mutate(ctx, k, m, checked)
	})
}

// seedClient makes the base client of a set that is being made, with which the app fills it.
func (e *Engine) seedClient(set string, drv dialect.Driver) (_ shim.Client, err error) {
	defer fault.Recover(&err)
	return e.App.Connect(set, drv, e.seedHook(drv.Dialect()))
}

// seedHook returns the hook of the clients of a set that is being made: what they do is no part
// of any run.
func (e *Engine) seedHook(spoken string) ent.Hook {
	return func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			k := e.ByType[m.Type()]
			if k == nil {
				return next.Mutate(ctx, m)
			}
			checked, err := mutation.Prepare(k, m, next, spoken)
			if err != nil {
				return nil, err
			}
			return checked.Mutate(ctx, m)
		})
	}
}

// session is the transaction that code of the app is a part of.
type session struct {
	t *tx
	// own says that it works by itself, in an action or on another set than the call's, and not
	// in a hook or a rule of what the engine does.
	own bool
}

type sessionKey struct {
	engine *Engine
	set    string
}

// Enter implements transaction.Host.
func (t *tx) Enter(ctx context.Context, own bool) context.Context {
	return context.WithValue(ctx, sessionKey{t.engine, t.Set}, &session{t, own})
}

// enter returns the transaction that the code of ctx works in, and the context that carries it.
// Code of a run that has none yet joins the run's; with write it may write there. The
// session is nil outside of a run, and after the commit of one.
func (p *place) enter(ctx context.Context, write bool) (context.Context, *session, error) {
	s, _ := ctx.Value(sessionKey{p.engine, p.d.Set()}).(*session)
	if s == nil || s.own || s.t.SQL.Ended() {
		joined, err := run.Join(ctx, p.engine, p.d.Set(), write)
		if err != nil || joined == nil {
			return ctx, nil, err
		}
		if t := joined.(*tx); s == nil || s.t != t {
			s = &session{t, true}
			if ctx, err = t.forApp(ctx); err != nil {
				return ctx, nil, err
			}
		}
	}
	if database.Current(ctx, p.d) == nil {
		return ctx, nil, fault.Newf(fault.InvalidRequest, "this client of the set %q is not the one that the run works with", p.d.Set()).
			WithHint("Do not keep clients of sets that may come into being: take the run's with ent.ClientOf(ctx).")
	}
	return ctx, s, nil
}

// Enter implements run.Data.
func (e *Engine) Enter(ctx context.Context, set string) (context.Context, error) {
	if who, _, ok := run.CallerOf(ctx); ok && !who.MayName(set) {
		return ctx, fault.Newf(fault.UnknownSet, "there is no set %q", set)
	}
	joined, err := run.Join(ctx, e, set, false)
	if err != nil || joined == nil {
		return ctx, err
	}
	return joined.(*tx).forApp(ctx)
}

// forApp returns the context in which the app's own code works in the transaction by itself.
func (t *tx) forApp(ctx context.Context) (context.Context, error) {
	t.caller = t.engine.rules.OfApp(ctx, t.Tx)
	t.ReportedTo = t.engine.rules.OfReader(ctx, t.Tx, t.caller, t.ReportedTo)
	return t.caller.Context()
}

// mutateForApp makes a mutation of code that works by itself, under a savepoint, so that it leaves
// nothing half-done if that code goes on after an error. The error is a fault, with ent's
// as its cause.
func (t *tx) mutateForApp(ctx context.Context, k *model.Kind, m ent.Mutation, next ent.Mutator) (v ent.Value, err error) {
	if t.depth > 0 { // another one of a bulk
		return t.mutate(ctx, k, m, next)
	}
	defer t.Passed(t.Passing)
	t.caller = t.engine.rules.OfApp(ctx, t.Tx)
	t.ReportedTo = t.engine.rules.OfReader(ctx, t.Tx, t.caller, t.ReportedTo)
	end, err := t.Savepoint(ctx, false)
	if err != nil {
		return nil, run.Restart(ctx, err)
	}
	t.depth++
	returned := false
	defer func() {
		t.depth--
		if !returned { // a hook panics
			_ = run.Abandon(ctx, errors.Join(fault.New(fault.Internal, ""), end(false)))
		}
	}()
	if v, err = t.mutate(ctx, k, m, next); err == nil {
		err = t.Weighing.WeighMany(ctx, t.caller)
	}
	if err != nil {
		err = t.engine.appFault(ctx, t, k, m, err)
	}
	returned = true
	switch failed := end(err == nil); {
	case failed == nil:
	case err == nil:
		err = failed
	default: // its writes may still be there
		return nil, run.Abandon(ctx, run.Restart(ctx, errors.Join(failed, err)))
	}
	if err != nil {
		return nil, run.NoteFault(ctx, run.Restart(ctx, err))
	}
	return v, nil
}

// appFault is the fault of a mutation of the app's own code.
func (e *Engine) appFault(ctx context.Context, t *tx, k *model.Kind, m ent.Mutation, err error) error {
	if e.App.Trait(err).NotFound && !t.SQL.Stale(err) {
		return fault.Newf(fault.NotFound, "there is no such %s", k.Name()).Because(err)
	}
	if m.Op().Is(ent.OpDelete | ent.OpDeleteOne) {
		return t.faults().OfWrite(ctx, k, nil, err)
	}
	return t.faults().OfWrite(ctx, k, &model.Values{}, err)
}
