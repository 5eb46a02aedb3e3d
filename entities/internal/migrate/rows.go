package migrate

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ariga.io/atlas/sql/postgres"
	"ariga.io/atlas/sql/schema"
	"ariga.io/atlas/sql/sqlite"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// Block is what keeps a migration from being made: rows that the schema has no place for.
type Block struct {
	Why string // names the column and how many rows there are
	// Rows names some of the rows with what they have, for whoever runs the app: "" where
	// none was looked at. Callers do not get it.
	Rows string
	Do   string // what mends it
}

// Text is all that there is to say to whoever runs the app.
func (b Block) Text() string {
	if b.Rows == "" {
		return b.Why
	}
	return b.Why + " (" + b.Rows + ")"
}

// mostNamed is how many rows are named.
const mostNamed = 4

// rowSet is some rows of a table.
type rowSet struct {
	n    int
	some string
}

// rowsOf counts the rows of a table that fulfil a condition, and names some of them with what
// they have in columns.
func (s *Schema) rowsOf(ctx context.Context, drv dialect.Driver, table string, columns []string, where string) (rowSet, error) {
	return s.rowsIn(ctx, drv, table, table, s.keyOf(table), columns, where)
}

// rowsIn is rowsOf for rows of a table that stand in another place, under the same names.
func (s *Schema) rowsIn(ctx context.Context, drv dialect.Driver, table, place string, keys, columns []string, where string) (r rowSet, err error) {
	from := " FROM " + quote(place) + " WHERE " + where
	counted, err := column[int](ctx, drv, "SELECT count(*)"+from)
	if err != nil || counted[0] == 0 {
		return r, err
	}
	r.n = counted[0]
	var parts []string
	for _, c := range slices.Concat(keys, columns) {
		parts = append(parts, "CAST("+quote(c)+" AS TEXT)")
	}
	if len(parts) == 0 {
		return r, nil
	}
	order := make([]string, len(parts))
	for i := range parts { // what they have first, so that equal ones stand together
		order[i] = strconv.Itoa((i+len(keys))%len(parts) + 1)
	}
	found := &entsql.Rows{}
	query := "SELECT " + strings.Join(parts, ",") + from + " ORDER BY " + strings.Join(order, ",") + " LIMIT " + strconv.Itoa(mostNamed)
	if err := drv.Query(ctx, query, []any{}, found); err != nil {
		return r, err
	}
	defer found.Close()
	var named []string
	for found.Next() {
		values, dest := make([]entsql.NullString, len(parts)), make([]any, len(parts))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := found.Scan(dest...); err != nil {
			return r, err
		}
		var words []string
		for i, name := range slices.Concat(keys, columns) {
			if i < len(keys) || !s.secret(table, name) {
				words = append(words, name+" "+shown(values[i]))
			}
		}
		named = append(named, strings.Join(words, ", "))
	}
	if r.n > len(named) {
		named = append(named, fmt.Sprintf("and %d more", r.n-len(named)))
	}
	r.some = strings.Join(named, "; ")
	return r, found.Err()
}

// shown is a value in a message.
func shown(v entsql.NullString) string {
	if !v.Valid {
		return "null"
	}
	return strconv.Quote(fault.Clip(v.String, 40))
}

func quote(name string) string { return string(sqltext.AppendName(nil, name)) }

// keyOf returns the columns that identify a table's rows.
func (s *Schema) keyOf(table string) (out []string) {
	for _, t := range s.Tables {
		if t.Name == table {
			for _, c := range t.PrimaryKey {
				out = append(out, c.Name)
			}
		}
	}
	return out
}

// entity returns the entity that a table is of, nil for one that is not exposed.
func (s *Schema) entity(table string) *descriptor.Entity {
	for _, e := range s.Entities {
		if e.Table == table {
			return e
		}
	}
	return nil
}

// secret reports whether what a column has must not stand in a message.
func (s *Schema) secret(table, column string) bool {
	e := s.entity(table)
	if e == nil {
		return false
	}
	for i := range e.Columns {
		if f := &e.Resource.Fields[i]; e.Columns[i].Name == column && (f.Sensitive || f.WriteOnly) {
			return true
		}
	}
	return false
}

// name is what messages call a table.
func (s *Schema) name(table string) string {
	if e := s.entity(table); e != nil {
		return e.Resource.Name
	}
	return table
}

// of names a number of rows of a table.
func (s *Schema) of(table string, n int) string { return plural(n, "row") + " of " + s.name(table) }

