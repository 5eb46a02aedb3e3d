// Package records describes the journal's own entities, KoanRun and KoanCall, through
// which callers read it like anything else. Package ledger makes their tables, writes
// them and keeps views for readers; nobody else writes them, so there is no ent code
// behind these.
//
// What belongs here: what readers see of the journal. Not here: SQL.
package records

import (
	"context"
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/journal"
)

// scope is what it takes to read the journal.
const scope = journal.Scope

// Readable returns which runs the principal of a context may read: a statement of one column,
// called as the one given, with their ids; nil is all of them.
type Readable func(ctx context.Context, dialect, column string) shim.Rows

// Entities returns KoanRun and KoanCall, for the engine that reads them.
func Entities(readable Readable) *shim.App {
	run, call := runs(), calls()
	rows := func(column string) func(context.Context, shim.Tx) (shim.Rows, error) {
		return func(ctx context.Context, tx shim.Tx) (shim.Rows, error) {
			return readable(ctx, tx.(transaction).dialect, column), nil
		}
	}
	return &shim.App{
		Graph: descriptor.NewGraph(call, run),
		Kinds: []*shim.Kind{
			{Type: call.Resource.Name, Entity: call, IDForm: shim.TextIDs[string](), Rows: rows("run_id"), RowsBy: "run_id"},
			{Type: run.Resource.Name, Entity: run, IDForm: shim.TextIDs[string](), Rows: rows("id")},
		},
		Connect: func(string, dialect.Driver, ent.Hook) (shim.Client, error) { return reader{}, nil },
		Trait:   func(error) shim.Trait { return shim.Trait{} },
	}
}

func runs() *descriptor.Entity {
	e := readable(catalog.JournalRuns, "koan_journal_runs", "A run that has ended, as the journal keeps it: a script, or one call of a tool.", []field{
		{"started", "started", catalog.TypeTime, false, ""},
		{"durationMs", "duration_ms", catalog.TypeFloat, false, "Wall-clock time, in milliseconds."},
		{"surface", "surface", catalog.TypeString, false, "Where it came from: mcp, run (the command line), rest, app."},
		{"subject", "subject", catalog.TypeString, false, "Who called."},
		{"tool", "tool", catalog.TypeString, false, "The name of the tool that was called."},
		{"operation", "operation", catalog.TypeString, false, "Its id in the catalog."},
		{"set", "set", catalog.TypeString, false, "The default set of its calls."},
		{"outcome", "outcome", catalog.TypeString, false, "ok, cut_off (its process died) or the code of the fault that it ended in."},
		{"message", "message", catalog.TypeText, true, "The fault's message, without secrets."},
		{"line", "line", catalog.TypeInt, true, "The script's line where it happened."},
		{"committed", "committed", catalog.TypeBool, false, "Whether anything that it wrote is in the data."},
		{"dryRun", "dry_run", catalog.TypeBool, false, "Everything was rolled back, as asked."},
		{"atomic", "atomic", catalog.TypeBool, false, "Its writes committed together, or not at all."},
		{"attempts", "attempts", catalog.TypeInt, false, ""},
		{"callCount", "call_count", catalog.TypeInt, false, "Calls that it made in its last attempt."},
		{"outsideCount", "outside_count", catalog.TypeInt, false, "Calls that had an effect outside this system."},
		{"created", "created", catalog.TypeInt, false, "Entities that it created; of a dry run, would have."},
		{"updated", "updated", catalog.TypeInt, false, ""},
		{"deleted", "deleted", catalog.TypeInt, false, ""},
		{"changes", "changes", catalog.TypeJSON, true, "The same by entity and set: entity, set, created, updated, deleted."},
		{"changesDigest", "changes_digest", catalog.TypeString, true, "SHA-256 of the changes, if they were requested."},
		{"code", "code", catalog.TypeText, true, "The script, without secrets."},
		{"codeDigest", "code_digest", catalog.TypeString, true, "SHA-256 of the script as received."},
		{"inputDigest", "input_digest", catalog.TypeString, true, "SHA-256 of the whole input."},
		{"resultBytes", "result_bytes", catalog.TypeInt, false, "Size of the result as JSON."},
		{"approval", "approval", catalog.TypeEnum, false, "Whether a person had to approve its effect, and the decision."},
		{"planId", "plan_id", catalog.TypeString, true, "The plan that was to be approved."},
		{"approvedBy", "approved_by", catalog.TypeString, true, "Who decided."},
		{"redactions", "redactions", catalog.TypeInt, false, "Secrets that were removed from code, message and logs."},
		{"correlationId", "correlation_id", catalog.TypeString, true, "The caller's own id for what it belongs to."},
		{"traceId", "trace_id", catalog.TypeString, false, ""},
		{"keyed", "keyed", catalog.TypeBool, false, "It had an idempotency key."},
		{"repeatOf", "repeat_of", catalog.TypeString, true, "The run whose reply it repeated."},
		{"runtime", "runtime", catalog.TypeString, true, "What ran the script."},
		{"language", "language", catalog.TypeString, true, "The script's language: javascript, typescript, python, node."},
		{"catalogVersion", "catalog_version", catalog.TypeString, false, ""},
		{"toolVersion", "tool_version", catalog.TypeString, false, "The build that ran it."},
		{"repaired", "repaired", catalog.TypeBool, false, "The process that ran it died before writing this record, which was rebuilt from receipts and the note of the run's start."},
		{"lost", "lost", catalog.TypeInt, false, "Earlier runs that are missing from the journal because it could not be written in time."},
	})
	e.Resource.Field("changes").Schema = json.RawMessage(`{"type":"array","items":{"type":"object","additionalProperties":true}}`)
	e.Resource.Field("approval").Enum = []string{"none", "required", "approved", "denied"}
	e.Resource.Edges = []catalog.Edge{{Name: "calls", Description: "The calls of its last attempt.", Target: catalog.JournalCalls, Many: true}}
	e.Edges = []descriptor.Edge{{Name: "calls", Ent: "calls", Target: catalog.JournalCalls, Relation: descriptor.O2M, TargetKey: "run_id"}}
	e.Referrers = []descriptor.Referrer{{Entity: catalog.JournalCalls, Column: "run_id"}}
	return e
}

