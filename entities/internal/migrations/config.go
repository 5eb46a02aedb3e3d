// Package migrations is how whoever runs an app sees its schema change: settings, the
// command `migrate`, and the state of sets.
//
// What belongs here: what is configured, asked for and reported. Not here: how
// tables are compared and changed (package migrate).
package migrations

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"entgo.io/ent"
	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/migrate"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/regular"
)

// The keys of how sets come to the schema.
const (
	settingMode = "migrations.mode"
	settingDir  = "migrations.dir"
	inPlace     = "auto"
	versioned   = "versioned"
)

// Settings are those of how sets are brought to the app's schema.
func Settings() []catalog.Setting {
	return []catalog.Setting{
		{
			Key: settingMode, Default: inPlace, OneOf: []string{inPlace, versioned},
			Help: "how sets are brought to the app's schema: auto adds what is missing at a set's first use, versioned refuses sets that `APP migrate apply` has not migrated",
		},
		{Key: settingDir, Default: "migrations", Help: "folder of the migration files"},
	}
}

// Config is how an app's sets are brought to its schema, as configured.
type Config struct {
	Mode string // as it is set

	schema  *migrate.Schema
	path    string // where files are written
	carried fs.FS  // the directory that the app has in it; nil where path counts
	command string
	dialect string // of the files
}

// Configure reads the settings. carried are the migrations that the app has in it, nil for
// none; dialect is ent's name of the database's.
func Configure(app *shim.App, carried fs.FS, dialect string, host catalog.Host) *Config {
	s := host.Settings()
	c := &Config{
		schema: schemaOf(app, dialect), Mode: s.String(settingMode), path: s.String(settingDir),
		command: host.App() + " migrate", dialect: dialect,
	}
	if !s.IsSet(settingDir) {
		c.carried = carried
	}
	return c
}

// Hash identifies the schema that sets are migrated to.
func (c *Config) Hash() int32 { return c.schema.Hash }

// wordIndexes returns what finds words in an app's entities.
func wordIndexes(g *descriptor.Graph) []*sqltext.WordIndex {
	var out []*sqltext.WordIndex
	for _, e := range g.Entities {
		if x := filter.Index(e); x != nil {
			out = append(out, x)
		}
	}
	return out
}

// foldedKeys returns the unique keys of an app's entities that ignore the case of texts.
func foldedKeys(g *descriptor.Graph) []*sqltext.FoldedKey {
	var out []*sqltext.FoldedKey
	for _, e := range g.Entities {
		for _, columns := range e.FoldedKeys {
			out = append(out, &sqltext.FoldedKey{Table: e.Table, Columns: columns, Folded: e.FoldedColumns(columns)})
		}
	}
	return out
}

// files reads the directory. With sums its files must be what atlas.sum says.
func (c *Config) files(sums bool) (w migrate.Files, err error) {
	w = migrate.Files{Schema: c.schema, Command: c.command}
	from, place := c.carried, "the app"
	if from == nil {
		if place, err = filepath.Abs(c.path); err != nil {
			return w, err
		}
		if info, err := os.Stat(place); err == nil && !info.IsDir() {
			return w, fault.Newf(fault.ServiceUnavailable, "%s is not a folder", place).WithHint("Set `%s` to the folder of the migrations.", settingDir)
		}
		from = regular.Dir(place)
	} else if from, err = onlyFolder(from); err != nil {
		return w, err
	}
	w.Dir, err = migrate.Read(from, place, c.command, c.dialect, sums)
	return w, err
}

// schemaOf returns an app's schema in a dialect, with what the app does for data of an earlier one.
func schemaOf(app *shim.App, of string) *migrate.Schema {
	s := migrate.NewSchema(app.Tables, app.SchemaHash, app.DataVersion, wordIndexes(app.Graph), foldedKeys(app.Graph)...)
	if of == dialect.Postgres {
		s.WithPrefixes(prefixIndexes(app)...)
	}
	s.Entities = app.Graph.Entities
	for _, u := range app.Upgrades {
		s.Upgrades = append(s.Upgrades, migrate.Upgrade{Before: u.Before, After: func(ctx context.Context, set string, drv dialect.Driver) error {
			client, err := app.Connect(set, drv, func(next ent.Mutator) ent.Mutator { return next })
			if err != nil {
				return err
			}
			return u.After(ctx, set, drv, client)
		}})
	}
	return s
}

// onlyFolder returns the folder that an embedded one has as its only content, as
// `//go:embed migrations` makes it.
func onlyFolder(from fs.FS) (fs.FS, error) {
	entries, err := fs.ReadDir(from, ".")
	if err != nil {
		return nil, err
	}
	if len(entries) == 1 && entries[0].IsDir() {
		return fs.Sub(from, entries[0].Name())
	}
	return from, nil
}

// Way is how sets are opened. Its error is the refusal to start.
func (c *Config) Way() (migrate.Way, error) {
	if c.Mode != versioned {
		return migrate.InPlace{Schema: c.schema, Command: c.command}, nil
	}
	w, err := c.files(true)
	if err != nil {
		return nil, err
	}
	return w, w.Check()
}
