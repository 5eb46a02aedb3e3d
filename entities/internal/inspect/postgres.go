package inspect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// PostgreSQL reads the catalogs of a database: what its role may read of all schemas but the server's own. Types
// and tables are named with their schemas, so the search path must be that of the server alone.
func PostgreSQL(ctx context.Context, q Querier) (*Database, error) {
	s := &postgresCatalog{Querier: q, found: &Database{}, byID: map[int64]*Relation{}, inherited: map[int64]bool{}, numbers: map[int64]map[int]*Column{}}
	for _, read := range []func(context.Context) error{s.types, s.relations, s.columns, s.indexes, s.constraints} {
		if err := read(ctx); err != nil {
			return nil, err
		}
	}
	kept := s.found.Relations[:0]
	for _, r := range s.found.Relations {
		if len(r.Columns) == 0 {
			s.found.omit(r.Schema+"."+r.Name, "it has no columns, or its role cannot read any of them")
			continue
		}
		r.chooseKey()
		r.applyChecks()
		kept = append(kept, r)
	}
	s.found.Relations = kept
	s.dropUnseen()
	return s.found, nil
}

// OmitUnreadable leaves out the views that cannot be read: they need functions, types or tables that the role, or
// the search path of its own, does not find. q has that search path. The server says so when it plans a query,
// which reads no row.
func (d *Database) OmitUnreadable(ctx context.Context, q Querier) error {
	kept := d.Relations[:0]
	for _, r := range d.Relations {
		if r.Kind == View {
			err := each(ctx, q, func(*sql.Rows) error { return nil }, "SELECT * FROM "+quotedName(r.Schema, r.Name)+" LIMIT 0")
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if isOfView(err) {
				d.omit(r.Qualified(), "the view cannot be read: "+err.Error())
				continue
			}
			if err != nil {
				return err
			}
		}
		kept = append(kept, r)
	}
	d.Relations = kept
	return nil
}

// isOfView reports whether an error is the server's answer about a view, and not that it cannot answer: the
// connection broke (class 08), it lacks resources (53), it stops (57P), its system failed (58).
func isOfView(err error) bool {
	var answer interface{ SQLState() string }
	if !errors.As(err, &answer) {
		return false
	}
	state := answer.SQLState()
	return !slices.ContainsFunc([]string{"08", "53", "57P", "58"}, func(class string) bool { return strings.HasPrefix(state, class) })
}

// postgresCatalog is a database that is being read.
type postgresCatalog struct {
	Querier
	found *Database
	byID  map[int64]*Relation
	// inherited are the tables whose rows are also those of others.
	inherited map[int64]bool
	numbers   map[int64]map[int]*Column // columns by their number in the catalog
	typesOf   map[int64]*postgresType
}

var postgresKinds = map[string]Kind{"r": Table, "p": Table, "v": View, "m": MaterializedView, "f": Foreign}

// relations lists what has rows: neither what an extension keeps for itself, nor what is Koan's.
func (s *postgresCatalog) relations(ctx context.Context) error {
	return each(ctx, s, func(rows *sql.Rows) error {
		var id int64
		var kind string
		var comment, parent sql.NullString
		var readable, populated, inherited bool
		r := &Relation{}
		if err := rows.Scan(&id, &r.Schema, &r.Name, &kind, &comment, &parent, &readable, &populated, &inherited); err != nil {
			return err
		}
		r.Kind, r.Comment, r.PartOf = postgresKinds[kind], comment.String, parent.String
		if inherited {
			s.inherited[id] = true
			r.Unwritable = "it also has the rows of tables that inherit from it, over which its key does not hold"
		}
		if !readable {
			if r.PartOf == "" {
				s.found.omit(r.Schema+"."+r.Name, "the role that Koan connects as may not read it")
			}
			return nil
		}
		if !populated {
			s.found.omit(r.Schema+"."+r.Name, "the materialized view has not been filled: REFRESH MATERIALIZED VIEW fills it")
			return nil
		}
		s.byID[id], s.numbers[id] = r, map[int]*Column{}
		s.found.Relations = append(s.found.Relations, r)
		return nil
	}, `SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, obj_description(c.oid, 'pg_class'),
	CASE WHEN c.relispartition THEN (SELECT i.inhparent::regclass::text FROM pg_inherits i WHERE i.inhrelid = c.oid LIMIT 1) END,
	has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT'), c.relispopulated,
	c.relkind = 'r' AND EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhparent = c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' AND c.relname !~ '^koan_'
	AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.classid = 'pg_class'::regclass AND d.deptype = 'e')
ORDER BY n.nspname, c.relname`)
}

