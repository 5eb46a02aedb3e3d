package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
)

// Effects are what a caller may rely on. They become MCP tool annotations.
type Effects struct {
	ReadOnly    bool // changes nothing
	Destructive bool // may delete or overwrite
	Idempotent  bool // the same call twice is the same as once
	Outside     bool // reaches beyond this system: cannot be rolled back, refused in a dry run
}

// ActsOutside reports whether a call changes something beyond this system.
func (e Effects) ActsOutside() bool { return e.Outside && !e.ReadOnly }

// RepeatsOutside reports whether a second call would have its effect beyond this system again.
func (e Effects) RepeatsOutside() bool { return e.ActsOutside() && !e.Idempotent }

// ErrInterrupted is the cause of a fault of a call that reached its server and may have had its effect
// there, although its code says that the server is not available.
var ErrInterrupted = errors.New("catalog: the call was interrupted")

// HadNoEffect reports whether a call that ended in err certainly had no effect outside: its handler
// asked a question first, or did not reach its server, or the server took no call.
func HadNoEffect(err error) bool {
	switch fault.CodeOf(err) {
	case fault.InputRequired:
		return true
	case fault.ServiceUnavailable, fault.PluginUnavailable, fault.RateLimited, fault.QueueOverloaded:
		return fault.From(err).Retry == fault.Safe && !errors.Is(err, ErrInterrupted)
	}
	return false
}

// Reach says on which surfaces an operation exists.
type Reach uint8

const (
	ReachTools  Reach = 1 << iota // an MCP tool of its own
	ReachREST                     // a REST route
	ReachScript                   // the SDK inside a script
	ReachApp                      // the app's own commands alone
)

// Everywhere is the reach of ordinary operations.
const Everywhere = ReachTools | ReachREST | ReachScript

// Target is what a call is about, read from its input by the operation, so that
// policy, approval and the journal see it without knowing the input.
type Target struct {
	Entity string   // "" if the operation is not an entity's
	Set    string   // "" where the operation knows no sets
	Keys   []string // ids, where the input names them
}

// Input is what Operation.Decode reads.
type Input struct {
	JSON json.RawMessage
	Set  string // where the input names none
	// Ahead says that no call follows: what the handler would refuse whatever is stored
	// is reported as well.
	Ahead bool
}

// Decoded is what Operation.Decode reads from a valid input.
type Decoded struct {
	Target Target
	// Value is what Call.Decoded returns to the handler. It belongs to one call, which
	// may change it.
	Value any
	// Effects are those of this call, where they are fewer than the operation's: nil
	// otherwise.
	Effects *Effects
}

// Operation is one thing that can be called: who it is, and its three parts. It is immutable once it is
// in a snapshot.
type Operation struct {
	ID ID
	// Resource names the entity that the operation belongs to, "" for others.
	Resource string
	Contract
	Listing
	Work
}

// Contract is what a caller of an operation may rely on: what it takes, returns and needs, and what it
// does.
type Contract struct {
	// Input and Output are JSON Schema 2020-12. Input is always an object schema.
	// Output describes success only; surfaces admit the fault shape beside it.
	Input  json.RawMessage
	Output json.RawMessage
	// NoSchema is why nothing of what a peer of the provider says of the input can be used, "" where it
	// can be: Input takes any object then.
	NoSchema string
	// Proven reports that the provider's own tests prove that all outputs fit Output, so
	// that the engine need not check each one, which can take longer than the call.
	Proven  bool
	Effects Effects
	// Declared is what a peer of the provider declares about the operation, by part, as it
	// came, where Summary, Input and Effects are not all of it. A lasting approval ends
	// when it changes.
	Declared map[string]json.RawMessage
	// Untrusted reports that outputs and faults have text of a server that nobody vouches
	// for.
	Untrusted bool
	// PassesOn reports that outputs are, or stand for, what the input has or names, as the
	// content of a file is: text of an untrusted server stays that.
	PassesOn bool
	Example  json.RawMessage // an input that runs on a fresh app, or nil
	Scopes   []string        // all of them are needed; see Needs
	// Leading are the members of the input that scripts may also give by position, of a
	// plugin's function: SDK.Files.get(id).
	Leading []string
	// Refused is the body of a failure beside the fault if the input was rejected before
	// the handler: an object that describes a call that never began. It is nil for
	// operations whose failures are the fault alone.
	Refused json.RawMessage
}

