package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"entgo.io/ent/dialect"
)

// SQLite converts what is put into a column of another type: an integer to a float, a text of digits to a
// number. What that loses cannot be seen afterwards. These conditions are true of
// the values that a column of each affinity would not keep; ? is the column.
var losingAffinity = map[string]string{
	"REAL":    "CAST(? AS NUMERIC)=? AND CAST(? AS REAL)<>?",
	"NUMERIC": "typeof(?)='text' AND CAST(? AS NUMERIC)=? AND NOT coalesce(" + fitsDecimal + ",0)",
}

// affinity is what SQLite makes of a declared type: REAL, TEXT, NUMERIC (integers are the same here), or
// BLOB, which keeps everything.
func affinity(declared string) string {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(strings.ToUpper(declared), p) })
	}
	switch {
	case has("INT"):
		return "NUMERIC"
	case has("CHAR", "CLOB", "TEXT"):
		return "TEXT"
	case declared == "" || has("BLOB"):
		return "BLOB"
	case has("REAL", "FLOA", "DOUB"):
		return "REAL"
	}
	return "NUMERIC"
}

// keptColumn is a column whose type a file changes, with the values that it would not keep in a
// table of their own, under the names that they have.
type keptColumn struct {
	table, name, affinity, place string
	keys                         []string // all that name a row
	stay                         []string // those of them that the file leaves there
	was, is                      string   // types
}

// had is the table of how many rows have, without loss, what a value that is not kept becomes. It is there
// where no key tells which row is which.
func (c *keptColumn) had() string { return c.place + "_had" }

// kept is the value of a column as the new type has it.
func (c *keptColumn) kept(column string) string { return "CAST(" + column + " AS " + c.affinity + ")" }

// columnsOf returns the columns of a table in SQLite in their order.
func columnsOf(ctx context.Context, drv dialect.Driver, table, more string) ([]string, error) {
	return column[string](ctx, drv, "SELECT name FROM pragma_table_info('"+strings.ReplaceAll(table, "'", "''")+"') "+more)
}

// runKept runs a file on a set in SQLite. Values that it has changed by nothing but the types of their
// columns end it; what a statement computes of a column is its author's.
func (w Files) runKept(ctx context.Context, drv dialect.Driver, f *file) error {
	before, err := declared(ctx, drv)
	if err != nil {
		return err
	}
	if err := w.exec(ctx, drv, "SAVEPOINT koan_types"); err != nil {
		return err
	}
	if err := f.run(ctx, drv); err != nil {
		return err
	}
	after, err := declared(ctx, drv)
	if err != nil {
		return err
	}
	var changed []keptColumn
	for at, was := range before {
		to := affinity(after[at])
		is, there := after[at]
		if !there || to == affinity(was) || losingAffinity[to] == "" {
			continue
		}
		columns, err := columnsOf(ctx, drv, at[0], "")
		if err != nil {
			return err
		}
		if !f.computes(at[0], at[1], columns) {
			changed = append(changed, keptColumn{table: at[0], name: at[1], affinity: to, was: was, is: is})
		}
	}
	if len(changed) == 0 {
		return w.exec(ctx, drv, "RELEASE SAVEPOINT koan_types")
	}
	for _, s := range []string{"ROLLBACK TO SAVEPOINT koan_types", "RELEASE SAVEPOINT koan_types"} {
		if err := w.exec(ctx, drv, s); err != nil {
			return err
		}
	}
	slices.SortFunc(changed, func(a, b keptColumn) int { return strings.Compare(a.table+"."+a.name, b.table+"."+b.name) })
	for i := range changed {
		if err := w.keep(ctx, drv, &changed[i], i, after); err != nil {
			return err
		}
	}
	if err := f.run(ctx, drv); err != nil {
		return err
	}
	return w.checkKept(ctx, drv, f, changed)
}

// keep puts aside the values that a column would lose. after are the types of the columns that the file leaves.
func (w Files) keep(ctx context.Context, drv dialect.Driver, c *keptColumn, n int, after map[[2]string]string) (err error) {
	c.place = fmt.Sprintf("koan_kept_%d", n)
	if c.keys, err = columnsOf(ctx, drv, c.table, "WHERE pk>0 ORDER BY pk"); err != nil {
		return err
	}
	c.keys = slices.DeleteFunc(c.keys, func(k string) bool { return k == c.name })
	q := quote(c.name)
	list := q
	for _, k := range c.keys {
		list += "," + quote(k)
		if _, there := after[[2]string{c.table, k}]; there {
			c.stay = append(c.stay, k)
		}
	}
	lost := strings.ReplaceAll(losingAffinity[c.affinity], "?", q)
	if err := w.exec(ctx, drv, fmt.Sprintf("CREATE TEMP TABLE %s AS SELECT %s FROM %s WHERE %s IS NOT NULL AND %s", c.place, list, quote(c.table), q, lost)); err != nil || len(c.stay) > 0 {
		return err
	}
	return w.exec(ctx, drv, fmt.Sprintf("CREATE TEMP TABLE %s AS SELECT %s AS v, count(*) AS n FROM %s WHERE %s IS NOT NULL AND NOT coalesce(%s,0) AND %s IN (SELECT %s FROM %s) GROUP BY 1",
		c.had(), c.kept(q), quote(c.table), q, lost, c.kept(q), c.kept(q), c.place))
}

// lost is the condition of values put aside that have become what their column makes of them. Where no key
// is left to find their rows by, more rows than before have that.
func (c *keptColumn) lost() string {
	if len(c.stay) == 0 {
		return fmt.Sprintf("%s IN (SELECT koan_now.v FROM (SELECT %s AS v, count(*) AS n FROM %s GROUP BY 1) koan_now LEFT JOIN %s koan_had ON koan_had.v = koan_now.v WHERE koan_now.n > coalesce(koan_had.n,0))",
			c.kept(quote(c.name)), quote(c.name), quote(c.table), c.had())
	}
	same := []string{fmt.Sprintf("koan_now.%s IS %s", quote(c.name), c.kept(c.place+"."+quote(c.name)))}
	for _, k := range c.stay {
		same = append(same, fmt.Sprintf("koan_now.%s = %s.%s", quote(k), c.place, quote(k)))
	}
	return fmt.Sprintf("EXISTS (SELECT 1 FROM %s koan_now WHERE %s)", quote(c.table), strings.Join(same, " AND "))
}

// checkKept fails where values that were put aside have become what the types of their columns make of them.
func (w Files) checkKept(ctx context.Context, drv dialect.Driver, f *file, changed []keptColumn) error {
	var found []error
	for _, c := range changed {
		r, err := w.rowsIn(ctx, drv, c.table, c.place, c.keys, []string{c.name}, c.lost())
		if err != nil {
			return err
		}
		if r.n > 0 {
			b := Block{Why: fmt.Sprintf("the type of %s.%s changes from %s to %s, but what it has in %s would not stay the same", c.table, c.name, c.was, c.is, w.of(c.table, r.n)), Rows: r.some}
			found = append(found, errors.New(b.Text()))
		}
		if err := w.exec(ctx, drv, "DROP TABLE temp."+c.place); err != nil {
			return err
		}
		if err := w.exec(ctx, drv, "DROP TABLE IF EXISTS temp."+c.had()); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("%s: %w", f.Name(), errors.Join(found...))
	}
	return nil
}
