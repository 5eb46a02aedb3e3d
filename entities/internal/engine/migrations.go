package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/migrate"
	"github.com/koan-go/koan/entities/internal/sqltext"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// The keys of how sets come to the schema.
const (
	settingMode = "migrations.mode"
	settingDir  = "migrations.dir"
	inPlace     = "auto"
	versioned   = "versioned"
)

func migrationSettings() []catalog.Setting {
	return []catalog.Setting{
		{
			Key: settingMode, Default: inPlace, OneOf: []string{inPlace, versioned},
			Help: "how sets are brought to the app's schema: auto adds what is missing at a set's first use, versioned refuses sets that `APP migrate apply` has not migrated",
		},
		{Key: settingDir, Default: "migrations", Help: "folder of the migration files"},
	}
}

// migrations is how an app's sets are brought to its schema, as configured.
type migrations struct {
	schema  *migrate.Schema
	mode    string
	path    string // where files are written
	carried fs.FS  // the directory that the app has in it; nil where path counts
	command string
	dialect string // of the files
}

func newMigrations(app *shim.App, o Options, host catalog.Host) *migrations {
	s := host.Settings()
	m := &migrations{
		schema: migrate.NewSchema(app.Tables, app.SchemaHash, wordIndexes(app.Graph)), mode: s.String(settingMode), path: s.String(settingDir),
		command: host.App() + " migrate", dialect: dialect.SQLite,
	}
	if onPostgres(s.String(settingDatabase)) {
		m.dialect = dialect.Postgres
	}
	if o.Migrations != nil && !s.IsSet(settingDir) {
		m.carried = o.Migrations
	}
	return m
}

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

// files reads the directory. With sums its files must be what atlas.sum says.
func (m *migrations) files(sums bool) (w migrate.Files, err error) {
	w = migrate.Files{Schema: m.schema, Command: m.command}
	from, place := m.carried, "the app"
	if from == nil {
		if place, err = filepath.Abs(m.path); err != nil {
			return w, err
		}
		if info, err := os.Stat(place); err == nil && !info.IsDir() {
			return w, fault.Newf(fault.ServiceUnavailable, "%s is not a folder", place).WithHint("Set `%s` to the folder of the migrations.", settingDir)
		}
		from = os.DirFS(place)
	} else if from, err = onlyFolder(from); err != nil {
		return w, err
	}
	w.Dir, err = migrate.Read(from, place, m.command, m.dialect, sums)
	return w, err
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

// way is how sets are opened. Its error is the refusal to start.
func (m *migrations) way() (migrate.Way, error) {
	if m.mode != versioned {
		return migrate.InPlace{Schema: m.schema, Command: m.command}, nil
	}
	w, err := m.files(true)
	if err != nil {
		return nil, err
	}
	return w, w.Check()
}

// reportOpened is the look at a set that has another mark, under its lock.
func reportOpened(w migrate.Way) func(ctx context.Context, set string, drv dialect.Driver) error {
	return func(ctx context.Context, set string, drv dialect.Driver) error {
		v, err := w.Open(ctx, drv)
		if err != nil {
			return failedMigration(set, err)
		}
		if v.State != migrate.Current {
			return v.Fault(set)
		}
		return nil
	}
}

// failedMigration is the fault for a statement that the database refused. The
// database's message is for the log only.
func failedMigration(set string, err error) error {
	var known *fault.Fault
	if errors.As(err, &known) {
		return err
	}
	return fault.Newf(fault.ServiceUnavailable, "the tables of the set %q could not be migrated and were not changed", set).
		WithHint("Check the server's log, or run `migrate apply` to see why.").Because(err)
}