// Listing is where an operation is found, and how it is described there.
type Listing struct {
	Title   string
	Summary string // one sentence for people and models; byte-stable
	// Describe returns the description if it depends on what the caller sees; if it is
	// nil, the description is Summary. It is byte-stable for one View and memoises.
	// Surfaces call Description.
	Describe func(v *View) string
	// Abridge returns Describe's text with less in it, for a list that has no room for all;
	// nil where there is no such text.
	Abridge func(v *View) string
	// AskedBy are words of which a search has one that asks for the operation by what it is
	// about. It has words, too, that most people say of something else: other searches find
	// the tools of servers first. nil is for all other operations.
	AskedBy []string
	// Reach 0 means disabled by configuration: listed nowhere, but found by its name,
	// and its Decode returns why it is disabled.
	Reach Reach
	// Exposure is the annotation of the entity or plugin, "" to inherit; Default
	// is that of its package.
	Exposure exposure.Mode
	Default  exposure.Mode
	// ListedBeside, if set, makes the operation a tool exactly if a tool is listed for
	// which it returns true, whatever the mode. nil: the mode decides.
	ListedBeside func(other *Operation) bool
	// Unlisted says that the operation can be called as a tool although no list has it:
	// answers after which somebody needs it name it.
	Unlisted bool
	// ListedInCode says of an action that mode `code` lists it as a tool too. Without that it can
	// be called there, but only scripts are told of it.
	ListedInCode bool
	// Dispensable says that a list which would be too long with it does without: it is
	// seldom needed, and can be called all the same.
	Dispensable bool
	// InputAsItIs lists Input unchanged. Otherwise lists convert it to a schema that
	// all clients accept (package toolset).
	InputAsItIs bool
	// ToolPrefix precedes the tool name, without its dot.
	ToolPrefix string
}

// Work is how the calls of an operation are carried out. Of its functions Handler is needed, or Resolve;
// the others are for operations that differ from the rest in what their comments say.
type Work struct {
	// Await waits until the operations for which this one stands are in the catalog, or returns
	// why they are not. It is nil for an operation that stands for itself.
	Await func(ctx context.Context, p auth.Principal) error
	// Timeout bounds one call as a tool; 0 takes server.toolTimeoutMs.
	Timeout time.Duration
	// Decode validates an input and reports all problems as one fault; it returns what the
	// call is about and what the handler needs. It must reject whatever the Input schema
	// rejects, since nothing else reads an input before the handler. If it is nil, the
	// schema is checked, there is no target, and the handler reads Call.Input.
	Decode func(in Input) (Decoded, error)
	// Narrow returns the operation for a sight that does not see all of the catalog: its
	// schemas, example, Decode and Handler cover only what is seen, so that neither
	// descriptions nor faults reveal the rest. It never returns nil. If Narrow is nil, the
	// operation is the same for all.
	Narrow func(s *Sight) *Operation
	// Present returns the blocks that people and models read in place of the output
	// itself, from the output of a call that succeeded: a picture, for example. If it is
	// nil or returns no blocks, they read the output. It is a pure function.
	Present func(output json.RawMessage) []Content
	// Handler does the work. See Handler.
	Handler Handler
	// Resolve makes the operation stand for others that are not known yet: it waits until they
	// are, and returns the one that a call is of, with that one's input. In all that follows,
	// the call is of that operation: rules, dry runs and records see no other. It is set in
	// place of Handler.
	Resolve func(ctx context.Context, call Call) (*Operation, json.RawMessage, error)
	// Current returns the operation as its server has it now, to a principal who is about to
	// call it: an approval is for what is called, not for what was listed once. The Handler of
	// what it returns calls nothing else. It is nil for operations that change with the app alone.
	Current func(ctx context.Context, p auth.Principal) (*Operation, error)
	// Serial operations (the entities') run one at a time within an attempt, in
	// the transaction that their handler opens; others run in parallel.
	Serial bool
	// Nested operations (actions) consist of calls of their own, which their handler
	// makes. They are made again in each attempt, one at a time with the Serial ones and
	// under one savepoint: a failing one leaves nothing half-done.
	Nested bool
	// Converses marks an operation that no transaction covers, but whose handler makes calls of
	// its own in the run (run.NestOf), as that of a Nested one does. Its result is on the tape
	// together with these calls: a later attempt makes the calls again, and calls the handler again
	// only if they end otherwise. It runs one at a time with the Serial and Nested ones.
	Converses bool
	// Rights are those of the own calls of an operation that makes some; nil are its caller's.
	Rights *Rights
	// Quota bounds the calls of a run that is one call of a Nested operation; 0 is
	// unlimited. In a script they count towards the script's.
	Quota int
}

