package dynamic

import (
	"context"
	"fmt"

	"entgo.io/ent"
	"entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/framework/database/sqltext"
)

// mutation is what is to be written to one row. It is used by one goroutine at a time.
type mutation struct {
	edges
	tx    *tx
	op    ent.Op
	id    any // nil until it is known
	where []func(*sql.Selector)
	// unmade is why values that nobody gave could not be made.
	unmade error
}

var _ ent.Mutation = (*mutation)(nil)

func newMutation(k *kind, t *tx, op ent.Op) *mutation {
	return &mutation{edges: edges{fields: fields{k, make([]cell, len(k.slots))}}, tx: t, op: op}
}

// Op implements ent.Mutation.
func (m *mutation) Op() ent.Op { return m.op }

// Type implements ent.Mutation.
func (m *mutation) Type() string { return m.kind.name() }

// OldField implements ent.Mutation: it reads what the database has, in the form in which its driver
// returns it.
func (m *mutation) OldField(ctx context.Context, column string) (v ent.Value, err error) {
	if m.cell(column) == nil || m.op != ent.OpUpdateOne {
		return nil, fmt.Errorf("there is no old value of the column %q", column)
	}
	key, err := m.kind.ids.BindID(m.id)
	if err != nil {
		return nil, err
	}
	schema, table := encodedTable(m.kind.entity.Table)
	b := sql.Dialect(m.tx.dialect)
	query, args := b.Select(sqltext.EncodeName(column)).From(b.Table(table).Schema(schema)).Where(sql.EQ(sqltext.EncodeName(m.kind.entity.Key.Name), key)).Query()
	var rows sql.Rows
	if err := m.tx.Query(ctx, query, args, &rows); err != nil {
		return nil, err
	}
	defer rows.Close()
	return v, sql.ScanOne(&rows, &v)
}
