package engine

import (
	"context"
	"encoding/json"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/undo"
)

// handler carries out an operation in the run's transaction.
type handler func(ctx context.Context, t *tx, k *model.Kind, call catalog.Call) (json.RawMessage, error)

// handlers carry the operations out, by name. `new` answers the same every time, without a
// transaction.
var handlers = map[string]handler{
	"collection": func(ctx context.Context, t *tx, k *model.Kind, call catalog.Call) (json.RawMessage, error) {
		in, err := asked[*read.Collection](t, call)
		if err != nil {
			return nil, err
		}
		in.Set = t.Set // a cursor belongs to the set, however the input names it
		t.SkipIfSingle(in.Single())
		return t.Reader.Collection(ctx, t.SQL, in)
	},
	"get-by-id": func(ctx context.Context, t *tx, k *model.Kind, call catalog.Call) (json.RawMessage, error) {
		in, err := asked[*read.Get](t, call)
		if err != nil {
			return nil, err
		}
		if in.Single() {
			t.SkipIfSingle(true)
			ctx = t.RowContext(ctx)
		}
		return t.Reader.Get(ctx, t.SQL, in)
	},
	"count": func(ctx context.Context, t *tx, k *model.Kind, call catalog.Call) (json.RawMessage, error) {
		in, err := asked[*read.Count](t, call)
		if err != nil {
			return nil, err
		}
		t.SkipIfSingle(true)
		return t.Reader.Count(ctx, t.SQL, in)
	},
	"aggregate": func(ctx context.Context, t *tx, k *model.Kind, call catalog.Call) (json.RawMessage, error) {
		in, err := asked[*read.Aggregate](t, call)
		if err != nil {
			return nil, err
		}
		t.SkipIfSingle(true)
		return t.Reader.Aggregate(ctx, t.SQL, in)
	},
	"create": func(ctx context.Context, t *tx, k *model.Kind, call catalog.Call) (json.RawMessage, error) {
		return t.rows(k).Create(ctx, call.Decoded().(*model.CreateInput))
	},
	"upsert": func(ctx context.Context, t *tx, k *model.Kind, call catalog.Call) (json.RawMessage, error) {
		return t.rows(k).Upsert(ctx, call.Decoded().(*model.UpsertInput))
	},
	"upsert-many": func(ctx context.Context, t *tx, k *model.Kind, call catalog.Call) (json.RawMessage, error) {
		return t.rows(k).UpsertMany(ctx, call.Decoded().(*model.UpsertManyInput), call)
	},
	"patch": func(ctx context.Context, t *tx, k *model.Kind, call catalog.Call) (json.RawMessage, error) {
		return t.rows(k).Patch(ctx, call.Decoded().(*model.PatchInput))
	},
	"update-by-query": func(ctx context.Context, t *tx, k *model.Kind, call catalog.Call) (json.RawMessage, error) {
		return t.rows(k).UpdateByQuery(ctx, call.Decoded().(*model.QueryInput), call)
	},
	"delete-by-query": func(ctx context.Context, t *tx, k *model.Kind, call catalog.Call) (json.RawMessage, error) {
		return t.rows(k).DeleteByQuery(ctx, call.Decoded().(*model.QueryInput), call)
	},
	"delete":      deleteRows,
	"delete-many": deleteRows,
}

func deleteRows(ctx context.Context, t *tx, k *model.Kind, call catalog.Call) (json.RawMessage, error) {
	return t.rows(k).Delete(ctx, call.Decoded().(*model.DeleteInput), call)
}

// Offer returns what the entities put into the catalog.
func (e *Engine) Offer() catalog.Offer {
	var out catalog.Offer
	for _, entity := range e.App.Graph.Entities {
		k, r := e.ByName[entity.Resource.Name], entity.Resource
		for _, c := range entity.Columns {
			if c.Name == entity.VersionColumn {
				r.Version = c.Field
			}
		}
		for i := range model.Operations {
			if o := &model.Operations[i]; r.Has(o.Name) {
				out.Operations = append(out.Operations, e.operation(e.Model, k, o))
			}
		}
		out.Resources = append(out.Resources, &r)
	}
	return out
}

// operation makes an operation on what a model has of the entities: all of them, or what
// somebody sees of them.
func (e *Engine) operation(m *model.Model, k *model.Kind, o *model.Operation) *catalog.Operation {
	op, name := m.Describe(k, o), k.Name()
	op.Narrow = func(s *catalog.Sight) *catalog.Operation {
		seen := e.As(s)
		return e.operation(seen, seen.ByName[name], o)
	}
	switch {
	case handlers[o.Name] != nil:
		op.Handler = e.handler(o, name)
	case o.Access == catalog.AccessModel: // it reads no row
		answer := model.Blank(&k.Entity.Resource)
		op.Handler = func(context.Context, catalog.Call) (json.RawMessage, error) { return answer, nil }
	}
	return op // the catalog rejects one without a handler
}

// handler carries an operation out in the run's transaction.
func (e *Engine) handler(o *model.Operation, name string) catalog.Handler {
	k, handle := e.ByName[name], handlers[o.Name]
	return func(ctx context.Context, call catalog.Call) (out json.RawMessage, err error) {
		err = run.Within(ctx, e, call.Target().Set, o.Access.Writes(), func(ctx context.Context, joined store.Tx) error {
			t := joined.(*tx)
			restoring := undo.Restoring(ctx)
			if o.Access.Writes() && (restoring != nil || o.Methods[0].Returns != catalog.ReturnsEntity || t.HasHooks(k)) {
				if err := database.Apart(ctx, t.SQL); err != nil {
					return err
				}
			}
			t.caller = e.rules.OfCall(ctx, t.Tx, call)
			t.ReportedTo = e.rules.OfReader(ctx, t.Tx, t.caller, t.ReportedTo)
			defer t.Passed(t.Passing)
			if o.Access.Writes() || e.rules.Viewer != nil {
				if ctx, err = t.caller.Context(); err != nil {
					return err
				}
			}
			if restoring != nil && o.Access.Writes() {
				out, err = t.restoring().InPlaceOf(ctx, k, o.Name, restoring)
				return t.Verdict(err)
			}
			if out, err = handle(ctx, t, k, call); err == nil && o.Access.Writes() {
				err = t.Weighing.Weigh(ctx, t.caller)
			}
			return t.Verdict(err)
		})
		return out, err
	}
}

// asked returns the decoded input of a query that sees only the rows which its caller may
// read. It ends in forbidden where a policy refuses to read an entity that the input is
// about.
func asked[T model.Query](t *tx, call catalog.Call) (T, error) {
	in := call.Decoded().(T)
	return in, in.Obey(t.caller)
}
