package entities

import (
	"context"
	"errors"
	"strings"

	"entgo.io/ent/privacy"

	"github.com/koan-go/koan/entities/backend"
	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/filter"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// seen is the entities as the caller of one call sees them: an entity that he may
// not read exists in none of his filters and relationships, or it could be read,
// or guessed at, from the other side of an edge; a field whose scopes he lacks
// exists nowhere; and of each entity there are the rows that the app's policies
// and interceptors let him read.
type seen struct {
	engine *engine
	view   *catalog.View
	who    auth.Principal

	// What rules are asked with. tx is nil where nothing is read.
	tx  *tx
	ctx context.Context

	looking context.Context // ctx, with the transaction and the viewer in it
	secured bool            // it has session variables, by which the database may hide rows
	rules   map[*kind]*filter.Rule
	refused error // the first rule that let nothing be read
}

var _ filter.Ruled = (*seen)(nil)

// see gives what the caller of a call sees in a transaction.
func (e *engine) see(ctx context.Context, t *tx, call catalog.Call) *seen {
	return &seen{engine: e, view: call.View(), who: call.Principal(), tx: t, ctx: ctx}
}

// Entity implements filter.Graph.
func (s *seen) Entity(name string) *descriptor.Entity {
	if k := s.engine.byName[name]; k != nil && s.allowed(name, "collection", "get-by-id") {
		return s.of(k)
	}
	return nil
}

func (s *seen) allowed(name string, ops ...string) bool {
	for _, op := range ops {
		if s.view.Allowed(catalog.EntityID(name, op)) {
			return true
		}
	}
	return false
}

// of describes a kind without the fields whose scopes the caller lacks.
func (s *seen) of(k *kind) *descriptor.Entity {
	if !k.scoped {
		return k.Entity
	}
	return k.without(func(f *catalog.Field) bool { return s.who.Missing(f.ReadScopes) != "" })
}

// without gives a kind's description without the fields that hide names. There is
// one for each set of fields, as long as the app lives.
func (k *kind) without(hide func(*catalog.Field) bool) *descriptor.Entity {
	var hidden strings.Builder
	for i := range k.Entity.Resource.Fields {
		if f := &k.Entity.Resource.Fields[i]; len(f.ReadScopes) > 0 && hide(f) {
			hidden.WriteString("," + f.Name)
		}
	}
	if hidden.Len() == 0 {
		return k.Entity
	}
	if e, ok := k.narrowed.Load(hidden.String()); ok {
		return e.(*descriptor.Entity)
	}
	e := *k.Entity
	e.Resource.Fields, e.Columns, e.Resource.Searchable = nil, nil, false
	for _, f := range k.Entity.Resource.Fields {
		if len(f.ReadScopes) > 0 && hide(&f) {
			continue
		}
		e.Resource.Fields = append(e.Resource.Fields, f)
		e.Columns = append(e.Columns, *k.Entity.Column(f.Name))
		e.Resource.Searchable = e.Resource.Searchable || f.Searchable
	}
	got, _ := k.narrowed.LoadOrStore(hidden.String(), &e)
	return got.(*descriptor.Entity)
}

// Rule implements filter.Ruled. A policy that refuses the query lets nothing
// through, and is remembered.
func (s *seen) Rule(e *descriptor.Entity) *filter.Rule {
	k := s.engine.byName[e.Resource.Name]
	if k == nil || s.tx == nil {
		return nil
	}
	r, err := s.rule(k)
	if err != nil {
		if s.refused == nil {
			s.refused = err
		}
		return filter.Nothing
	}
	return r
}

// rule asks the app which rows of a kind the caller may read; nil is all of them.
// It ends in forbidden where a policy refuses the query as a whole.
func (s *seen) rule(k *kind) (*filter.Rule, error) {
	if !s.tx.client.Ruled(k.Type) {
		return nil, nil
	}
	if r, ok := s.rules[k]; ok {
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
	r := &filter.Rule{Key: k.Entity.Key.Name, Keys: rows}
	if s.rules == nil {
		s.rules = map[*kind]*filter.Rule{}
	}
	s.rules[k] = r
	return r, nil
}

// forgiving is rule, where a refused query is one that finds nothing.
func (s *seen) forgiving(k *kind) (*filter.Rule, error) {
	r, err := s.rule(k)
	if fault.CodeOf(err) == fault.Forbidden {
		return filter.Nothing, nil
	}
	return r, err
}

// forget has rules asked anew: what was written may have been what they look at.
func (s *seen) forget() {
	if s != nil {
		clear(s.rules)
	}
}

// viewer is the context that the app's own code gets: with the transaction, and
// with what Options.Viewer puts into it.
func (s *seen) viewer() (context.Context, error) {
	if s.looking == nil {
		if err := s.tx.bind(s.ctx); err != nil {
			return nil, err
		}
		ctx := s.tx.context(s.ctx)
		if fn := s.engine.opts.Viewer; fn != nil {
			ctx = fn(ctx, s.who)
		}
		vars, err := backend.Variables(ctx)
		if err == nil {
			err = backend.CheckVariables(s.tx.store.backend.Dialect().Name(), vars)
		}
		if err != nil {
			return nil, err
		}
		s.looking, s.secured = ctx, len(vars) > 0
	}
	return s.looking, nil
}

// narrows tells whether the caller may see less of a kind's rows than there is.
func (s *seen) narrows(k *kind) bool {
	return s.tx.client.Ruled(k.Type) || s.of(k) != k.Entity || !s.allowed(k.name(), "collection", "get-by-id", "upsert", "upsert-many", "patch")
}

// hides reports whether rules of the app, or the database's row level security, may
// hide rows of a kind from the caller.
func (s *seen) hides(k *kind) bool { return s.secured || s.tx.client.Ruled(k.Type) }

// refusal turns an error of a policy or an interceptor into a fault.
func (t *tx) refusal(k *kind, err error) error {
	var known *fault.Fault
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, shim.ErrNotRows):
		return fault.New(fault.CapabilityUnsupported, err.Error()).
			WithHint("Let interceptors and policies of %s add predicates only; pages have limits of their own.", k.Type).Because(err)
	}
	if err, mine := t.store.backend.Trouble(t.set, err); mine {
		return err
	}
	return fault.Newf(fault.Forbidden, "%s cannot be read: %s", k.name(), denial(err)).
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
