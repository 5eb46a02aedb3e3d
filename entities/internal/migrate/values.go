package migrate

import (
	"context"
	"fmt"
	"strings"

	"ariga.io/atlas/sql/postgres"
	"ariga.io/atlas/sql/schema"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	entschema "entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/fault"
)

// SQLite stores any value in a column of any type, so that a change of a type never fails:
// what does not convert stays as it is, and nobody can read it. These conditions are true of
// the values that a column of each kind has a place for. ? is the column; what it holds may be
// what the change has not converted yet.
const (
	fitsInt   = "CAST(CAST(? AS NUMERIC) AS INTEGER)=?"
	fitsFloat = "CAST(? AS REAL)=?"
	fitsBool  = "CAST(? AS NUMERIC)=? AND CAST(? AS NUMERIC) IN (0,1)"
	fitsBytes = "typeof(?) IN ('text','blob')"
	fitsJSON  = "json_valid(CAST(? AS TEXT))"
	fitsText  = "typeof(?)<>'blob'"
	// Without hyphens it may be taken for a number.
	fitsUUID = "typeof(?)='blob' AND length(?)=16 OR length(?)=36 AND length(replace(?,'-',''))=32 AND replace(?,'-','') NOT GLOB '*[^0-9A-Fa-f]*'"
	fitsDay  = "date(substr(?,1,10)) IS substr(?,1,10)"
	// A number is seconds.
	fitsTime = fitsInt + " OR " + fitsDay + " AND (length(?)=10 OR substr(?,11,9) GLOB '[T ][0-2][0-9]:[0-5][0-9]:[0-5][0-9]' AND substr(?,12,2)<'24' AND datetime(?) IS NOT NULL)"
	// A number keeps 15 digits of a decimal, and all of an integer of 64 bits.
	fitsDecimal = "CAST(? AS NUMERIC)=? AND (length(trim(replace(replace(?,'.',''),'-',''),'0'))<=15 OR instr(?,'.')=0 AND " + fitsInt + ")"
)

// fits returns the condition of a column's values and what they are, "" for a column that
// takes any value or whose values the app's own type reads.
func (s *Schema) fits(table string, c *entschema.Column) (condition, what string) {
	if e := s.entity(table); e != nil {
		for i := range e.Columns {
			if d := &e.Columns[i]; d.Name == c.Name && d.Affinity != "" {
				return fitsDecimal, "a decimal of at most 15 digits"
			} else if d.Name == c.Name && (d.Form != nil || d.Storage == descriptor.Decimal) {
				return "", ""
			}
		}
	}
	switch {
	case c.Type.Integer():
		return fitsInt, "an integer"
	case c.Type.Float():
		return fitsFloat, "a number that a float holds"
	case c.Type == field.TypeBool:
		return fitsBool, "0 or 1"
	case c.Type == field.TypeTime && strings.EqualFold(c.SchemaType[dialect.Postgres], "date"):
		return fitsDay, "a day such as 2026-01-31"
	case c.Type == field.TypeTime:
		return fitsTime, "a time such as 2026-01-31T08:00:00Z"
	case c.Type == field.TypeBytes:
		return fitsBytes, "bytes or text"
	case c.Type == field.TypeJSON:
		return fitsJSON, "JSON"
	case c.Type == field.TypeUUID:
		return fitsUUID, "a UUID"
	case c.Type == field.TypeString || c.Type == field.TypeEnum:
		return fitsText, "a text"
	}
	return "", ""
}

