// Package schema has the ent schemas of the journal: what ran, as entities that
// can be read by those who have the scope for it and written by nobody.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/koan-go/koan/entities/expose"
)

// Scope is what it takes to read the journal.
const Scope = "koan:journal"

// KoanRun is a run that has ended: a script, or one call of a tool.
type KoanRun struct{ ent.Schema }

// Annotations of KoanRun.
func (KoanRun) Annotations() []schema.Annotation {
	return []schema.Annotation{readable("A run that has ended, as the journal keeps it: a script, or one call of a tool.")}
}

// Fields of KoanRun.
func (KoanRun) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").Comment("The run's id; later runs have greater ones."),
		field.Time("started"),
		field.Float("duration_ms").Comment("By the clock, in milliseconds."),
		field.String("surface").Comment("Where it came from: mcp, run (the command line), rest, app."),
		field.String("subject").Comment("Who called."),
		field.String("tool").Comment("The name of the tool that was called."),
		field.String("operation").Comment("Its id in the catalog."),
		field.String("set").Comment("The default set of its calls."),
		field.String("outcome").Comment("ok, cut_off (its process died) or the code of the fault that it ended in."),
		field.Text("message").Optional().Comment("What the fault says, without secrets."),
		field.Int("line").Optional().Comment("The script's line that it stands at."),
		field.Bool("committed").Comment("Whether anything that it wrote is in the data."),
		field.Bool("dry_run").Comment("Everything was rolled back, as asked."),
		field.Bool("atomic").Comment("Its writes committed together, or not at all."),
		field.Int("attempts"),
		field.Int("call_count").Comment("Calls that it made in its last attempt."),
		field.Int("outside_count").Comment("Calls that had an effect outside this system."),
		field.Int("created").Comment("Entities that it created; of a dry run, would have."),
		field.Int("updated"),
		field.Int("deleted"),
		field.JSON("changes", []map[string]any{}).Optional().Comment("The same by entity and set: entity, set, created, updated, deleted."),
		field.String("changes_digest").Optional().Comment("SHA-256 of the changes, where they were asked for."),
		field.Text("code").Optional().Comment("The script, without secrets."),
		field.String("code_digest").Optional().Comment("SHA-256 of the script as it came."),
		field.String("input_digest").Optional().Comment("SHA-256 of the whole input."),
		field.Int("result_bytes").Comment("Size of the result as JSON."),
		field.Enum("approval").Values("none", "required", "approved", "denied").Comment("Whether somebody had to agree to its effect, and did."),
		field.String("plan_id").Optional().Comment("The plan that was to be agreed to."),
		field.String("approved_by").Optional().Comment("Who decided."),
		field.Int("redactions").Comment("Secrets that were taken out of code, message and logs."),
		field.String("correlation_id").Optional().Comment("The caller's own word for what it belongs to."),
		field.String("trace_id"),
		field.Bool("keyed").Comment("It had an idempotency key."),
		field.String("repeat_of").Optional().Comment("The run whose reply it gave again."),
		field.String("runtime").Optional().Comment("What ran the script."),
		field.String("catalog_version"),
		field.String("tool_version").Comment("The build that ran it."),
		field.Bool("repaired").Comment("The process that ran it died before it wrote this: it is made from receipts and the note of the run's start."),
		field.Int("lost").Comment("Runs before this one that the journal has no record of, since it could not be written in time."),
	}
}

// Edges of KoanRun.
func (KoanRun) Edges() []ent.Edge {
	return []ent.Edge{edge.To("calls", KoanCall.Type).Comment("What it called, in its last attempt.")}
}

// Indexes of KoanRun.
func (KoanRun) Indexes() []ent.Index {
	return []ent.Index{index.Fields("started"), index.Fields("outcome", "started")}
}

// KoanCall is a call that a run made.
type KoanCall struct{ ent.Schema }

// Annotations of KoanCall.
func (KoanCall) Annotations() []schema.Annotation {
	return []schema.Annotation{readable("A call that a run made, as the journal keeps it.")}
}

// Fields of KoanCall.
func (KoanCall) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").Comment("The run's id, a colon, the call's position."),
		field.String("run_id"),
		field.Int("sequence").Comment("Its number in the order in which the run's calls ended, from 1."),
		field.String("position").Comment("Its number in the order of issue; 3.1 is what 3 called."),
		field.String("tool").Comment("The name of the tool that was called."),
		field.String("operation").Comment("Its id in the catalog."),
		field.String("entity").Optional().Comment("What it was about."),
		field.String("set").Optional(),
		field.String("outcome").Comment("ok, or the code of the fault that it ended in."),
		field.Float("started_ms").Comment("After the run's start, in milliseconds."),
		field.Float("duration_ms").Comment("In milliseconds."),
		field.String("input_digest").Comment("SHA-256 of the input."),
		field.Int("output_bytes").Comment("Size of the output as JSON."),
		field.Bool("outside").Comment("It had an effect outside this system."),
	}
}

// Edges of KoanCall.
func (KoanCall) Edges() []ent.Edge {
	return []ent.Edge{edge.From("run", KoanRun.Type).Ref("calls").Field("run_id").Unique().Required()}
}

// Indexes of KoanCall.
func (KoanCall) Indexes() []ent.Index { return []ent.Index{index.Fields("run_id")} }

func readable(description string) expose.Entity {
	return expose.Entity{Description: description, ReadOnly: expose.Yes(), Exposure: "code", ReadScopes: []string{Scope}}
}
