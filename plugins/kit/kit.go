// Package kit is the API for authors of plugins: it turns a few typed functions into a
// process that an app starts, calls and restarts.
//
//	func main() {
//		kit.Serve(kit.Plugin{
//			Domain: "dice", Version: "1.0.0", Description: "Rolls dice.",
//			Functions: []kit.Function{
//				kit.Func("roll", "Roll one die.", roll, kit.ReadOnly(), kit.Example(In{Sides: 6})),
//			},
//		})
//	}
//
//	func roll(ctx context.Context, call kit.Call, in In) (Out, error)
//
// Built as plugins/dice beside the app's executable, it becomes the tool `dice.roll` and,
// in scripts, SDK.Dice.roll({sides: 6}).
//
// What belongs here: the author's types and the process's side of the wire
// contract. Not here: the host's side, or anything of the app.
package kit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/schema/gotype"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// Plugin is a whole plugin.
type Plugin struct {
	// Domain names it: lower-case kebab, and the same as the executable's file
	// name. It is the first part of its tools' names.
	Domain      string
	Version     string // the plugin's own
	Description string // one sentence
	// Settings are the keys that it reads below plugins.<domain>.settings in the
	// app's configuration. The app rejects any other key there.
	Settings []Setting
	// Configure gets the values of all Settings, once, before the first call. Its error
	// ends the app's start; it should name the wrong setting. It may be nil.
	Configure func(ctx context.Context, settings map[string]string) error
	// Needs are the ids of the operations of the app that its functions call (Call.Invoke), and patterns of them:
	// "koan::Todo.patch", "upstream::mail::*". They may be called as far as the app's operator grants them
	// (plugins.<domain>.grants).
	Needs []string
	// State says that the plugin keeps files in a folder of its own, which stays: see Call.StateDir.
	State bool
	// FaultCodes are codes of the plugin's own, in snake_case, that its functions may end in (Fault).
	FaultCodes []string
	// Metrics are what its functions count or measure (Call.Measure), at most 50.
	Metrics   []Metric
	Functions []Function
}

// Metric is something that a plugin counts or measures. The app exports it as koan.plugin.<domain>.<name>.
type Metric struct {
	// Name is in snake_case and has the unit at its end: "cache_hits", "wait_seconds". It ends in none of the words
	// that Prometheus adds itself (_total, _sum, _count, _bucket, _created, _info).
	Name string
	Help string // a sentence
	// Histogram says that its values are spread over buckets; else they add up.
	Histogram bool
}

// Setting is one key of the configuration below plugins.<domain>.settings.
type Setting struct {
	Key     string // "root"
	Default string
	Help    string
	// Secret says that the value is a secret, whatever the key is called: no log, journal or
	// fault of the app shows it, however it is encoded. Keys that are called like a secret
	// (token, apiKey, password) are secrets without it. A Default is not one.
	Secret bool
	// Folder says that the value is the path of a folder or file that the plugin reads; "" is the app's
	// working directory. A confined plugin sees what the operator names, and what is its default where its
	// declarations are believed (plugins.<domain>.trust).
	Folder bool
}

// Call describes the call that a function serves. The context ends at the call's deadline
// or when the caller cancels.
type Call struct {
	// ID is unique to this call.
	ID string
	// Key is the same in every attempt of the run that makes the call. Pass it to an
	// outside service as its idempotency key.
	Key string
	// Set is the default set of the run.
	Set string
	// Trace is the caller's trace id.
	Trace string
	// DryRun says that the run will be rolled back: change nothing outside.
	DryRun bool
	// Local says that the person at the app's machine made the run, and not somebody whom a
	// token or an issuer names: who has the machine's files anyway.
	Local bool
	// Caller is who calls. Its rights have been checked: what it may do with data of the app's is the
	// app's to decide, and what it may do with the plugin's the plugin's.
	Caller Caller
	// Log writes to the app's log, with the call's id.
	Log *slog.Logger

	progress func(*wire.Progress)
	observe  observing
	host     *questions // nil for an app that answers none
	stateDir string
}

// Caller is who makes a call.
type Caller struct {
	Subject string
	Scopes  []string
	Sets    []string // names and patterns
}

// Progress reports to the caller how far the call is. total 0 means unknown. It must
// not be called after the function has returned.
func (c Call) Progress(done, total float64, message string) {
	if c.progress != nil {
		c.progress(&wire.Progress{Done: done, Total: total, Message: strings.ToValidUTF8(message, "?")})
	}
}

// Partial passes on what of the result there is so far, a value that becomes JSON: the next row, or all rows until now.
// Who calls the function as a tool gets it at once, where its client shows such things; a script gets the result
// alone. At most 64 KiB of each value, and 256 KiB of a call's, are passed on. It must not be called after the
// function has returned.
func (c Call) Partial(value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		c.Log.Error("a partial result is not JSON", "error", err.Error())
		return
	}
	if c.progress != nil {
		c.progress(&wire.Progress{Partial: raw})
	}
}

// StateDir returns the folder in which a plugin with Plugin.State keeps what is to stay, whichever process of it is
// running: it is there, and empty at first. Several processes may use it at the same time: that of an earlier
// build ends when no run needs it, and servers with one folder of data have one folder of state. It is "" without
// Plugin.State, and where the app has none to give.
func (c Call) StateDir() string { return c.stateDir }

// Function is one function of a plugin. Make it with Func.
type Function struct {
	name    string
	title   string
	summary string
	input   json.RawMessage
	output  json.RawMessage
	effects catalog.Effects
	example json.RawMessage
	timeout time.Duration
	scopes  []string
	invoke  func(context.Context, Call, json.RawMessage) (json.RawMessage, error)
	problem error // found by an option
}