// misfits looks for values of a column in SQLite for which its type in the schema has no
// place, or which a column that is declared so does not keep; nil for none.
func (s *Schema) misfits(ctx context.Context, drv dialect.Driver, table, name, declared string) (*Block, error) {
	c := s.column(table, name)
	if c == nil {
		return nil, nil
	}
	find := func(condition, why string) (*Block, error) {
		r, err := s.rowsOf(ctx, drv, table, []string{name}, quote(name)+" IS NOT NULL AND "+strings.ReplaceAll(condition, "?", quote(name)))
		if err != nil || r.n == 0 {
			return nil, err
		}
		return &Block{Why: fmt.Sprintf("the type of %s.%s changes, but what it has in %s %s", table, name, s.of(table, r.n), why), Rows: r.some, Do: changeValues}, nil
	}
	if condition, what := s.fits(table, c); condition != "" {
		if b, err := find("NOT coalesce("+condition+",0)", "is not "+what); b != nil || err != nil {
			return b, err
		}
	}
	if condition := losingAffinity[affinity(declared)]; condition != "" {
		return find(condition, "would not stay the same")
	}
	return nil, nil
}

// changeValues is what mends values that do not convert.
const changeValues = "Change these values, with the build before or in a migration that is planned, or keep the type"

// losses looks for values of a column in PostgreSQL that would not be the same in another type;
// nil for none.
func (s *Schema) losses(ctx context.Context, drv dialect.Driver, table, name string, from, to schema.Type) (*Block, error) {
	where := losing(from, to, quote(name))
	if where == "" {
		return nil, nil
	}
	r, err := s.rowsOf(ctx, drv, table, []string{name}, quote(name)+" IS NOT NULL AND ("+where+")")
	if err != nil || r.n == 0 {
		return nil, err
	}
	was, is := typeName(from), typeName(to)
	return &Block{
		Why: fmt.Sprintf("the type of %s.%s changes from %s to %s, but what it has in %s would not stay the same", table, name, was, is, s.of(table, r.n)), Rows: r.some,
		Do: changeValues,
	}, nil
}

// typeName is a type as PostgreSQL writes it.
func typeName(t schema.Type) string {
	text, err := postgres.FormatType(t)
	if err != nil {
		return "another type"
	}
	return text
}

// column returns a column of the schema, nil if there is none.
func (s *Schema) column(table, name string) *entschema.Column {
	for _, t := range s.Tables {
		if t.Name != table {
			continue
		}
		for _, c := range t.Columns {
			if c.Name == name {
				return c
			}
		}
	}
	return nil
}

// declared returns the types of the columns that are there, by table and column.
func declared(ctx context.Context, drv dialect.Driver) (map[[2]string]string, error) {
	query := "SELECT t.name, c.name, c.type FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type='table'"
	if drv.Dialect() != dialect.SQLite {
		query = "SELECT t.relname, c.attname, format_type(c.atttypid, c.atttypmod) FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid " +
			"WHERE t.relkind = 'r' AND t.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND c.attnum > 0 AND NOT c.attisdropped"
	}
	rows := &entsql.Rows{}
	if err := drv.Query(ctx, query, []any{}, rows); err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[[2]string]string{}
	for rows.Next() {
		var at [2]string
		var typ string
		if err := rows.Scan(&at[0], &at[1], &typ); err != nil {
			return nil, err
		}
		out[at] = strings.ToLower(typ)
	}
	return out, rows.Err()
}

// checkConverted refuses what files made of a set in SQLite where they have left values that a
// column's new type has no place for. before are the types that there were.
func (s *Schema) checkConverted(ctx context.Context, drv dialect.Driver, set string, before map[[2]string]string) error {
	if drv.Dialect() != dialect.SQLite { // which converts, so that values were looked at before
		return nil
	}
	now, err := declared(ctx, drv)
	if err != nil {
		return err
	}
	for _, t := range s.Tables {
		for _, c := range t.Columns {
			at := [2]string{t.Name, c.Name}
			if was, ok := before[at]; !ok || was == now[at] {
				continue
			}
			b, err := s.misfits(ctx, drv, t.Name, c.Name, now[at])
			if err != nil {
				return err
			}
			if b != nil {
				return fault.Newf(fault.ServiceUnavailable, "the set %q was not changed: %s", set, b.Text()).WithHint("%s.", b.Do)
			}
		}
	}
	return nil
}
