package inspect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/database/sqltext"
)

// SQLite reads the catalog of a file. It looks at rows only to see how columns of times, and those
// without a declared type, keep their values.
func SQLite(ctx context.Context, q Querier) (*Database, error) {
	d := &Database{}
	s := &sqliteFile{Querier: q, found: d}
	if err := s.relations(ctx); err != nil {
		return nil, err
	}
	kept := d.Relations[:0]
	for _, r := range d.Relations {
		if err := s.describe(ctx, r); err != nil {
			if r.Kind != View { // a view may name what is not there any more
				return nil, fmt.Errorf("%s: %w", r.Name, err)
			}
			d.omit(r.Name, "the view cannot be read: "+err.Error())
			continue
		}
		kept = append(kept, r)
	}
	d.Relations = kept
	s.try(ctx)
	s.resolveReferences()
	return d, s.checks(ctx)
}

// sqliteFile is a file that is being read.
type sqliteFile struct {
	Querier
	found *Database
}

// relations lists tables and views. Tables that SQLite, its modules or Koan keep for themselves are none
// of the app's.
func (s *sqliteFile) relations(ctx context.Context) error {
	var virtual []string
	return each(ctx, s, func(rows *sql.Rows) error {
		var name, kind string
		if err := rows.Scan(&name, &kind); err != nil {
			return err
		}
		switch {
		case strings.HasPrefix(name, "sqlite_"), kind == "shadow", strings.HasPrefix(name, "koan_"), isShadow(name, virtual):
		case kind == "virtual":
			virtual = append(virtual, name)
			s.found.omit(name, "it is a virtual table, whose rows a module of SQLite makes up")
		default:
			r := &Relation{Name: name, Kind: Table}
			if kind == "view" {
				r.Kind = View
			}
			s.found.Relations = append(s.found.Relations, r)
		}
		return nil
	}, "SELECT name, type FROM pragma_table_list WHERE schema = 'main' ORDER BY name")
}

// isShadow reports whether a virtual table keeps its rows in a table. SQLite knows that only of modules that it has; the
// virtual table comes before its own by name.
func isShadow(name string, virtual []string) bool {
	return slices.ContainsFunc(virtual, func(of string) bool {
		suffix, ok := strings.CutPrefix(name, of+"_")
		return ok && slices.Contains(shadows, suffix)
	})
}

// shadows are what FTS3 to FTS5 and the R*Tree call their tables.
var shadows = []string{"config", "content", "data", "docsize", "idx", "node", "parent", "rowid", "segdir", "segments", "stat"}

// try leaves out what cannot be read here, and notes which tables cannot be written: those whose columns, indexes or
// triggers need a module, a function or a collation that this build of SQLite does not have. It says so when it compiles
// a statement, which changes nothing.
func (s *sqliteFile) try(ctx context.Context) {
	s.found.Relations = slices.DeleteFunc(s.found.Relations, func(r *Relation) bool {
		why := s.compile(ctx, s.read(r))
		if why != nil {
			s.found.omit(r.Name, "it cannot be read here: "+why.Error())
			return true
		}
		for _, statement := range s.writes(r) {
			if why := s.compile(ctx, statement); why != nil {
				r.Unwritable = "writing to it needs what this program does not have: " + why.Error()
				break
			}
		}
		return false
	})
}

