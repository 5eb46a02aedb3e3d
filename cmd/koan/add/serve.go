package add

import (
	"bytes"
	"fmt"
	"go/format"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"golang.org/x/mod/modfile"
)

// databaseVariable names the project's database in the program that is written.
const databaseVariable = "DATABASE_URL"

// sqlDriver is a driver of database/sql that entities can be served with.
type sqlDriver struct {
	module  string // that has it
	path    string // to import for it
	name    string // by which database/sql knows it
	dialect string // of package dialect
	example string
}

var sqlDrivers = []sqlDriver{
	{"github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/stdlib", "pgx", "Postgres", "postgres://user:password@localhost/name"},
	{"github.com/jackc/pgx/v4", "github.com/jackc/pgx/v4/stdlib", "pgx", "Postgres", "postgres://user:password@localhost/name"},
	{"github.com/lib/pq", "github.com/lib/pq", "postgres", "Postgres", "postgres://user:password@localhost/name?sslmode=disable"},
	{"github.com/mattn/go-sqlite3", "github.com/mattn/go-sqlite3", "sqlite3", "SQLite", "file:app.db?_fk=1&_journal_mode=WAL&_busy_timeout=5000"},
	{"modernc.org/sqlite", "modernc.org/sqlite", "sqlite", "SQLite", "file:app.db?_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"},
}

// driver is what the module opens its databases with.
func (m *module) driver() (sqlDriver, bool) {
	direct := func(path string) bool {
		return slices.ContainsFunc(m.file.Require, func(r *modfile.Require) bool { return r.Mod.Path == path && !r.Indirect })
	}
	for _, d := range sqlDrivers {
		if direct(d.module) {
			return d, true
		}
	}
	return sqlDrivers[3], !direct("github.com/go-sql-driver/mysql")
}

var notInName = regexp.MustCompile(`[^a-z0-9-]+`)

// appName is the module's name as that of an app.
func (m *module) appName() string {
	base := path.Base(m.path)
	if majorVersion.MatchString(base) {
		base = path.Base(path.Dir(m.path))
	}
	if name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(base), "-"), "-"); name != "" {
		return name
	}
	return "app"
}

var serveTemplate = template.Must(template.New("main.go").Funcs(template.FuncMap{"quote": strconv.Quote}).Parse(`// Command {{ .Command }} serves the entities of {{ .Name }} to agents.
package main

import (
	"context"
	"database/sql"
	"errors"
	"os"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/koan-go/koan/framework"
	_ {{ quote .Driver.Path }}

	{{ .Ent }} {{ quote .Package }}
	_ {{ quote .Runtime }} // defaults, hooks and policies of the schemas
)

func main() {
	framework.Main(framework.App{
		Name: {{ quote .Name }},
		// Hooks and interceptors that your programs add at run time go here:
		// {{ .Ent }}.{{ .API.Entities }}({{ .Ent }}.{{ .API.OnClient }}(func(c *{{ .Ent }}.Client) { ... })).
		Entities: {{ .Ent }}.{{ .API.Entities }}(),
		Open:     open,
		Install:  framework.Install{Env: []string{ {{- quote .Variable -}} }}, // which clients pass on
{{- if .Policies }}
		// Policies ask who is calling ({{ .Policies }}): Viewer puts that into the context.
		// Viewer: func(ctx context.Context, p framework.Principal) context.Context { ... },
{{- end }}
	})
}

// open opens the database. Let it do what your other programs do. Without it
// (App.Open), Koan keeps a database of its own.
func open(_ context.Context, _ string) (dialect.Driver, error) {
	url := os.Getenv("{{ .Variable }}")
	if url == "" {
		return nil, errors.New("set {{ .Variable }} to your database, as in {{ .Driver.Example }}")
	}
	db, err := sql.Open({{ quote .Driver.Name }}, url)
	if err != nil {
		return nil, err
	}
	return entsql.OpenDB(dialect.{{ .Driver.Dialect }}, db), nil
}
`))

// addProgram writes a program that serves the entities, if the module has none.
func (p *plan) addProgram() error {
	if p.Program == "" || len(p.mod.serving) > 0 || len(p.graph.exposed) == 0 {
		return nil
	}
	d, ok := p.mod.driver()
	if !ok {
		p.notes = append(p.notes, "go.mod has a driver for MySQL only, and entities are served from SQLite and PostgreSQL: no program was written.")
		return nil
	}
	file := filepath.Join(p.mod.root, filepath.FromSlash(p.Program), "main.go")
	if rel := p.inModule(file); strings.HasPrefix(rel, "..") {
		return fmt.Errorf("--main %s is outside the module %s", p.Program, p.mod.root)
	}
	f, err := p.open(file)
	if err != nil {
		return err
	}
	if f.was != nil {
		return fmt.Errorf("%s is another program; choose another folder with --main DIR, or none with --main \"\"", p.rel(file))
	}
	type driver struct{ Path, Name, Dialect, Example string }
	var b bytes.Buffer
	err = serveTemplate.Execute(&b, map[string]any{
		"Command": filepath.Base(filepath.Dir(file)), "Name": p.mod.appName(), "Ent": "ent", "Package": p.gen.pkg, "Runtime": p.gen.pkg + "/runtime",
		"API": p.graph.api, "Driver": driver{d.path, d.name, d.dialect, d.example}, "Variable": databaseVariable, "Policies": strings.Join(p.graph.policies, ", "),
	})
	if err != nil {
		return err
	}
	if f.now, err = format.Source(b.Bytes()); err != nil {
		return fmt.Errorf("%w\n%s", err, b.Bytes())
	}
	p.graph.program = path.Dir(p.inModule(file))
	return nil
}