func calls() *descriptor.Entity {
	e := readable(catalog.JournalCalls, "koan_run_calls", "A call that a run made, as the journal keeps it.", []field{
		{"runId", "run_id", catalog.TypeID, false, ""},
		{"sequence", "sequence", catalog.TypeInt, false, "Its number in the order in which the run's calls ended, from 1."},
		{"position", "position", catalog.TypeString, false, "Its number in the order in which calls were made; 3.1 was called by 3."},
		{"tool", "tool", catalog.TypeString, false, "The name of the tool that was called."},
		{"operation", "operation", catalog.TypeString, false, "Its id in the catalog."},
		{"entity", "entity", catalog.TypeString, true, "The entity that was called."},
		{"set", "set", catalog.TypeString, true, ""},
		{"outcome", "outcome", catalog.TypeString, false, "ok, or the code of the fault that it ended in."},
		{"startedMs", "started_ms", catalog.TypeFloat, false, "After the run's start, in milliseconds."},
		{"durationMs", "duration_ms", catalog.TypeFloat, false, "In milliseconds."},
		{"inputDigest", "input_digest", catalog.TypeString, false, "SHA-256 of the input."},
		{"outputBytes", "output_bytes", catalog.TypeInt, false, "Size of the output as JSON."},
		{"outside", "outside", catalog.TypeBool, false, "It had an effect outside this system."},
		{"build", "build", catalog.TypeString, true, "Of a plugin its version and the digest of its files, of a server its version."},
	})
	e.Resource.Field("runId").Edge = "run"
	e.Column("runId").Refers = catalog.JournalRuns
	e.Resource.Edges = []catalog.Edge{{Name: "run", Target: catalog.JournalRuns, Required: true, Reference: "runId"}}
	e.Edges = []descriptor.Edge{{Name: "run", Ent: "run", Target: catalog.JournalRuns, Relation: descriptor.M2O, Inverse: true, OwnKey: "run_id"}}
	return e
}

// field is a field and its column.
type field struct {
	name, column string
	kind         catalog.FieldType
	nullable     bool
	about        string
}

// storages are how columns keep what is not kept as text.
var storages = map[catalog.FieldType]descriptor.Storage{
	catalog.TypeInt: descriptor.Int, catalog.TypeFloat: descriptor.Float, catalog.TypeBool: descriptor.Bool,
	catalog.TypeTime: descriptor.Time, catalog.TypeJSON: descriptor.JSON,
}

// readable returns an entity that callers with scope may read and nobody may write.
func readable(name, table, description string, fields []field) *descriptor.Entity {
	e := &descriptor.Entity{
		Resource: catalog.Resource{
			Name: name, Description: description, ReadOnly: true, Exposure: "code",
			Key: catalog.Field{Name: "id", Type: catalog.TypeID, Required: true, Immutable: true},
		},
		Table: table, Key: descriptor.Column{Field: "id", Ent: "id", Name: "id", Storage: descriptor.Text},
		ReadScopes: []string{scope},
	}
	for _, f := range fields {
		storage, ok := storages[f.kind]
		if !ok {
			storage = descriptor.Text
		}
		e.Resource.Fields = append(e.Resource.Fields, catalog.Field{Name: f.name, Description: f.about, Type: f.kind, Required: !f.nullable, Nullable: f.nullable})
		e.Columns = append(e.Columns, descriptor.Column{Field: f.name, Ent: f.column, Name: f.column, Storage: storage, Nullable: f.nullable})
	}
	return e
}

// reader is a client that only reads: the engine does that by itself, in the
// transaction that a reader takes part in.
type reader struct{}

func (reader) Begin(ctx context.Context, drv dialect.Driver) (shim.Tx, error) {
	tx, err := drv.Tx(ctx)
	return transaction{tx, drv.Dialect()}, err
}

func (reader) Hooked(string) bool { return false }

func (reader) Guarded(string) bool { return false }

// Ruled implements shim.Client: readers see the runs whose sets they may name.
func (reader) Ruled(string) bool { return true }

type transaction struct {
	dialect.Tx
	dialect string
}

func (transaction) Context(ctx context.Context) context.Context { return ctx }