func (d *differ) block(rows, do, format string, args ...any) {
	d.diff.Blocks = append(d.diff.Blocks, Block{Why: fmt.Sprintf(format, args...), Rows: rows, Do: do})
}

// checkNewColumn looks whether a new column has a value for the rows that exist.
func (d *differ) checkNewColumn(ctx context.Context, table string, c *schema.Column) error {
	if c.Type.Null || c.Default != nil {
		return nil
	}
	const do = "Give the field a default that the database has: a constant one, or Annotations(entsql.DefaultExpr(\"...\")). One that Go computes, such as Default(time.Now), gives a value to new rows only. " +
		"Or make the field Optional until the rows have values"
	if d.suppose {
		d.block("", do, "the new column %s.%s is required and has no default in the database, so rows that exist have no value for it", table, c.Name)
		return nil
	}
	r, err := d.schema.rowsOf(ctx, d.drv, table, nil, "1=1")
	if err == nil && r.n > 0 {
		d.block("", do, "the new column %s.%s is required and has no default in the database, so it has no value in %s", table, c.Name, d.schema.of(table, r.n))
	}
	return err
}

// checkUnique looks whether rows that exist share what is to be unique. added are the columns
// that come with the same change.
func (d *differ) checkUnique(ctx context.Context, table string, x *schema.Index, added []string) error {
	if !x.Unique || d.isUniqueAlready(table, x) {
		return nil
	}
	var columns, quoted, where []string
	for _, p := range x.Parts {
		if p.C == nil || slices.Contains(added, p.C.Name) {
			return nil
		}
		columns, quoted = append(columns, p.C.Name), append(quoted, quote(p.C.Name))
		where = append(where, quote(p.C.Name)+" IS NOT NULL")
	}
	for _, a := range x.Attrs {
		switch a := a.(type) {
		case *sqlite.IndexPredicate:
			where = append(where, "("+a.P+")")
		case *postgres.IndexPredicate:
			where = append(where, "("+a.P+")")
		}
	}
	name := table + "." + strings.Join(columns, " with "+table+".")
	const do = "Change or delete rows until each has a value of its own, with the build before or in a migration that is planned"
	if d.suppose {
		d.block("", do, "%s becomes unique, which fails where rows have the same", name)
		return nil
	}
	list, condition := strings.Join(quoted, ","), strings.Join(where, " AND ")
	r, err := d.schema.rowsOf(ctx, d.drv, table, columns, fmt.Sprintf("%s AND (%s) IN (SELECT %s FROM %s WHERE %s GROUP BY %s HAVING count(*)>1)", condition, list, list, quote(table), condition, list))
	if err == nil && r.n > 0 {
		d.block(r.some, do, "%s becomes unique, but %s share theirs with another", name, d.schema.of(table, r.n))
	}
	return err
}

// checkKeys looks whether rows that exist share what a folded key is to keep apart.
func (d *differ) checkKeys(ctx context.Context) error {
	spoken := dialectOf(d.drv)
	made, err := column[string](ctx, d.drv, spoken.FoldedKeys())
	if err != nil {
		return err
	}
	for _, x := range d.schema.Keys {
		t, ok := d.there.Table(x.Table)
		if !ok || slices.Contains(made, x.Name()) || slices.ContainsFunc(x.Columns, func(c string) bool { _, there := t.Column(c); return !there }) {
			continue
		}
		name := x.Table + "." + strings.Join(x.Columns, " with "+x.Table+".")
		const do = "Change or delete rows until each has a value of its own, with the build before or in a migration that is planned"
		if d.suppose {
			d.block("", do, "the case of %s does not count any more, which fails where rows differ in it alone", name)
			continue
		}
		r, err := d.schema.sharingRows(ctx, d.drv, x)
		if err != nil {
			return err
		}
		if r.n > 0 {
			d.block(r.some, do, "the case of %s does not count any more, but %s differ from another in it alone", name, d.schema.of(x.Table, r.n))
		}
	}
	return nil
}

// sharingRows are the rows that have the same as another in a key whose case is ignored.
func (s *Schema) sharingRows(ctx context.Context, drv dialect.Driver, x *sqltext.FoldedKey) (rowSet, error) {
	var where []string
	for _, c := range x.Columns {
		where = append(where, quote(c)+" IS NOT NULL")
	}
	list, condition := x.List(), strings.Join(where, " AND ")
	return s.rowsOf(ctx, drv, x.Table, x.Columns, fmt.Sprintf("%s AND (%s) IN (SELECT %s FROM %s WHERE %s GROUP BY %s HAVING count(*)>1)", condition, list, list, quote(x.Table), condition, list))
}

