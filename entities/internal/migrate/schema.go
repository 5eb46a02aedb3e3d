// Package migrate brings the tables of sets to an app's schema: in place, by
// adding what is missing, or by the files of a migration directory, which the
// app's owner has reviewed. It also says what stands in the way, and plans files.
//
// What belongs here: comparing tables, judging what a change may lose, reading and
// writing the directory (in Atlas' format), and what a set's ledger says of it.
// Not here: locks, transactions and connections, which are the backend's,
// and the command line.
package migrate

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"ariga.io/atlas/sql/migrate"
	"ariga.io/atlas/sql/postgres"
	"ariga.io/atlas/sql/schema"
	"ariga.io/atlas/sql/sqlite"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	entschema "entgo.io/ent/dialect/sql/schema"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/ledger"
)

// Schema is what an app's tables should be.
type Schema struct {
	// Tables are ent's, as the generated migrate.Tables has them.
	Tables []*entschema.Table
	// Hash identifies them, with what finds words in them.
	Hash int32
	// Indexes find words in the tables.
	Indexes []*sqltext.WordIndex
	// Keys are unique whatever their case.
	Keys []*sqltext.FoldedKey
	// Prefixes find texts by how they begin.
	Prefixes []*sqltext.PrefixIndex
	// Entities are what the tables are of, as far as they are exposed: messages name them.
	Entities []*descriptor.Entity
	// Upgrades are what the app does for data of an earlier schema.
	Upgrades []Upgrade

	mu    sync.Mutex
	names ledger.Tables // nil until asked for
}

// NewSchema returns a schema of tables that hash identifies, of what finds words in them, of their keys that
// ignore case, and of the app's own rows of some version; 0 is none.
func NewSchema(tables []*entschema.Table, hash, data int32, indexes []*sqltext.WordIndex, keys ...*sqltext.FoldedKey) *Schema {
	parts := make([]int32, 0, len(indexes)+len(keys)+2)
	part := func(name string) {
		h := fnv.New32a()
		h.Write([]byte(name))
		parts = append(parts, int32(h.Sum32()))
	}
	for _, x := range indexes {
		part(x.Name())
	}
	for _, x := range keys {
		part(x.Name())
	}
	slices.Sort(parts)
	if data != 0 {
		parts = append(parts, data)
	}
	if len(parts) > 0 {
		hash = mark(append([]int32{hash}, parts...)...)
	}
	return &Schema{Tables: tables, Hash: hash, Indexes: indexes, Keys: keys}
}

// WithPrefixes adds what finds texts by how they begin. It is part of what Hash identifies.
func (s *Schema) WithPrefixes(prefixes ...*sqltext.PrefixIndex) *Schema {
	s.Prefixes = prefixes
	for _, x := range prefixes {
		h := fnv.New32a()
		h.Write([]byte(x.Name()))
		s.Hash = mark(s.Hash, int32(h.Sum32()))
	}
	return s
}

// known returns the names in the schema, for the ledger.
func (s *Schema) known(ctx context.Context, drv dialect.Driver) (ledger.Tables, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		desired, err := s.desired(ctx, drv)
		if err != nil {
			return nil, err
		}
		s.names = names(desired)
	}
	return s.names, nil
}

// hashText is a hash as people read it.
func hashText(hash int32) string { return fmt.Sprintf("%08x", uint32(hash)) }

// system is what the tables of the ledger begin with: no migration touches them.
const system = "koan_"

// desiring guards ent's tables, which ent prepares in place.
var desiring sync.Mutex

// desired returns the app's tables in Atlas' form.
func (s *Schema) desired(ctx context.Context, drv dialect.Driver) (*schema.Schema, error) {
	desiring.Lock()
	defer desiring.Unlock()
	var out *schema.Schema
	var m *entschema.Atlas
	// The hook runs where ent has prepared the tables, in place of what would change
	// the database.
	read := func(entschema.Creator) entschema.Creator {
		return entschema.CreateFunc(func(ctx context.Context, tables ...*entschema.Table) error {
			realm, err := m.StateReader(tables...).ReadState(ctx)
			if err == nil && len(realm.Schemas) > 0 {
				out = realm.Schemas[0]
			}
			return err
		})
	}
	var err error
	if m, err = entschema.NewMigrate(foreignKeysOn{drv}, entschema.WithHooks(read)); err != nil {
		return nil, err
	}
	if err := m.Create(ctx, s.Tables...); err != nil {
		return nil, err
	}
	if out == nil {
		out = &schema.Schema{}
	}
	return out, nil
}

// foreignKeysOn answers ent, which asks whether SQLite enforces foreign keys: not in a
// transaction that may rebuild tables. The backend checks them at its end.
type foreignKeysOn struct{ dialect.Driver }

func (e foreignKeysOn) Query(ctx context.Context, query string, args, v any) error {
	if query == "PRAGMA foreign_keys" {
		query = "SELECT 1"
	}
	return e.Driver.Query(ctx, query, args, v)
}

// names returns the names in a schema.
func names(s *schema.Schema) ledger.Tables {
	out := ledger.Tables{}
	for _, t := range s.Tables {
		var l ledger.Table
		for _, c := range t.Columns {
			l.Columns = append(l.Columns, c.Name)
		}
		for _, i := range t.Indexes {
			l.Indexes = append(l.Indexes, i.Name)
		}
		out[t.Name] = l
	}
	return out
}

// open returns a driver of Atlas over a connection.
func open(drv dialect.Driver) (migrate.Driver, error) {
	switch drv.Dialect() {
	case dialect.SQLite:
		return sqlite.Open(querier{drv})
	case dialect.Postgres:
		return postgres.Open(querier{drv})
	}
	return nil, fmt.Errorf("migrate: no migrations for %s", drv.Dialect())
}

// inspect returns the tables that are there, without the ledger's.
func inspect(ctx context.Context, at migrate.Driver) (*schema.Schema, error) {
	s, err := at.InspectSchema(ctx, "", &schema.InspectOptions{Mode: schema.InspectSchemas | schema.InspectTables})
	if err != nil {
		return nil, err
	}
	s.Tables = slices.DeleteFunc(s.Tables, func(t *schema.Table) bool { return strings.HasPrefix(t.Name, system) })
	for _, t := range s.Tables {
		t.Indexes = slices.DeleteFunc(t.Indexes, func(i *schema.Index) bool {
			return sqltext.IsIndex(i.Name)
		})
	}
	return s, nil
}

// querier is a connection as Atlas wants it.
type querier struct{ drv dialect.Driver }

func (q querier) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows := &entsql.Rows{}
	if err := q.drv.Query(ctx, query, args, rows); err != nil {
		return nil, err
	}
	r, ok := rows.ColumnScanner.(*sql.Rows)
	if !ok {
		return nil, fmt.Errorf("migrate: rows of type %T", rows.ColumnScanner)
	}
	return r, nil
}

func (q querier) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	var r sql.Result
	if err := q.drv.Exec(ctx, query, args, &r); err != nil {
		return nil, err
	}
	return r, nil
}