func (s *postgresCatalog) columns(ctx context.Context) error {
	return each(ctx, s, func(rows *sql.Rows) error {
		var id, typ int64
		var number, modifier int
		var comment, standard sql.NullString
		var notNull, identity, generated, always, alike bool
		c := &Column{}
		if err := rows.Scan(&id, &number, &c.Name, &typ, &modifier, &c.Type, &notNull, &standard, &identity, &always, &generated, &c.Unlisted, &comment, &alike); err != nil {
			return err
		}
		r := s.byID[id]
		if r == nil {
			return nil
		}
		c.Nullable, c.Comment = !notNull, comment.String
		s.describe(c, typ, modifier)
		c.Alike = c.Alike || alike
		switch {
		case generated, !r.Writable():
			c.Generated = true
		case identity:
			c.Computed, c.Always = true, always
		case standard.Valid:
			c.Default, c.Computed = parseDefault(standard.String)
		}
		r.Columns, s.numbers[id][number] = append(r.Columns, c), c
		return nil
	}, `SELECT a.attrelid::bigint, a.attnum, a.attname, a.atttypid::bigint, a.atttypmod, format_type(a.atttypid, a.atttypmod), a.attnotnull,
	pg_get_expr(d.adbin, d.adrelid), a.attidentity <> '', a.attidentity = 'a', a.attgenerated <> '', a.attndims > 1, col_description(a.attrelid, a.attnum),
	EXISTS (SELECT FROM pg_collation l WHERE l.oid = a.attcollation AND NOT l.collisdeterministic)
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
	AND a.attrelid IN (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_')
ORDER BY a.attrelid, a.attnum`)
}

// named returns the names of columns by their numbers; ok is false where one cannot be read.
func (s *postgresCatalog) named(id int64, numbers string) (out []string, ok bool) {
	for _, text := range strings.FieldsFunc(numbers, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(text)
		c := s.numbers[id][n]
		if err != nil || c == nil {
			return nil, false
		}
		out = append(out, c.Name)
	}
	return out, len(out) > 0
}

// indexes reads primary and unique keys, however they were declared.
func (s *postgresCatalog) indexes(ctx context.Context) error {
	return each(ctx, s, func(rows *sql.Rows) error {
		var id int64
		var name, numbers string
		var primary bool
		if err := rows.Scan(&id, &name, &primary, &numbers); err != nil {
			return err
		}
		columns, ok := s.named(id, numbers)
		r := s.byID[id]
		switch {
		case !ok || r == nil || s.inherited[id]:
		case primary:
			r.Key = columns
		default:
			r.Unique = append(r.Unique, Unique{Name: name, Columns: columns})
		}
		return nil
	}, `SELECT i.indrelid::bigint, c.relname, i.indisprimary, array_to_string((i.indkey::int2[])[0:i.indnkeyatts - 1], ',')
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
ORDER BY i.indrelid, i.indisprimary DESC, c.oid`)
}

// constraints reads foreign keys and checks.
func (s *postgresCatalog) constraints(ctx context.Context) error {
	return each(ctx, s, func(rows *sql.Rows) error {
		var id, refers int64
		var kind, name, onDelete, own, far string
		var check sql.NullString
		if err := rows.Scan(&id, &kind, &name, &refers, &onDelete, &own, &far, &check); err != nil {
			return err
		}
		r := s.byID[id]
		if r == nil {
			return nil
		}
		if kind == "c" {
			r.Checks = append(r.Checks, check.String)
			return nil
		}
		target := s.byID[refers]
		columns, readable := s.named(id, own)
		far2, known := s.named(refers, far)
		if target == nil || !readable || !known {
			s.found.omit(r.Schema+"."+r.Name+"."+name, "the foreign key leads to, or along, what the role may not read")
			return nil
		}
		f := &ForeignKey{Name: name, Columns: columns, Schema: target.Schema, Table: target.Name, Refers: far2}
		f.OnDelete = map[string]string{"c": "CASCADE", "n": "SET NULL"}[onDelete]
		r.ForeignKeys = append(r.ForeignKeys, f)
		return nil
	}, `SELECT conrelid::bigint, contype::text, conname, confrelid::bigint, confdeltype::text, array_to_string(conkey, ','), coalesce(array_to_string(confkey, ','), ''),
	CASE WHEN contype = 'c' THEN pg_get_expr(conbin, conrelid) END
FROM pg_constraint WHERE contype IN ('f', 'c') AND conrelid <> 0 AND conparentid = 0 ORDER BY conrelid, contype, array_to_string(conkey, ','), conname`)
}

// dropUnseen takes out foreign keys to what is not served.
func (s *postgresCatalog) dropUnseen() {
	for _, r := range s.found.Relations {
		r.ForeignKeys = slices.DeleteFunc(r.ForeignKeys, func(f *ForeignKey) bool {
			return s.found.Find(f.Schema, f.Table) == nil
		})
	}
}

// quotedName is a name of a type in a statement.
func quotedName(schema, name string) string {
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	return fmt.Sprintf("%s.%s", quote(schema), quote(name))
}
