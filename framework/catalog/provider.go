package catalog

import (
	"context"
	"log/slog"
	"time"
)

// Provider puts operations, resources, documents and prompts into the catalog.
//
// Life cycle: Settings (if Configurable) once, before configuration is read;
// Start once, with the checked configuration; Offer after Start, and again after
// each Host.Changed; then, where implemented, Checks, Report and Commands at any
// time; Stop once, after the last run has ended. Offer may be called from any
// goroutine, the others are not called concurrently.
type Provider interface {
	// Name is short, unique and stable: "entities", "plugins", "codemode".
	Name() string
	// Start makes the provider ready to serve. An error ends the app's start.
	Start(ctx context.Context, host Host) error
	// Offer returns what the provider has now. The result is not changed afterwards.
	Offer() Offer
	// Stop releases everything, within the context's deadline.
	Stop(ctx context.Context) error
}

// Offer is a provider's part of a snapshot.
type Offer struct {
	Operations []*Operation
	Resources  []*Resource
	Documents  []*Document
	Prompts    []*Prompt
	// Owners say more about those whose operations these are.
	Owners []*Owner
	// Closed is called once, when no run uses the snapshot any more that this offer is a
	// part of: what its handlers need may go. nil where nobody needs to know.
	Closed func()
}

// Owner is what a plugin or an upstream server says of itself.
type Owner struct {
	Kind        Kind
	Name        string // Owner of its operations' ids
	Description string // one sentence for people and models
	Version     string // its own
}

// Document is readable text that is made from a View: declarations, for example.
// Surfaces offer it as an MCP resource.
type Document struct {
	URI         string // "koan://sdk/koan.d.ts"
	Name        string
	Description string
	MIME        string
	// Template says that URI has a {name} part, given to Read; List gives the
	// names that exist. Without List they are too many to be listed: Read gets
	// whatever stands there, and answers not_found; Complete, if there is one, gives
	// names where typed is the beginning, the best first.
	Template bool
	List     func(v *View) []string
	Complete func(ctx context.Context, v *View, typed string) []string
	Read     func(ctx context.Context, v *View, name string) ([]byte, error)
}

// Host is what the app gives to a provider at its start.
type Host interface {
	// App is the app's name.
	App() string
	// Version is the app's build, toolVersion in the contract.
	Version() string
	// Settings are the values of the configuration, by key.
	Settings() Values
	// Snapshot is the current catalog; nil before all providers have started.
	Snapshot() *Snapshot
	// Changed reports that Offer returns something new.
	Changed()
	// Log is where the provider writes.
	Log() *slog.Logger
	// Testing reports whether the app runs under koantest: fresh stores, in-process
	// executor.
	Testing() bool
}

// Setting declares one key of the configuration. The provider that reads it
// declares it; package config reads, merges and checks it.
type Setting struct {
	Key     string // "codeMode.maxSdkCalls"
	Default any    // bool, int, string, []string or []map[string]string decides the type
	Min     int    // for int: inclusive range, both 0 means unbounded
	Max     int
	OneOf   []string // for string: the values allowed, empty means any
	Unit    string   // "ms", "bytes", "characters", ""
	Help    string
	// Check looks at a value beyond type and range; nil accepts.
	Check func(value any) error
	// Open makes Key a prefix under which any keys with string values may stand
	// ("plugins" opens plugins.vision.root); declared keys keep their types.
	Open bool
	// Live says that a change takes effect while the app runs; a change of any other
	// key waits for the next start.
	Live bool
}

// Values returns checked configuration. Asking for an undeclared key or with the
// wrong type is a programmer's mistake and panics.
type Values interface {
	Bool(key string) bool
	Int(key string) int
	String(key string) string
	Strings(key string) []string
	Duration(key string) time.Duration // of an int key whose unit is ms
	// Under returns the free keys below an open prefix, relative to it.
	Under(prefix string) map[string]string
	// IsSet reports whether the value came from anywhere but its default.
	IsSet(key string) bool
}

// Configurable is a provider with settings.
type Configurable interface {
	Settings() []Setting
}

// Reloadable is a provider that reads Live settings. Reload gets the configuration
// that is about to hold, and gives what makes it so, nil for nothing; or why it
// cannot be, and then nobody applies anything. It is called from one goroutine,
// while calls go on.
type Reloadable interface {
	Reload(next Values) (apply func(), err error)
}

// Check is one line of `APP doctor`.
type Check struct {
	Name   string
	OK     bool
	Detail string // what holds, or what is wrong
	Hint   string // what to do, where not OK
}

// Checker is a provider that can say whether it works on this machine.
type Checker interface {
	Checks(ctx context.Context) []Check
}

// Diagnoser is a Checker that can say more of a Start that failed than its error. The
// first of the checks says what failed.
type Diagnoser interface {
	Diagnose(ctx context.Context, host Host, failure error) []Check
}

// Readier is a provider that cannot serve at all times, since what it needs may be
// away. Ready says why calls would end in service_unavailable now, as a fault or several
// joined, in words for everybody: paths and addresses stand in their causes. nil where
// they would not. It changes nothing, and heeds ctx.
type Readier interface {
	Ready(ctx context.Context) error
}

// Boot is what a provider's boot report may mention of the whole.
type Boot struct {
	Mode     string
	Entities int
}

// Reporter is a provider with lines for the boot report: "CodeMode: enabled=true
// mode=auto ...".
type Reporter interface {
	Report(b Boot) []string
}

// Instructor is a provider that has something to say to the model of a client
// that is shown the code tools: what stands in a system prompt.
type Instructor interface {
	Instructions() string
}

// Warmer is a provider that wants to prepare something once the catalog stands:
// a worker pool, for example. It must not block.
type Warmer interface {
	Warm(ctx context.Context)
}