// isUniqueAlready reports whether a key or an index that is there keeps rows from sharing what a new
// index has: its columns are some of the new one's, and it is of all rows or of the same ones.
func (d *differ) isUniqueAlready(table string, x *schema.Index) bool {
	t, ok := d.there.Table(table)
	if !ok {
		return false
	}
	has := map[string]bool{}
	for _, p := range x.Parts {
		if p.C == nil || slices.ContainsFunc(p.Attrs, isCollation) {
			return false
		}
		has[p.C.Name] = true
	}
	where, kinds := predicate(x)
	if kinds {
		return false
	}
	narrower := func(was *schema.Index) bool {
		partly, kinds := predicate(was)
		return was.Unique && !kinds && (partly == "" || partly == where) &&
			!slices.ContainsFunc(was.Parts, func(p *schema.IndexPart) bool { return p.C == nil || !has[p.C.Name] })
	}
	if slices.ContainsFunc(t.Indexes, narrower) {
		return true
	}
	return t.PrimaryKey != nil && len(t.PrimaryKey.Parts) > 0 &&
		!slices.ContainsFunc(t.PrimaryKey.Parts, func(p *schema.IndexPart) bool { return p.C == nil || !has[p.C.Name] })
}

func isCollation(a schema.Attr) bool { _, ok := a.(*schema.Collation); return ok }

// predicate returns the condition of the rows that an index has. otherwise reports that it takes
// nulls for equal, which others do not.
func predicate(x *schema.Index) (where string, otherwise bool) {
	for _, a := range x.Attrs {
		switch a := a.(type) {
		case *sqlite.IndexPredicate:
			where = a.P
		case *postgres.IndexPredicate:
			where = a.P
		case *postgres.IndexNullsDistinct:
			otherwise = !a.V
		}
	}
	return where, otherwise
}

// checkModifiedColumn says what a change of a column loses, and looks for rows that the new
// column has no place for.
func (d *differ) checkModifiedColumn(ctx context.Context, table string, c *schema.ModifyColumn) error {
	name := table + "." + c.To.Name
	if c.Change.Is(schema.ChangeNull) && c.From.Type.Null && !c.To.Type.Null {
		d.loss(noteRequired, "makes the column %s required", name)
		if err := d.checkNulls(ctx, table, c); err != nil {
			return err
		}
	}
	if c.Change.Is(schema.ChangeType) && !widens(c.From.Type.Type, c.To.Type.Type) {
		d.loss(noteConvert, "changes the column %s from %s to %s", name, raw(c.From), raw(c.To))
		if err := d.checkConversion(ctx, table, c); err != nil {
			return err
		}
	}
	if c.Change.Is(schema.ChangeGenerated) {
		d.loss("", "computes the column %s", name)
	}
	return nil
}

// checkNulls looks for rows without a value for a column that becomes required. SQLite gives
// them the column's default, while it copies the table.
func (d *differ) checkNulls(ctx context.Context, table string, c *schema.ModifyColumn) error {
	if d.suppose || c.To.Default != nil && d.drv.Dialect() == dialect.SQLite {
		return nil
	}
	r, err := d.schema.rowsOf(ctx, d.drv, table, nil, quote(c.From.Name)+" IS NULL")
	if err == nil && r.n > 0 {
		d.block(r.some, "Give these rows a value, with the build before or in a migration that is planned, or keep the field Optional",
			"%s.%s becomes required, but has no value in %s", table, c.To.Name, d.schema.of(table, r.n))
	}
	return err
}

// checkConversion looks for values that a column's new type has no place for.
func (d *differ) checkConversion(ctx context.Context, table string, c *schema.ModifyColumn) error {
	if d.suppose {
		return nil
	}
	var b *Block
	var err error
	if d.drv.Dialect() == dialect.SQLite {
		b, err = d.schema.misfits(ctx, d.drv, table, c.To.Name, raw(c.To))
	} else {
		b, err = d.schema.losses(ctx, d.drv, table, c.To.Name, c.From.Type.Type, c.To.Type.Type)
	}
	if err == nil && b != nil {
		d.diff.Blocks = append(d.diff.Blocks, *b)
	}
	return err
}
