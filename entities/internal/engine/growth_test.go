package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	v1 "github.com/koan-go/koan/tests/growth/v1/ent"
	v2 "github.com/koan-go/koan/tests/growth/v2/ent"
)

// grown is an app that grows: one place for data, one for migrations.
type grown struct {
	*testing.T
	database, dir, mode string
	log                 *bytes.Buffer
}

func newGrown(t *testing.T, mode string) *grown {
	return &grown{T: t, database: place(t), dir: filepath.Join(t.TempDir(), "migrations"), mode: mode, log: &bytes.Buffer{}}
}

func (g *grown) App() string                 { return "growth" }
func (g *grown) Version() string             { return "test" }
func (g *grown) Command() string             { return "app" }
func (g *grown) Settings() catalog.Values    { return growing{values{}, g} }
func (g *grown) Snapshot() *catalog.Snapshot { return nil }
func (g *grown) Changed()                    {}
func (g *grown) Log() *slog.Logger           { return slog.New(slog.NewTextHandler(g.log, nil)) }
func (g *grown) ConfigFile() string          { return "" }
func (g *grown) Testing() bool               { return true }
func (g *grown) OneShot() bool               { return false }

type growing struct {
	values
	g *grown
}

func (v growing) String(key string) string {
	return map[string]string{"database": v.g.database, "migrations.mode": v.g.mode, "migrations.dir": v.g.dir}[key]
}

func (v growing) IsSet(key string) bool { return key != "migrations.dir" || v.g.dir != "" }

func schemaOf(version int) *shim.App {
	if version == 2 {
		return v2.Entities()
	}
	return v1.Entities()
}

// try starts a version of the app.
func (g *grown) try(version int) (*app, error) {
	g.Helper()
	p := entities.Provide(schemaOf(version), entities.Options{})
	if err := p.Start(context.Background(), g); err != nil {
		return nil, err
	}
	s, err := catalog.NewSnapshot(p.Offer())
	require.NoError(g, err)
	return &app{TB: g.T, engine: run.NewEngine(run.Options{}), provider: p, place: g.database, as: auth.Local(), view: s.View(auth.Local(), exposure.Full, false)}, nil
}

