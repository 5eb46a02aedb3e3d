package migrate

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"ariga.io/atlas/sql/postgres"
	"ariga.io/atlas/sql/schema"
)

// checkReference looks for rows that refer to none, which a new reference refuses. The columns that
// come with the same change hold nothing yet.
func (d *differ) checkReference(ctx context.Context, table string, f *schema.ForeignKey, added []string) error {
	t, ok := d.there.Table(table)
	if !ok {
		return nil
	}
	columns, target := columnNames(f.Columns), columnNames(f.RefColumns)
	for _, c := range columns {
		if _, ok := t.Column(c); !ok || slices.Contains(added, c) {
			return nil
		}
	}
	name := table + "." + strings.Join(columns, " with "+table+".")
	to := d.schema.name(f.RefTable.Name)
	const do = "Change or delete these rows, or create what they refer to, with the build before or in a migration that is planned"
	if d.suppose {
		d.block("", do, "%s becomes a reference to %s, which fails where a row refers to none that exists", name, to)
		return nil
	}
	var where []string
	for _, c := range columns {
		where = append(where, quote(c)+" IS NOT NULL")
	}
	if d.hasColumns(f.RefTable.Name, target) {
		same := make([]string, len(columns))
		keys, _ := d.there.Table(f.RefTable.Name)
		for i, c := range columns {
			has, key := quote(table)+"."+quote(c), "koan_to."+quote(target[i])
			from, _ := t.Column(c)
			if into, _ := keys.Column(target[i]); !comparableTypes(from.Type.Type, into.Type.Type) { // one of them changes its type, too
				has, key = "CAST("+has+" AS TEXT)", "CAST("+key+" AS TEXT)"
			}
			same[i] = key + " = " + has
		}
		where = append(where, fmt.Sprintf("NOT EXISTS (SELECT 1 FROM %s koan_to WHERE %s)", quote(f.RefTable.Name), strings.Join(same, " AND ")))
	}
	r, err := d.schema.rowsOf(ctx, d.drv, table, columns, strings.Join(where, " AND "))
	if err == nil && r.n > 0 {
		d.block(r.some, do, "%s becomes a reference to %s, but %s", name, to, dangling(d.schema.of(table, r.n), r.n))
	}
	return err
}

// dangling says of rows that they refer to none.
func dangling(rows string, n int) string {
	if n == 1 {
		return rows + " refers to one that does not exist"
	}
	return rows + " refer to ones that do not exist"
}

// comparableTypes reports whether each database compares values of two types with each other.
func comparableTypes(a, b schema.Type) bool {
	number := func(t schema.Type) bool {
		switch t.(type) {
		case *schema.IntegerType, *schema.FloatType, *schema.DecimalType, *postgres.SerialType:
			return true
		}
		return false
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) || number(a) && number(b)
}

// hasColumns reports whether a table is there, with columns.
func (d *differ) hasColumns(table string, columns []string) bool {
	t, ok := d.there.Table(table)
	return ok && !slices.ContainsFunc(columns, func(c string) bool {
		_, ok := t.Column(c)
		return !ok
	})
}

// checkCheck looks for rows that a new check refuses. changes are those of the table: a check of
// columns that they add or change cannot be asked of the rows as they are.
func (d *differ) checkCheck(ctx context.Context, table string, c *schema.Check, changes []schema.Change) error {
	t, ok := d.there.Table(table)
	if !ok {
		return nil
	}
	changed := added(changes)
	for _, change := range changes {
		if m, ok := change.(*schema.ModifyColumn); ok && m.Change.Is(schema.ChangeType) {
			changed = append(changed, m.To.Name)
		}
	}
	if slices.ContainsFunc(changed, func(name string) bool { return mentions(c.Expr, name) }) {
		return nil
	}
	name := table
	if c.Name != "" {
		name += " (" + c.Name + ")"
	}
	const do = "Change or delete these rows, with the build before or in a migration that is planned, or keep the check as it was"
	shown := strings.Join(strings.Fields(c.Expr), " ")
	if d.suppose {
		d.block("", do, "%s gets the check %s, which fails where a row breaks it", name, shown)
		return nil
	}
	var columns []string
	for _, column := range t.Columns {
		if mentions(c.Expr, column.Name) && !slices.Contains(d.schema.keyOf(table), column.Name) {
			columns = append(columns, column.Name)
		}
	}
	// A check holds where it is neither true nor false.
	r, err := d.schema.rowsOf(ctx, d.drv, table, columns, "NOT ("+c.Expr+")")
	if err == nil && r.n > 0 {
		d.block(r.some, do, "%s gets the check %s, which does not hold in %s", name, shown, d.schema.of(table, r.n))
	}
	return err
}

// mentions reports whether an expression may use a column.
func mentions(expression, column string) bool {
	return regexp.MustCompile(`(?i)(?:^|[^\pL\pN_])` + regexp.QuoteMeta(column) + `(?:$|[^\pL\pN_])`).MatchString(expression)
}

func columnNames(columns []*schema.Column) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.Name
	}
	return out
}