// compile returns why a statement cannot be carried out.
func (s *sqliteFile) compile(ctx context.Context, statement string) error {
	enough := errors.New("enough")
	err := each(ctx, s, func(*sql.Rows) error { return enough }, "EXPLAIN "+statement)
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

// read returns the statement that reads the rows of a relation in the order of their ids.
func (s *sqliteFile) read(r *Relation) string {
	order := ""
	for i, name := range r.Key {
		order += []string{" ORDER BY ", ", "}[min(i, 1)] + quoted(name)
	}
	return "SELECT * FROM " + quoted(r.Name) + order
}

// writes returns a statement of each kind that writes rows of a table.
func (s *sqliteFile) writes(r *Relation) []string {
	if r.Kind != Table {
		return nil
	}
	table := quoted(r.Name)
	out := []string{"INSERT INTO " + table + " DEFAULT VALUES", "DELETE FROM " + table}
	var same []string
	for _, c := range r.Columns {
		if !c.Generated {
			same = append(same, quoted(c.Name)+" = "+quoted(c.Name))
		}
	}
	if len(same) > 0 {
		out = append(out, "UPDATE "+table+" SET "+strings.Join(same, ", "))
	}
	return out
}

func quoted(name string) string { return string(sqltext.AppendName(nil, name)) }

// describe completes a relation but for its checks.
func (s *sqliteFile) describe(ctx context.Context, r *Relation) error {
	key := map[int]string{}
	err := each(ctx, s, func(rows *sql.Rows) error {
		var name, declared string
		var notNull, hidden, always bool
		var kind, part int
		var standard sql.NullString
		if err := rows.Scan(&name, &declared, &notNull, &standard, &part, &kind, &always); err != nil {
			return err
		}
		if hidden = kind == 1; hidden {
			return nil
		}
		c := &Column{Name: name, Type: declared, Nullable: !notNull, Generated: kind > 1 || r.Kind == View}
		c.Value, c.Limits = sqliteValue(declared)
		if standard.Valid {
			c.Default, c.Computed = parseDefault(standard.String)
		}
		if part > 0 {
			key[part] = name
			c.Nullable = c.Nullable && !always
		}
		r.Columns = append(r.Columns, c)
		return nil
	}, `SELECT x.name, x.type, x."notnull", x.dflt_value, x.pk, x.hidden, coalesce(l.wr OR l.strict, 0) FROM pragma_table_xinfo(?) AS x
LEFT JOIN pragma_table_list AS l ON l.schema = 'main' AND l.name = ? ORDER BY x.cid`, r.Name, r.Name)
	if err != nil {
		return err
	}
	for n := 1; n <= len(key); n++ {
		r.Key = append(r.Key, key[n])
	}
	if len(key) == 1 && strings.EqualFold(r.Column(key[1]).Type, "INTEGER") {
		r.Column(key[1]).Nullable, r.Column(key[1]).Computed = false, true
	}
	if r.Kind == Table {
		if err := s.uniqueKeys(ctx, r); err != nil {
			return err
		}
		if err := s.collations(ctx, r); err != nil {
			return err
		}
		if err := s.foreignKeys(ctx, r); err != nil {
			return err
		}
		r.chooseKey()
		r.nameRowID()
	}
	return s.sample(ctx, r)
}

// collations finds the columns of keys whose values are equal to other texts.
func (s *sqliteFile) collations(ctx context.Context, r *Relation) error {
	return each(ctx, s, func(rows *sql.Rows) error {
		var name sql.NullString
		err := rows.Scan(&name)
		if c := r.Column(name.String); c != nil {
			c.Alike = true
		}
		return err
	}, `SELECT c.name FROM pragma_index_list(?) AS i, pragma_index_xinfo(i.name) AS c WHERE i."unique" = 1 AND c.key = 1 AND upper(c.coll) <> 'BINARY'`, r.Name)
}

// nameRowID finds a name for the number of a row that no column has.
func (r *Relation) nameRowID() {
	if len(r.Key) > 0 {
		return
	}
	for _, name := range []string{"rowid", "_rowid_", "oid"} {
		if !slices.ContainsFunc(r.Columns, func(c *Column) bool { return strings.EqualFold(c.Name, name) }) {
			r.RowID = name
			return
		}
	}
}

// uniqueKeys reads the unique keys beside the primary one; a partial index and one of expressions are
// no keys of all rows.
func (s *sqliteFile) uniqueKeys(ctx context.Context, r *Relation) error {
	var names []string
	err := each(ctx, s, func(rows *sql.Rows) error {
		var name string
		names = append(names, "")
		err := rows.Scan(&name)
		names[len(names)-1] = name
		return err
	}, `SELECT name FROM pragma_index_list(?) WHERE "unique" = 1 AND partial = 0 AND origin <> 'pk' ORDER BY seq DESC`, r.Name)
	if err != nil {
		return err
	}
	for _, name := range names {
		u, whole := Unique{Name: name}, true
		err := each(ctx, s, func(rows *sql.Rows) error {
			var column sql.NullString
			err := rows.Scan(&column)
			whole = whole && column.Valid
			u.Columns = append(u.Columns, column.String)
			return err
		}, "SELECT name FROM pragma_index_info(?) ORDER BY seqno", name)
		if err != nil {
			return err
		}
		if whole {
			r.Unique = append(r.Unique, u)
		}
	}
	return nil
}

func (s *sqliteFile) foreignKeys(ctx context.Context, r *Relation) error {
	byID := map[int]*ForeignKey{}
	return each(ctx, s, func(rows *sql.Rows) error {
		var id int
		var table, from, onDelete string
		var to sql.NullString
		if err := rows.Scan(&id, &table, &from, &to, &onDelete); err != nil {
			return err
		}
		f := byID[id]
		if f == nil {
			f = &ForeignKey{Table: table}
			if onDelete == "CASCADE" || onDelete == "SET NULL" {
				f.OnDelete = onDelete
			}
			byID[id], r.ForeignKeys = f, append(r.ForeignKeys, f)
		}
		f.Columns, f.Refers = append(f.Columns, from), append(f.Refers, to.String)
		return nil
	}, `SELECT id, "table", "from", "to", on_delete FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq`, r.Name)
}

// resolveReferences completes references that name no columns, and spells names as their tables do:
// SQLite does not care for case. What leads nowhere is left out, and named.
func (s *sqliteFile) resolveReferences() {
	for _, r := range s.found.Relations {
		var kept []*ForeignKey
		for _, f := range r.ForeignKeys {
			if problem := s.resolve(r, f); problem != "" {
				s.found.omit(r.Name+"."+strings.Join(f.Columns, ","), problem)
				continue
			}
			kept = append(kept, f)
		}
		r.ForeignKeys = kept
	}
}

func (s *sqliteFile) resolve(r *Relation, f *ForeignKey) (problem string) {
	i := slices.IndexFunc(s.found.Relations, func(o *Relation) bool { return strings.EqualFold(o.Name, f.Table) })
	if i < 0 {
		return fmt.Sprintf("its foreign key refers to the table %s, which is not there or not served", f.Table)
	}
	target := s.found.Relations[i]
	f.Table = target.Name
	for n := range f.Columns {
		if f.Refers[n] == "" && n < len(target.Key) {
			f.Refers[n] = target.Key[n]
		}
		own, far := spelt(r, f.Columns[n]), spelt(target, f.Refers[n])
		if own == "" || far == "" {
			return fmt.Sprintf("its foreign key refers to a column that the table %s does not have", target.Name)
		}
		f.Columns[n], f.Refers[n] = own, far
	}
	return ""
}

// spelt returns the name of a column as its table spells it, "" if there is none.
func spelt(r *Relation, name string) string {
	for _, c := range r.Columns {
		if strings.EqualFold(c.Name, name) {
			return c.Name
		}
	}
	return ""
}

// checks reads the conditions of tables, which SQLite keeps as a part of their definition only. (Atlas ends
// with an error where a foreign key names no columns of its target, which is usual.)
func (s *sqliteFile) checks(ctx context.Context) error {
	return each(ctx, s, func(rows *sql.Rows) error {
		var name string
		var definition sql.NullString
		if err := rows.Scan(&name, &definition); err != nil {
			return err
		}
		if r := s.found.Find("", name); r != nil {
			r.Checks = checksIn(definition.String)
			r.applyChecks()
		}
		return nil
	}, "SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
}
