package catalog

import (
	"context"
	"log/slog"
	"time"

	"github.com/koan-go/koan/framework/auth"
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

// Yielder is a provider that gives way to names of others. OfferBeside is called in place of Offer, after the
// offers of the other providers.
type Yielder interface {
	OfferBeside(others []Offer) Offer
}

// Offer is a provider's part of a snapshot.
type Offer struct {
	Operations []*Operation
	Resources  []*Resource
	Documents  []*Document
	Prompts    []*Prompt
	// Owners describe the plugins and servers that the operations belong to.
	Owners []*Owner
	// Closed is called once, when no run uses a snapshot with this offer any more, so
	// that the resources of its handlers can be released. It may be nil.
	Closed func()
}

// Owner is what a plugin or an upstream server says of itself.
type Owner struct {
	Kind        Kind
	Name        string // Owner of its operations' ids
	Description string // one sentence for people and models
	Version     string // its own
	Digest      string `json:"-"` // "sha256:…" of the files of a plugin; "" where it is not known
	// Trouble returns why the owner's operations cannot be called, as far as is known now; nil for
	// an owner that can always be reached.
	Trouble func() error `json:"-"`
	// Unchecked returns what waits until the owner's operations were compared with those that it has
	// now, where they are remembered from an earlier start and were not yet; else nil. It is nil for an
	// owner of which nothing is remembered.
	Unchecked func() (wait func(ctx context.Context, p auth.Principal) error) `json:"-"`
}

// Document is readable text that is made from a View: declarations, for example.
// Surfaces offer it as an MCP resource.
type Document struct {
	URI         string // "koan://sdk/koan.d.ts"
	Name        string
	Description string
	MIME        string
	// TypeOf returns the media type of one name of a template, where they differ. It may be
	// nil.
	TypeOf func(ctx context.Context, v *View, name string) string
	// Template says that URI has a {name} part, which Read gets. List returns the names
	// that exist; it is nil if they are too many to be listed: then Read gets any name,
	// and returns not_found. Complete, if it is not nil, returns names that begin with
	// what was typed, the best first.
	Template bool
	List     func(v *View) []string
	Complete func(ctx context.Context, v *View, typed string) []string
	Read     func(ctx context.Context, v *View, name string) ([]byte, error)
	// Folder returns the text and what belongs to it as files for an editor, by their paths. It is nil for
	// one that is a file of its own.
	Folder func(v *View) map[string]string
	// Follows returns the entity and the set whose rows the text is made of: it changes when
	// they do. nil is for a text that is made of the View alone.
	Follows func(v *View, name string) (entity, set string)
}

// RunReportURI is the template of the documents that say how runs ended: callers read their
// own. An app without a journal has none.
const RunReportURI = "koan://runs/{id}"

// Host is what a provider gets from the app at its start.
type Host interface {
	// App is the app's name.
	App() string
	// Command is how the app is called on a command line, for messages that say what to
	// run: "pantrypal", "koan gateway".
	Command() string
	// Version is the app's build, toolVersion in the contract.
	Version() string
	// Settings are the values of the configuration, by key.
	Settings() Values
	// ConfigFile is the path of the configuration's file, which need not be there; "" where none is read.
	ConfigFile() string
	// Snapshot is the current catalog; nil before all providers have started.
	Snapshot() *Snapshot
	// Changed reports that Offer returns something new.
	Changed()
	// Log is the provider's logger.
	Log() *slog.Logger
	// Testing reports whether the app runs under koantest: fresh stores, in-process
	// executor.
	Testing() bool
	// OneShot reports whether the app is started for one command and ends with it, so that nothing
	// should be started ahead of its use.
	OneShot() bool
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
	// Check checks a value beyond type and range. It may be nil.
	Check func(value any) error
	// Open makes Key a prefix of any keys with string values ("plugins" allows
	// plugins.vision.root); declared keys keep their types.
	Open bool
	// CheckKey checks one key below the prefix of an Open setting, which it gets without the
	// prefix, and its value. It may be nil.
	CheckKey func(key, value string) error
	// CheckAll says what is wrong with several values together, one problem a line. It is
	// asked only where other problems are reported anyway, so that one message has all of
	// them: the provider itself checks such things when it starts. It may be nil.
	CheckAll func(v Values) error
	// Live says that a change takes effect while the app runs; a change of any other
	// key waits for the next start.
	Live bool
	// Secret says that the value is a secret: no log, journal or fault shows it.
	Secret bool
}

// SecretHolder is a provider that knows secrets of others, such as those of the servers that it calls.
// Secrets returns them as they are now: no log, journal or fault shows them. It is called often, from
// any goroutine, from when Start begins.
type SecretHolder interface {
	Secrets() []string
}

// Values is the checked configuration. A method panics if the key is not declared or has
// another type, which is a programming error.
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

// Reloadable is a provider that reads Live settings. Reload gets the next
// configuration, and returns a function that applies it (nil if there is nothing to do),
// or why it cannot be applied; then no provider applies it. It is called from one
// goroutine, while calls are served.
type Reloadable interface {
	Reload(next Values) (apply func(), err error)
}

// Refresher is a provider that serves what other programs may change, such as the tables of a database.
// Refresh looks at it anew, and calls Host.Changed where that succeeds; an error leaves what was served. It is
// called from one goroutine, while calls are served.
type Refresher interface {
	Refresh(ctx context.Context) error
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

// Diagnoser is a Checker that can say more about a Start that failed than its error. The
// first of the checks says what failed.
type Diagnoser interface {
	Diagnose(ctx context.Context, host Host, failure error) []Check
}

// Readier is a provider that depends on something that may be unavailable. Ready returns
// why calls would fail with service_unavailable now, as a fault or several joined, and
// nil if they would not. Messages are public: paths and addresses belong into causes. It
// changes nothing, and returns when ctx ends.
type Readier interface {
	Ready(ctx context.Context) error
}

// Boot is what a provider's boot report may need to know of the app.
type Boot struct {
	Mode     string
	Entities int
}

// Reporter is a provider with lines for the boot report: "CodeMode: enabled=true
// mode=auto ...".
type Reporter interface {
	Report(b Boot) []string
}

// Instructor is a provider with instructions for the models of clients that are shown
// the code tools, to be put into a system prompt.
type Instructor interface {
	Instructions() string
}

// Warmer is a provider that prepares something once the catalog is complete, such as a
// worker pool. Warm must not block.
type Warmer interface {
	Warm(ctx context.Context)
}