// Func makes a function of a plugin from a Go function. name is in kebab-case, summary one
// sentence for people and models. The JSON Schemas come from In and Out, which must be
// structs: json tags name the fields, omitempty makes one optional, and jsonschema tags
// describe it (`jsonschema:"minimum=1"`, `jsonschema_description:"how many"`). Fields of In with
// a default (`jsonschema:"default=6"`) may be left out, and have it then. Fields that In does not
// have are rejected.
//
// A fault (package framework/fault) that fn returns reaches the caller unchanged if its
// code is about a call; any other error, or a panic, is logged, and the caller gets
// execution_error, which names the plugin. Output longer than wire.MaxCallBytes is
// call_too_large.
func Func[In, Out any](name, summary string, fn func(context.Context, Call, In) (Out, error), opts ...Option) Function {
	f := Function{name: name, summary: summary}
	var err error
	if f.input, err = gotype.Input[In](); err != nil {
		f.problem = errors.Join(f.problem, fmt.Errorf("input: %w", err))
	}
	if f.output, err = gotype.Of[Out](); err != nil {
		f.problem = errors.Join(f.problem, fmt.Errorf("output: %w", err))
	}
	f.invoke = func(ctx context.Context, call Call, raw json.RawMessage) (json.RawMessage, error) {
		var in In
		raw, err := gotype.WithDefaults(f.input, raw)
		if err != nil {
			return nil, err
		}
		if err := gotype.Decode(raw, &in); err != nil {
			return nil, err
		}
		out, err := fn(ctx, call, in)
		if err != nil {
			return nil, err
		}
		if raw, err = json.Marshal(out); err != nil {
			return nil, err
		}
		return gotype.Emptied(f.output, raw)
	}
	for _, o := range opts {
		o(&f)
	}
	return f
}

// Option sets a property of a function.
type Option func(*Function)

// ReadOnly says that the function changes nothing, anywhere.
func ReadOnly() Option { return func(f *Function) { f.effects.ReadOnly = true } }

// Destructive says that it may delete or overwrite.
func Destructive() Option { return func(f *Function) { f.effects.Destructive = true } }

// Idempotent says that repeating a call has no further effect.
func Idempotent() Option { return func(f *Function) { f.effects.Idempotent = true } }

// Outside says that it has effects outside of the system, which cannot be rolled back. It
// is rejected in a dry run unless it is ReadOnly too.
func Outside() Option { return func(f *Function) { f.effects.Outside = true } }

// Title sets a title for people; the default is the name.
func Title(title string) Option { return func(f *Function) { f.title = title } }

// Scopes sets the scopes that a caller needs, all of them. Without any, a function that is
// not ReadOnly needs plugins:call.
func Scopes(scopes ...string) Option { return func(f *Function) { f.scopes = scopes } }

// Timeout bounds one call; the default is the app's server.toolTimeoutMs.
func Timeout(d time.Duration) Option { return func(f *Function) { f.timeout = d } }

// Example sets an input that works on a fresh app.
func Example(input any) Option {
	return func(f *Function) {
		raw, err := json.Marshal(input)
		if err != nil {
			f.problem = errors.Join(f.problem, fmt.Errorf("example: %w", err))
		}
		f.example = raw
	}
}

// check returns all mistakes of the plugin's author that can be found without a host.
func (p Plugin) check() error {
	var problems []string
	if !validName(p.Domain) {
		problems = append(problems, fmt.Sprintf("the domain %q is not lower-case kebab", p.Domain))
	}
	if p.Version == "" {
		problems = append(problems, "the version is empty")
	}
	if len(p.Functions) == 0 {
		problems = append(problems, "it has no functions")
	}
	for _, need := range p.Needs {
		if !wire.ValidPattern(need) {
			problems = append(problems, fmt.Sprintf("the need %q is not the id of an operation, such as koan::Todo.patch, or a pattern of ids", need))
		}
	}
	for _, code := range p.FaultCodes {
		if !wire.ValidFaultCode(code) {
			problems = append(problems, fmt.Sprintf("the fault code %q is not in snake_case, or is one of the app's own", code))
		}
	}
	problems = append(problems, p.metricProblems()...)
	if n := len(p.Functions); n > wire.MaxFunctions {
		problems = append(problems, fmt.Sprintf("it has %d functions; %d are allowed", n, wire.MaxFunctions))
	} else if n := proto.Size(p.manifest()); n > wire.MaxManifestBytes {
		problems = append(problems, fmt.Sprintf("its description has %d bytes; %d are allowed", n, wire.MaxManifestBytes))
	}
	seen := map[string]bool{}
	for _, f := range p.Functions {
		if !validName(f.name) {
			problems = append(problems, fmt.Sprintf("the function name %q is not lower-case kebab", f.name))
		}
		if seen[f.name] {
			problems = append(problems, fmt.Sprintf("the function %q is declared twice", f.name))
		}
		seen[f.name] = true
		if f.problem != nil {
			problems = append(problems, fmt.Sprintf("the function %q: %v", f.name, f.problem))
		}
		if f.invoke == nil {
			problems = append(problems, fmt.Sprintf("the function %q was not made with kit.Func", f.name))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("plugin %q: %s", p.Domain, strings.Join(problems, "; "))
	}
	return nil
}

func validName(s string) bool { return s != "" && len(s) <= 48 && catalog.Kebab(s) == s }
