package entities

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/migrations"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqlite"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// examineTime bounds how long `doctor` reads files, however large they are.
const examineTime = 5 * time.Second

// examine looks for what is wrong with the data itself: pages that are damaged, files that
// cannot be written and, of databases that the app opens itself, tables and columns that are
// not there. Its error is context.DeadlineExceeded where nothing was found in the time that
// there is.
func (d *databases) examine(ctx context.Context, sets []string) error {
	timed, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	look := d.examineOwnSet
	if d.schema != nil {
		x, ok := d.engine.Backend().(database.Examiner)
		if !ok {
			return nil // a server watches over its files
		}
		look, sets = x.Examine, append(slices.Clone(sets), database.Ledger)
	}
	if d.ledger.place != nil {
		if err := d.ledger.examine(timed); err != nil && timed.Err() == nil {
			return database.Fault(d.ledger.place, database.Ledger, err)
		}
	}
	for _, set := range sets {
		err := look(timed, set)
		if timed.Err() != nil && ctx.Err() == nil {
			return context.DeadlineExceeded
		}
		if err != nil {
			return database.Fault(d.engine.Backend(), set, err)
		}
	}
	return nil
}

// examineOwnSet looks at a set that the app opens itself.
func (d *databases) examineOwnSet(ctx context.Context, set string) error {
	opened, _, release, err := d.engine.Backend().Use(ctx, set)
	if err != nil {
		return err
	}
	defer release()
	q := opened.DB()
	if d.ledger.foreign == "" {
		if _, err := q.ExecContext(ctx, "SELECT 1 FROM koan_receipts LIMIT 1"); err != nil {
			return err
		}
	}
	var missing []string
	in := d.engine.Backend().Dialect()
	for _, t := range tablesOf(d.app.Graph) {
		if selects(ctx, in, q, t.name, t.columns...) == nil {
			continue
		}
		if err := selects(ctx, in, q, t.name); err != nil {
			missing = append(missing, "the table "+shownTable(t.name))
			continue
		}
		for _, c := range t.columns {
			if selects(ctx, in, q, t.name, c) != nil {
				missing = append(missing, "the column "+shownTable(t.name)+"."+c)
			}
		}
	}
	if len(missing) > 0 && ctx.Err() == nil {
		if d.ledger.foreign != "" {
			return changedSchema(migrations.ListSome(missing)+" is gone", nil)
		}
		return fault.Newf(fault.ServiceUnavailable, "the database of the set %q, which the app opens, lacks %s", set, migrations.ListSome(missing)).
			WithHint("Check what Open of the app (framework.App) opens: for a mistyped path, SQLite makes an empty file. If it is the right one, run the app's own migrations.")
	}
	if in.Name() != dialect.SQLite {
		return nil
	}
	err = quickCheck(ctx, q, set)
	if d.ledger.foreign != "" && err != nil && sqlite.Lacks(err) != "" { // only the program that keeps the file can check it
		return nil
	}
	return err
}

// shownTable is a table as people name it.
func shownTable(name string) string {
	if schema, table := sqltext.SplitQualified(name); schema != "" {
		return schema + "." + table
	}
	return name
}

// quickCheck reads all pages of a file of SQLite.
func quickCheck(ctx context.Context, q database.Querier, set string) (err error) {
	rows, err := q.QueryContext(ctx, "PRAGMA quick_check(1)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found := "ok"
	for rows.Next() {
		if err := rows.Scan(&found); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil || found == "ok" {
		return err
	}
	return fault.Newf(fault.ServiceUnavailable, "the file of %s is damaged", database.Named(set)).
		WithHint("Stop the app, and restore a backup of its database.").Because(errors.New(strings.ReplaceAll(found, "\n", " ")))
}

// served is a table with the columns that operations name.
type served struct {
	name    string
	columns []string
}

// tablesOf returns what a graph's entities are kept in, and what links them.
func tablesOf(g *descriptor.Graph) (out []served) {
	for _, e := range g.Entities {
		t := served{e.Table, nil}
		if e.Key.Name != "" {
			t.columns = append(t.columns, e.Key.Name)
		}
		for i := range e.Key.Parts {
			t.columns = append(t.columns, e.Key.Parts[i].Name)
		}
		for i := range e.Columns {
			t.columns = append(t.columns, e.Columns[i].Name)
		}
		for i := range e.Edges {
			switch d := &e.Edges[i]; {
			case d.JoinTable != "" && !slices.ContainsFunc(out, func(s served) bool { return s.name == d.JoinTable }):
				out = append(out, served{d.JoinTable, []string{d.JoinOwn, d.JoinTarget}})
			case d.OwnKey != "" && !slices.Contains(t.columns, d.OwnKey):
				t.columns = append(t.columns, d.OwnKey)
			}
		}
		out = append(out, t)
	}
	return out
}

// selects reads no row of a table, and fails where it or one of the columns is not there. A
// column needs the table's alias: SQLite takes a quoted name that it does not know for a text.
func selects(ctx context.Context, in sqltext.Dialect, q database.Querier, table string, columns ...string) error {
	b := &sqltext.Builder{Dialect: in}
	t := b.NewAlias()
	b.Raw("SELECT 1")
	for _, c := range columns {
		b.Raw(",").Column(t, c)
	}
	b.Raw(" FROM ").Name(table).Raw(" AS ").Alias(t).Raw(" WHERE 1=0")
	rows, err := q.QueryContext(ctx, string(b.Text()))
	if err != nil {
		return err
	}
	rows.Next()
	return errors.Join(rows.Err(), rows.Close())
}
