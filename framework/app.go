package framework

import (
	"cmp"
	"context"
	"io/fs"
	"net/http"
	"slices"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/codemode"
	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/build"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/internal/files"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/plugins"
	"github.com/koan-go/koan/plugins/upstream"
)

// Undoing reports whether the run that ctx belongs to undoes another one. Hooks run in an undo as
// in any run, and what they did in the run that is undone is undone too: what they would add to
// other rows, or do outside, they had better leave out then.
func Undoing(ctx context.Context) bool { return run.Undoing(ctx) }

// Types that app developers use beside App.
type (
	// Entities are an app's entities, as ent.Entities() of its generated code returns
	// them.
	Entities = shim.App
	// Principal is the caller: subject, scopes and the sets that it may name.
	Principal = auth.Principal
	// Provider puts operations into an app's catalog.
	Provider = catalog.Provider
)

// App is all that an app developer writes down. Every app has plugins and code mode,
// which are configured by keys.
type App struct {
	Name string // short, lower case: names the binary, the data folder, the server
	// Command is how the app is called on a command line, for messages that say what to
	// run; "" is Name.
	Command string
	// Version is the app's own; "" takes that of the build (package build), which the
	// linker may set.
	Version string
	// Description is one sentence for people and models: what the app is for.
	Description string
	// Exposure is the app's default mode, unless the configuration sets one.
	Exposure exposure.Mode
	// Defaults replace the defaults of configuration keys, written as in the
	// environment: {"approval.mode": "destructive"}. A key that does not exist or a value
	// that it does not take panics when the app starts.
	Defaults map[string]string

	// Entities is ent.Entities() of the generated code, nil if the app has no entities.
	Entities *Entities
	// Ledger has an app without entities keep a ledger at the setting `database`: idempotency keys,
	// plans and grants, the journal, and what replays need. One with entities always does. In an app
	// with neither nothing of a run is kept: whoever sends a key, asks for an approval or replays a run
	// gets fault.CapabilityUnsupported, and the app does not start if approvals are configured.
	Ledger bool
	// Viewer returns a context with what the app's ent hooks, policies and interceptors,
	// or the database's row level security (sql.WithVar), need to know about the caller.
	// It is called for every call of every entity.
	Viewer func(ctx context.Context, p Principal) context.Context
	// Clock is what scripts take for the time, in apps whose data stands at a fixed day:
	// demonstrations, tests. Limits and the journal go by the machine's clock. nil is
	// time.Now.
	Clock func() time.Time
	// Open returns the driver of a set, for apps that have their own database, pool or
	// wrapper: SQLite through mattn/go-sqlite3, PostgreSQL through any driver of
	// database/sql. It is called once for each set; the driver is closed when the app
	// stops. The data is the app's: its tables are neither migrated nor filled, only
	// the system's own (koan_...) are made, and there is no setting `database`. A set
	// that the app does not have ends in fault.UnknownSet.
	Open func(ctx context.Context, set string) (dialect.Driver, error)
	// Migrations are the migration files if the app embeds them:
	//
	//	//go:embed migrations
	//	var migrations embed.FS
	//
	// They are used if migrations.dir is not set. If it is nil, that folder is read.
	Migrations fs.FS

	// Actions are the files of actions that the app embeds: NAME.ts or NAME.js, each of which
	// declares a named, typed piece of work and exports the function that does it.
	//
	//	//go:embed actions
	//	var actions embed.FS
	//
	// Those in the folder actions.dir come beside them.
	Actions fs.FS
	// GoActions are actions that are Go functions, made with Action.
	GoActions []GoAction
	// Install is how MCP clients start the app.
	Install Install

	// Pages returns the app's own web pages, which a server for HTTP has at "/", beside MCP, REST and
	// the console; their paths are free. It is called once when the app is served. Requests come from
	// callers who are admitted as those of REST are, browsers that signed in to the console
	// included; auth.From has the caller, as whom pages call Instance.Invoke. A form that a page of
	// another origin sends is rejected before.
	Pages func(*Instance) http.Handler

	// Providers are the app's own. One with the name of a part that every app has
	// ("entities", "plugins", "codemode") takes its place.
	Providers []Provider

	parts []Provider // all of them, in the order in which they start
	files *files.Provider
}

// Install is what the command `install` writes into the files of MCP clients.
type Install struct {
	Name string   // of the entry; "" is the app's name
	Args []string // with which the program serves the app; none are "serve"
	Env  []string // names of the variables of the environment that the app's own code reads, as Open may
}

// KeepsLedger reports whether the app has a ledger, and with it a database of its own, unless Open
// says where the data is. One of its Providers may keep a ledger instead, as the gateway's does.
func (a App) KeepsLedger() bool { return a.Entities != nil || a.Ledger }

// assemble returns the app with its parts. They start in this order and stop in the
// reverse one.
func (a App) assemble() App {
	if a.parts != nil {
		return a
	}
	if a.Version == "" {
		a.Version = build.Version()
	}
	a.Install.Name = cmp.Or(a.Install.Name, a.Name)
	if len(a.Install.Args) == 0 {
		a.Install.Args = []string{"serve"}
	}
	named := func(name string) bool {
		return slices.ContainsFunc(a.Providers, func(p Provider) bool { return p.Name() == name })
	}
	beside := func() string { return "" }
	if a.KeepsLedger() && !named("entities") {
		data := entities.Provide(cmp.Or(a.Entities, &Entities{}), entities.Options{Viewer: a.Viewer, Open: a.Open, Migrations: a.Migrations})
		a.parts, beside = append(a.parts, data), data.Folder
	}
	provided := a.Providers
	for i, p := range provided {
		if data, ok := p.(interface{ Folder() string }); ok { // before the files, which lie beside its data, and behind what its app starts first
			a.parts, beside = append(a.parts, provided[:i+1]...), data.Folder
			provided = provided[i+1:]
			break
		}
	}
	a.files = files.Provide(beside)
	a.parts = append(a.parts, a.files)
	if !named("plugins") {
		a.parts = append(a.parts, plugins.Provide(plugins.Options{Beside: beside}))
	}
	if !named("upstreams") {
		a.parts = append(a.parts, upstream.Provide())
	}
	a.parts = append(a.parts, provided...)
	if len(a.GoActions) > 0 {
		a.parts = append(a.parts, &goActions{actions: a.GoActions})
	}
	if !named("codemode") {
		a.parts = append(a.parts, codemode.Provide(codemode.Options{Actions: a.Actions, Named: a.named}))
	}
	return a
}