// with runs a version of the app that must start, and stops it.
func (g *grown) with(version int, use func(a *app)) {
	g.Helper()
	a, err := g.try(version)
	if err != nil {
		g.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	use(a)
	require.NoError(g, a.provider.Stop(context.Background()))
}

// refused starts a version of the app that must not start.
func (g *grown) refused(version int) *fault.Fault {
	g.Helper()
	_, err := g.try(version)
	require.Error(g, err)
	f := fault.From(err)
	require.Equal(g, fault.ServiceUnavailable, f.Code, "%v (%v)", f, f.Unwrap())
	require.NotEmpty(g, f.Hint)
	return f
}

// told is what a command printed.
type told struct{ bytes.Buffer }

func (p *told) Printf(format string, args ...any) { fmt.Fprintf(&p.Buffer, format, args...) }
func (p *told) JSON(v any) error                  { return json.NewEncoder(&p.Buffer).Encode(v) }
func (p *told) Table(rows [][]catalog.Cell) {
	for _, row := range rows {
		for _, cell := range row {
			p.Printf("%s ", cell.Text)
		}
		p.Printf("\n")
	}
}

// migrate runs a command of a version of the app, such as "apply --drop".
func (g *grown) migrate(version int, line string) (out, errs string, err error) {
	g.Helper()
	p := entities.Provide(schemaOf(version), entities.Options{})
	in := &catalog.Invocation{Bools: map[string]bool{}, Strings: map[string]string{}}
	words := strings.Fields(line)
	for _, w := range words[1:] {
		switch flag, value, found := strings.Cut(strings.TrimPrefix(w, "--"), "="); {
		case !strings.HasPrefix(w, "--"):
			in.Args = append(in.Args, w)
		case found:
			in.Strings[flag] = value
		default:
			in.Bools[flag] = true
		}
	}
	var o, e told
	in.Out, in.Err = &o, &e
	all := p.Commands()
	migrate := all[slices.IndexFunc(all, func(c *catalog.Command) bool { return c.Name == "migrate" })]
	for _, c := range migrate.Sub {
		if c.Name == words[0] {
			err = c.Run(context.Background(), g, in)
			return o.String(), e.String(), err
		}
	}
	g.Fatalf("there is no command %q", words[0])
	return "", "", nil
}

// does runs a command that must succeed, and returns what it printed.
func (g *grown) does(version int, line string) string {
	g.Helper()
	out, errs, err := g.migrate(version, line)
	require.NoError(g, err, "%s: %s%s", line, out, errs)
	return out + errs
}

const (
	firstNotes  = `{"models":[{"id":"a","title":"kept"},{"id":"b","title":"kept too"}]}`
	secondNotes = `{"model":{"id":"c","title":"new","pinned":true,"due":"2026-01-01T00:00:00Z"}}`
)

func TestGrowsInPlaceAndNeverShrinksUnasked(t *testing.T) {
	t.Parallel()
	if forEach(t, TestGrowsInPlaceAndNeverShrinksUnasked) {
		return
	}
	g := newGrown(t, "auto")
	g.with(1, func(a *app) { a.call("Note.upsert-many", firstNotes) })
	require.Contains(t, g.does(1, "status"), "default current")
	out, _, err := g.migrate(2, "status")
	require.ErrorIs(t, err, catalog.ErrNotice)
	require.Contains(t, out, "default behind")

	g.with(2, func(a *app) {
		require.EqualValues(t, 2, a.call("Note.collection", `{"filter":{"pinned":false}}`)["totalCount"])
		a.call("Note.upsert", secondNotes)
		a.call("Folder.upsert", `{"model":{"id":"f","name":"here"}}`)
		a.call("Note.patch", `{"id":"a","changes":{"folder":"f"}}`)
		a.finds("kep", 2) // SQLite has copied the table
		a.finds("new", 1)
		a.call("Note.patch", `{"id":"c","changes":{"title":"not kept"}}`)
		a.finds("kep", 3)
		a.finds("new", 0)
	})
	require.Contains(t, g.does(2, "status"), "default current")

	f := g.refused(1)
	require.Contains(t, f.Message, "ahead of this build")
	require.Contains(t, f.Hint, "growth migrate apply --drop")
	require.Equal(t, fault.Never, f.Retry, "somebody has to migrate it")
	_, errs, err := g.migrate(1, "apply")
	require.ErrorIs(t, err, catalog.ErrNotice)
	require.Contains(t, errs, "not current: 1 of 1 sets")
	g.with(2, func(a *app) {
		require.EqualValues(t, 3, a.call("Note.count", `{}`)["count"])
		require.Equal(t, "f", a.call("Note.get-by-id", `{"id":"a","with":"folder"}`)["folder"].(map[string]any)["id"], "a refusal touches nothing")
	})

	g.does(1, "apply --drop")
	g.with(1, func(a *app) { require.EqualValues(t, 3, a.call("Note.count", `{}`)["count"]) })
	g.with(2, func(a *app) {
		require.EqualValues(t, 0, a.call("Note.collection", `{"filter":{"pinned":true}}`)["totalCount"], "what was dropped is gone")
		require.EqualValues(t, 0, a.call("Folder.count", `{}`)["count"])
	})
}

func TestNeverSeenNewerTablesAreNotDowngraded(t *testing.T) {
	t.Parallel()
	if forEach(t, TestNeverSeenNewerTablesAreNotDowngraded) {
		return
	}
	g := newGrown(t, "auto")
	g.with(2, func(a *app) { a.call("Note.upsert", secondNotes) })
	f := g.refused(1)
	require.Contains(t, f.Message, "drops the column notes.pinned")
	require.Contains(t, f.Message, "drops the table folders")
	g.with(2, func(a *app) {
		require.Equal(t, true, a.call("Note.get-by-id", `{"id":"c"}`)["pinned"])
	})
}

func TestWhatOthersPutBesideStays(t *testing.T) {
	t.Parallel()
	if forEach(t, TestWhatOthersPutBesideStays) {
		return
	}
	g := newGrown(t, "auto")
	g.with(1, func(a *app) { a.call("Note.upsert-many", firstNotes) })
	db := beside(t, g.database, "default")
	exec := func(s string) {
		_, err := db.Exec(s)
		require.NoError(t, err)
	}
	exec("CREATE TABLE theirs (x INTEGER)")
	exec("INSERT INTO theirs VALUES (7)")
	exec("ALTER TABLE notes ADD COLUMN theirs INTEGER")
	exec("CREATE INDEX their_index ON notes (theirs)")
	if !postgres(t) { // a new reference makes SQLite copy the table, and with it only the app's columns
		f := g.refused(2)
		require.Contains(t, f.Message, "rebuilds the table notes without the column notes.theirs")
		require.Contains(t, f.Message, "without the index their_index")
		exec("DROP INDEX their_index")
		exec("ALTER TABLE notes DROP COLUMN theirs")
	}
	g.with(2, func(a *app) { a.call("Note.upsert", secondNotes) })
	g.does(1, "apply --drop")
	var x int
	require.NoError(t, db.QueryRow("SELECT x FROM theirs").Scan(&x))
	require.Equal(t, 7, x)
}

func TestMigratesByFiles(t *testing.T) {
	t.Parallel()
	if forEach(t, TestMigratesByFiles) {
		return
	}
	g := newGrown(t, "versioned")
	require.Contains(t, g.refused(1).Hint, "growth migrate plan NAME")
	_, _, err := g.migrate(1, "plan Bad_Name")
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
	require.NoDirExists(t, g.dir)
	require.Contains(t, g.does(1, "plan init"), "create \"notes\" table")
	require.Contains(t, g.does(1, "plan again"), "nothing to plan")
	g.with(1, func(a *app) {
		a.call("Note.upsert-many", firstNotes)
		a.call("Note.upsert", `{"model":{"id":"a","title":"a tenant's"},"set":"tenant-1"}`)
	})
	require.Contains(t, g.does(1, "status"), "tenant-1 current")

	f := g.refused(2)
	require.Contains(t, f.Message, "lead to the schema")
	require.Contains(t, f.Hint, "growth migrate plan NAME")
	g.later()
	require.Contains(t, g.does(2, "plan grow"), "create \"folders\" table")
	f = g.refused(2)
	require.Contains(t, f.Message, "behind this build: 1 migration to run")
	require.Equal(t, "Run `growth migrate apply`.", f.Hint)
	out, _, err := g.migrate(2, "status --json")
	require.ErrorIs(t, err, catalog.ErrNotice)
	require.Contains(t, out, `"state":"behind"`)

	require.Contains(t, g.does(2, "apply --set=default"), "default: ran ")
	g.with(2, func(a *app) {
		require.EqualValues(t, 2, a.call("Note.count", `{}`)["count"])
		f := a.fails(fault.ServiceUnavailable, "Note.count", `{"set":"tenant-1"}`)
		require.Contains(t, f.Hint, "growth migrate apply")
	})
	done := g.does(2, "apply")
	require.Contains(t, done, "default: is current")
	require.Contains(t, done, "tenant-1: ran ")
	g.with(2, func(a *app) {
		a.call("Note.upsert", secondNotes)
		a.finds("kep", 2)
		a.finds("new", 1)
		require.EqualValues(t, 1, a.call("Note.count", `{"set":"tenant-1"}`)["count"])
		a.call("Note.upsert", `{"model":{"id":"n","title":"a new tenant's"},"set":"tenant-2"}`)
	})
	require.Contains(t, g.does(2, "status"), "tenant-2 current")

	require.Contains(t, g.refused(1).Message, "lead to the schema", "an older build with newer files")
	newest := g.files()[1]
	text, err := os.ReadFile(newest)
	require.NoError(t, err)
	sum, err := os.ReadFile(filepath.Join(g.dir, "atlas.sum"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(newest))
	require.Contains(t, g.refused(1).Message, "was removed")
	g.does(1, "hash")
	f = g.refused(1)
	require.Contains(t, f.Message, "ahead of this build")
	require.Contains(t, f.Hint, "newer build")
	require.NoError(t, os.WriteFile(newest, text, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(g.dir, "atlas.sum"), sum, 0o600))
	g.with(2, func(a *app) { require.EqualValues(t, 3, a.call("Note.count", `{}`)["count"]) })

	g.mode = "auto"
	require.Contains(t, g.refused(1).Hint, "versioned", "what files keep is not changed in place")
	g.with(2, func(*app) {})
}

// finds returns how many notes a search finds.
func (a *app) finds(q string, n int) {
	a.Helper()
	require.EqualValues(a, n, a.call("Note.collection", fmt.Sprintf(`{"q":%q}`, q))["totalCount"], q)
}

// later waits until a file that is planned gets another version.
func (g *grown) later() { time.Sleep(1100 * time.Millisecond) }

func (g *grown) files() []string {
	files, err := filepath.Glob(filepath.Join(g.dir, "*.sql"))
	require.NoError(g, err)
	return files
}

func TestFilesTakeOverWhatGrewInPlace(t *testing.T) {
	t.Parallel()
	if forEach(t, TestFilesTakeOverWhatGrewInPlace) {
		return
	}
	g := newGrown(t, "auto")
	g.with(1, func(a *app) { a.call("Note.upsert-many", firstNotes) })
	g.does(1, "plan init")
	g.with(2, func(a *app) { a.call("Note.upsert", `{"model":{"id":"x","title":"y"},"set":"tenant-new"}`) })
	g.later()
	g.does(2, "plan grow")
	g.mode = "versioned"
	g.with(2, func(a *app) {
		require.EqualValues(t, 2, a.call("Note.count", `{}`)["count"])
		require.EqualValues(t, 1, a.call("Note.count", `{"set":"tenant-new"}`)["count"])
	})
	require.Contains(t, g.does(2, "status"), filepath.Base(g.files()[1])[:14])
}

func TestEditedFilesAndBadStatementsAreRefused(t *testing.T) {
	t.Parallel()
	if forEach(t, TestEditedFilesAndBadStatementsAreRefused) {
		return
	}
	g := newGrown(t, "versioned")
	g.does(1, "plan init")
	g.with(1, func(a *app) { a.call("Note.upsert-many", firstNotes) })
	first := g.files()[0]
	text, err := os.ReadFile(first)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(first, append(text, "\n-- innocent\n"...), 0o600))
	f := g.refused(1)
	require.Contains(t, f.Message, "was edited since atlas.sum was written")
	require.Contains(t, f.Hint, "growth migrate hash")
	g.does(1, "hash")
	require.Contains(t, g.refused(1).Message, "was changed after it ran")
	require.NoError(t, os.WriteFile(first, text, 0o600))
	g.does(1, "hash")
	g.with(1, func(*app) {})

	g.later()
	g.does(2, "plan grow")
	second := g.files()[1]
	text, err = os.ReadFile(second)
	require.NoError(t, err)
	// Runs on an empty place and not on rows: half of it must not stay.
	require.NoError(t, os.WriteFile(second, append(text, "\nCREATE UNIQUE INDEX once ON notes (pinned);\n"...), 0o600))
	_, errs, err := g.migrate(2, "hash")
	require.ErrorIs(t, err, catalog.ErrNotice)
	require.Contains(t, errs, "claim to lead to this build's schema, but do not")
	_, errs, err = g.migrate(2, "apply")
	require.ErrorIs(t, err, catalog.ErrNotice)
	require.Contains(t, errs, "the set \"default\" was not changed")
	require.Equal(t, 1, strings.Count(errs, "statement"), "what the database said stands there once: %s", errs)
	_, err = beside(t, g.database, "default").Exec("SELECT pinned FROM notes")
	require.Error(t, err, "nothing is half-done")

	require.NoError(t, os.WriteFile(second, append(text, "\nALTER TABLE nowhere ADD COLUMN x INTEGER;\n"...), 0o600))
	_, _, err = g.migrate(2, "hash")
	require.ErrorContains(t, err, "do not run from the start")
	require.NoError(t, os.WriteFile(second, text, 0o600))
	g.does(2, "hash")
	require.Contains(t, g.does(2, "apply"), "default: ran ")
	g.with(2, func(a *app) { require.EqualValues(t, 2, a.call("Note.count", `{}`)["count"]) })
}

func TestHandWrittenFilesRunInTheirPlace(t *testing.T) {
	t.Parallel()
	if forEach(t, TestHandWrittenFilesRunInTheirPlace) {
		return
	}
	g := newGrown(t, "versioned")
	g.does(1, "plan init")
	g.with(1, func(a *app) { a.call("Note.upsert-many", firstNotes) })
	require.NoError(t, os.WriteFile(filepath.Join(g.dir, "20990101000000_shout.sql"), []byte("UPDATE notes SET title = upper(title);\n"), 0o600))
	g.does(1, "hash")
	require.Contains(t, g.refused(1).Message, "20990101000000_shout")
	g.does(1, "apply")
	g.with(1, func(a *app) {
		require.Equal(t, "KEPT", a.call("Note.get-by-id", `{"id":"a"}`)["title"])
	})
	_, _, err := g.migrate(2, "plan grow")
	require.ErrorContains(t, err, "not in the past")
}

func TestAppsCarryTheirMigrations(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAppsCarryTheirMigrations) {
		return
	}
	g := newGrown(t, "versioned")
	g.does(1, "plan init")
	carried := fstest.MapFS{}
	for _, name := range append(g.files(), filepath.Join(g.dir, "atlas.sum")) {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		carried["migrations/"+filepath.Base(name)] = &fstest.MapFile{Data: raw}
	}
	g.dir = ""
	p := entities.Provide(v1.Entities(), entities.Options{Migrations: carried})
	require.NoError(t, p.Start(context.Background(), g))
	for _, c := range p.Checks(context.Background()) {
		require.True(t, c.OK, c.Detail)
	}
	require.Contains(t, p.Report(catalog.Boot{})[0], "sets=1 migrations=versioned schema=")
	require.NoError(t, p.Stop(context.Background()))
}
