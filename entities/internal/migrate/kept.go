package migrate

import (
	"context"
	"errors"
	"fmt"
	"regexp"
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
	keys                         []string
	was, is                      string // types
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
		if is, there := after[at]; there && to != affinity(was) && losingAffinity[to] != "" && !f.computes(at[1]) {
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
		if err := w.keep(ctx, drv, &changed[i], i); err != nil {
			return err
		}
	}
	if err := f.run(ctx, drv); err != nil {
		return err
	}
	return w.checkKept(ctx, drv, f, changed)
}

// keep puts the values that a column would not keep aside.
func (w Files) keep(ctx context.Context, drv dialect.Driver, c *keptColumn, n int) (err error) {
	c.place = fmt.Sprintf("koan_kept_%d", n)
	if c.keys, err = column[string](ctx, drv, "SELECT name FROM pragma_table_info('"+strings.ReplaceAll(c.table, "'", "''")+"') WHERE pk>0 ORDER BY pk"); err != nil {
		return err
	}
	var list []string
	for _, k := range c.keys {
		if k != c.name {
			list = append(list, quote(k))
		}
	}
	c.keys = slices.DeleteFunc(c.keys, func(k string) bool { return k == c.name })
	list = append(list, quote(c.name))
	q := quote(c.name)
	where := q + " IS NOT NULL AND " + strings.ReplaceAll(losingAffinity[c.affinity], "?", q)
	return w.exec(ctx, drv, "CREATE TEMP TABLE "+c.place+" AS SELECT "+strings.Join(list, ",")+" FROM "+quote(c.table)+" WHERE "+where)
}

// checkKept fails where values that were put aside have become what the types of their columns make of them.
func (w Files) checkKept(ctx context.Context, drv dialect.Driver, f *file, changed []keptColumn) error {
	var found []error
	for _, c := range changed {
		same := []string{fmt.Sprintf("koan_now.%s IS CAST(%s.%s AS %s)", quote(c.name), c.place, quote(c.name), c.affinity)}
		for _, k := range c.keys {
			same = append(same, fmt.Sprintf("koan_now.%s = %s.%s", quote(k), c.place, quote(k)))
		}
		r, err := w.rowsIn(ctx, drv, c.table, c.place, c.keys, []string{c.name}, fmt.Sprintf("EXISTS (SELECT 1 FROM %s koan_now WHERE %s)", quote(c.table), strings.Join(same, " AND ")))
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
	}
	if len(found) > 0 {
		return fmt.Errorf("%s: %w", f.Name(), errors.Join(found...))
	}
	return nil
}

// computes reports whether a file computes something of a column, rather than copy it as it is.
func (f *file) computes(name string) bool {
	call := regexp.MustCompile(`(?is)\b(\w+)\s*\((?:[^()]*[\s,(.])?["` + "`" + `\[]?` + regexp.QuoteMeta(name) + `["` + "`" + `\]]?[\s,)]`)
	for _, s := range f.statements {
		at := copies.FindStringIndex(s)
		if at == nil {
			continue
		}
		for _, m := range call.FindAllStringSubmatch(s[at[1]:], -1) {
			if !slices.Contains([]string{"ifnull", "coalesce"}, strings.ToLower(m[1])) {
				return true
			}
		}
	}
	return false
}

// copies matches the beginning of a statement up to what it reads.
var copies = regexp.MustCompile(`(?is)^\s*(?:(?:INSERT|REPLACE|WITH)\b.*?\bSELECT\b|UPDATE\b.*?\bSET\b)`)
