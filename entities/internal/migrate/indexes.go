package migrate

import (
	"context"
	"slices"

	"ariga.io/atlas/sql/migrate"
	"ariga.io/atlas/sql/schema"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/framework/database/sqltext"
)

// indexes returns what has to be dropped before changes of the tables, and made after
// them, so that the indexes of words, the folded keys and the indexes of how texts begin are those of the schema. A table that is copied
// or dropped takes its triggers with it, so its index is rebuilt.
func (s *Schema) indexes(ctx context.Context, drv dialect.Driver, changes []schema.Change) (drops, makes []*migrate.Change, err error) {
	d := dialectOf(drv)
	there, err := column[string](ctx, drv, d.Indexes())
	if err != nil {
		return nil, nil, err
	}
	for _, x := range s.Indexes {
		name := x.Name()
		if i := slices.Index(there, name); i >= 0 {
			complete, err := column[bool](ctx, drv, d.Complete(name))
			if err != nil {
				return nil, nil, err
			}
			if complete[0] && !copiesAnyTable(drv, changes, x.Table) {
				there = slices.Delete(there, i, i+1)
				continue
			}
		}
		makes = append(makes, writeStatements(d.MakeIndex(x))...)
	}
	for _, name := range there {
		drops = append(drops, writeStatements(d.DropIndex(name))...)
	}
	if there, err = column[string](ctx, drv, d.FoldedKeys()); err != nil {
		return nil, nil, err
	}
	for _, x := range s.Keys {
		if i := slices.Index(there, x.Name()); i >= 0 && !copiesAnyTable(drv, changes, x.Table) {
			there = slices.Delete(there, i, i+1)
			continue
		}
		makes = append(makes, writeStatements(d.MakeKey(x))...)
	}
	for _, name := range there {
		drops = append(drops, writeStatements([]sqltext.Statement{sqltext.DropKey(name)})...)
	}
	prefixDrops, prefixMakes, err := s.prefixes(ctx, drv)
	return append(drops, prefixDrops...), append(makes, prefixMakes...), err
}

// prefixes is indexes for those of how texts begin.
func (s *Schema) prefixes(ctx context.Context, drv dialect.Driver) (drops, makes []*migrate.Change, err error) {
	d := dialectOf(drv)
	if d.Prefixes() == "" {
		return nil, nil, nil
	}
	there, err := column[string](ctx, drv, d.Prefixes())
	if err != nil {
		return nil, nil, err
	}
	for _, x := range s.Prefixes {
		if i := slices.Index(there, x.Name()); i >= 0 {
			there = slices.Delete(there, i, i+1)
			continue
		}
		makes = append(makes, writeStatements(d.MakePrefix(x))...)
	}
	for _, name := range there {
		drops = append(drops, writeStatements([]sqltext.Statement{sqltext.DropPrefix(name)})...)
	}
	return drops, makes, nil
}

// dialectOf returns what a driver's database speaks.
func dialectOf(drv dialect.Driver) sqltext.Dialect {
	if drv.Dialect() == dialect.Postgres {
		return sqltext.PostgreSQL{}
	}
	return sqltext.SQLite{}
}

// copiesAnyTable reports whether changes copy a table, which only SQLite does.
func copiesAnyTable(drv dialect.Driver, changes []schema.Change, table string) bool {
	return drv.Dialect() == dialect.SQLite && slices.ContainsFunc(changes, func(c schema.Change) bool {
		m, ok := c.(*schema.ModifyTable)
		return ok && m.T.Name == table && slices.ContainsFunc(m.Changes, copiesTable)
	})
}

func writeStatements(statements []sqltext.Statement) []*migrate.Change {
	out := make([]*migrate.Change, len(statements))
	for i, s := range statements {
		out[i] = &migrate.Change{Cmd: s.Text, Comment: s.Comment}
	}
	return out
}

// column reads the only column of a query.
func column[T any](ctx context.Context, drv dialect.Driver, query string) ([]T, error) {
	rows := &entsql.Rows{}
	if err := drv.Query(ctx, query, []any{}, rows); err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