// Rights are what the calls of a nested operation may do, and what it says of itself that
// they do.
type Rights struct {
	// App gives the calls the app's own rights in place of the caller's.
	App bool
	// Sets are those that the calls may name: names and patterns; nil are the caller's own.
	// Without App they narrow the caller's.
	Sets []string
	// Declared says that Operation.Effects is what the author declared, so that calls are
	// refused which contradict it: of a read-only operation those that change something, of
	// one without outside effects those that have one.
	Declared bool
}

// Composed reports whether a call consists of calls of its own.
func (op *Operation) Composed() bool { return op.Nested || op.Converses }

// CallsAs returns the principal of a nested operation's own calls where caller makes it.
func (op *Operation) CallsAs(caller auth.Principal) auth.Principal {
	switch rights := op.Rights; {
	case rights == nil:
	case rights.App:
		sets := caller.Sets
		if rights.Sets != nil {
			sets = rights.Sets
		}
		return auth.Principal{Subject: op.ID.String(), Scopes: []string{auth.All, auth.Journal}, Sets: sets}
	case rights.Sets != nil:
		caller.Sets = caller.Covered(rights.Sets)
	}
	return caller
}

// Description is the text about the operation that surfaces show to people and models.
func (op *Operation) Description(v *View) string {
	if op.Describe != nil {
		return op.Describe(v)
	}
	return op.Summary
}

// Handler does the work of one call. It gets a valid input from an authorised
// caller, and returns an output that is valid by Output; any other output is the fault
// execution_error, which names the operation. It must not use Call after it has
// returned. It is called again in each attempt of a run, unless the operation is
// Outside: then its result is on the tape, and later attempts read it there. Errors
// that are not faults become internal. Its context ends at the call's deadline or when
// the caller cancels.
type Handler func(ctx context.Context, call Call) (json.RawMessage, error)

// Call is what a handler knows of the call it serves.
type Call interface {
	// Input is the whole input object, validated.
	Input() json.RawMessage
	// Decoded is the Value that Operation.Decode returned, nil if there is no Decode.
	Decoded() any
	// Target is what the call is about, as Operation.Decode returned it.
	Target() Target
	// Principal is the caller.
	Principal() auth.Principal
	// Operation is the operation that was called.
	Operation() *Operation
	// View is the catalog as the caller sees it, at the version the run leases.
	View() *View
	// Sight is what the caller sees of entities on the call's surface.
	Sight() *Sight
	// Run is the id of the run that the call is part of. For a code operation it is the
	// id of the run that it opens, or under which the journal records its rejection.
	Run() string
	// DryRun reports whether the run will be rolled back.
	DryRun() bool
	// Key is the same in every attempt: run, position, occurrence. Outside services get
	// it as their idempotency key.
	Key() string
	// Progress reports to the caller how far the call is. total 0 means unknown.
	Progress(done, total float64, message string)
	// Emit passes a part of the result to the caller while the call goes on. index is its
	// place among those of the run, from 0: a later attempt replaces what differs.
	Emit(index int, value json.RawMessage)
	// Log sends the caller a log message, if it reads them. It is not recorded.
	Log(level slog.Level, message string)
	// Invoke makes a nested call in the same run, with the caller's rights.
	Invoke(ctx context.Context, id ID, input json.RawMessage) (json.RawMessage, error)
}
