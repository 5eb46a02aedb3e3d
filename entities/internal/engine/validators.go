package engine

import (
	"context"
	"errors"
	"fmt"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/fault"
)

// unsavedDriver is the driver of builders that are checked and never saved.
type unsavedDriver struct{}

var errUnstored = errors.New("entities: a builder that is only for validation was saved")

func (unsavedDriver) Exec(context.Context, string, any, any) error  { return errUnstored }
func (unsavedDriver) Query(context.Context, string, any, any) error { return errUnstored }
func (u unsavedDriver) Tx(context.Context) (dialect.Tx, error)      { return dialect.NopTx(u), nil }
func (unsavedDriver) Close() error                                  { return nil }
func (unsavedDriver) Dialect() string                               { return dialect.SQLite }

// keepClient keeps the client of a set for validators, which are the same in all sets.
func (e *engine) keepClient(c shim.Client) { e.unrestricted().client.Store(&c) }

// validators returns what ent's validators of a kind are asked with while nothing is
// stored; nil before a set was opened, and where a hook may change what is refused
// before it is checked.
func (e *engine) validators(k *kind) shim.Tx {
	client := e.unrestricted().client.Load()
	if client == nil || !k.Plain || k.Entity.Hooked || (*client).Hooked(k.Type) {
		return nil
	}
	tx, err := (*client).Begin(context.Background(), unsavedDriver{})
	if err != nil {
		return nil
	}
	return tx
}

// askValidators reports the values of a model that ent's validators refuse, whatever is stored.
func (d *decoder) askValidators(m *model) {
	if d.ahead == nil || m == nil || d.full() {
		return
	}
	if tx := d.ahead.validators(d.kind); tx != nil {
		d.details = append(d.details, d.ahead.refusedFields(tx, d.kind, m, m.at)...)
	}
}

// refusedFields returns what ent's validators say of a model's fields, each asked about by
// itself. A field that never changes has no builder that sets it alone.
func (e *engine) refusedFields(tx shim.Tx, k *kind, m *model, at string) (out []fault.Detail) {
	id, err := k.ParseID(fmt.Sprint(exampleID(k))) // a builder needs one, and nothing is stored
	if err != nil {
		return nil
	}
	for _, f := range m.fields {
		if f.value == nil || f.field.Immutable {
			continue
		}
		w := k.Update(tx, id)
		if k.Set(w.Mutation, f.column.Name, f.value) != nil {
			continue
		}
		if err := w.Check(); err != nil && e.app.Trait(err).Invalid {
			out = append(out, e.refusedField(tx, k, m, at, err))
		}
	}
	return out
}

// refusedField is what a validator's error says of a field.
func (e *engine) refusedField(tx shim.Tx, k *kind, m *model, at string, err error) fault.Detail {
	name := k.jsonName(e.app.Trait(err).Field)
	return fault.Detail{Path: at + "/" + filter.Escape(name), Message: name + e.refusal(tx, k, m, name, err)}
}
