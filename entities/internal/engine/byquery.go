package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// The bounds of maxAffected. Ids are decided before anything is written, so what
// a call keeps in memory is bounded by it too.
const (
	defaultAffected = 1000
	mostAffected    = 100_000
)

// progressEvery is after how many rows a caller hears how far a call is.
const progressEvery = 500

// queryInput is the checked input of update-by-query and delete-by-query.
type queryInput struct {
	filter      *filter.Tree
	guards      filter.Guards
	changes     *model // nil for delete-by-query
	maxAffected int
	confirmed   bool // by `all` or `maxAffected`, that the filter may match everything
}

func decodeUpdateByQuery(d *decoder, raw json.RawMessage) any {
	in, members := d.query(raw, "update-by-query")
	if v, ok := d.need(members, "changes"); ok {
		before := len(d.details)
		in.changes = d.model(v, "/changes", false)
		if len(d.details) == before && in.changes.empty() {
			d.fail("/changes", "there is nothing to change")
		}
	}
	return in
}

func decodeDeleteByQuery(d *decoder, raw json.RawMessage) any {
	in, _ := d.query(raw, "delete-by-query")
	return in
}

// query decodes what both operations have. A filter is required, and one without a
// condition needs `all` or `maxAffected`: a query whose condition was forgotten would
// affect everything.
func (d *decoder) query(raw json.RawMessage, op string) (*queryInput, map[string]any) {
	in := &queryInput{maxAffected: defaultAffected}
	members := d.open(raw, op)
	if members == nil {
		return in, nil
	}
	if in.confirmed = d.flag(members, "all"); in.confirmed {
		in.maxAffected = mostAffected
	}
	if most, ok := members["maxAffected"]; ok {
		n, ok := filter.Integer(most)
		if !ok || n < 1 || n > mostAffected {
			d.wrong("/maxAffected", fmt.Sprintf("an integer from 1 to %d", mostAffected), most)
		}
		in.maxAffected, in.confirmed = int(n), true
	}
	v, ok := members["filter"]
	if !ok {
		d.fail("/filter", "filter is required; {} with all: true matches every %s", d.kind.name())
		return in, members
	}
	tree, details := filter.Check(v, d.kind.Entity, d.graph, "/filter", &in.guards)
	in.filter = tree
	d.details = append(d.details, details...)
	if len(d.details) == 0 && in.unconfirmed() {
		d.details = append(d.details, matchesAll(d.kind))
	}
	return in, members
}

// unconfirmed reports whether the filter matches everything, and nobody said that it may.
func (in *queryInput) unconfirmed() bool { return !in.confirmed && in.filter.MatchesAll() }

func matchesAll(k *kind) fault.Detail {
	return fault.Detail{Path: "/filter", Message: "the filter has no condition, so it matches every " + k.name() + "; confirm with all: true, or set maxAffected to the most that may match"}
}

// obey narrows the query to the rows that its caller may read. Of relationships whose
// other side is hidden a condition may leave nothing.
func (in *queryInput) obey(t *tx, k *kind) error {
	if err := in.guards.Obey(t.caller); err != nil {
		return err
	}
	if in.unconfirmed() {
		return fault.Invalid(matchesAll(k))
	}
	return nil
}

// updateByQuery and deleteByQuery are the operations on what matches a filter.
var (
	updateByQuery = operation{
		EntityOperation: named("update-by-query"), title: verb("Change %s by filter"),
		summary: verb("Changes the named fields of every %s that matches a filter; with more matches than maxAffected nothing is changed."),
		example: updateByQueryExample,
		input: func(e *engine, k *kind) json.RawMessage {
			changes := k.modelSchema(false)
			changes["minProperties"] = 1
			return queryInputSchema(e, k, object{"changes": changes}, "filter", "changes")
		},
		output: func(*kind) json.RawMessage { return numberSchema("updated") },
		decode: decodeUpdateByQuery,
		handle: func(ctx context.Context, e *engine, t *tx, k *kind, call catalog.Call) (json.RawMessage, error) {
			return e.byQuery(ctx, t, k, call, "updated", e.updateOne)
		},
	}
	deleteByQuery = operation{
		EntityOperation: named("delete-by-query"), title: verb("Delete %s by filter"),
		summary: verb("Deletes every %s that matches a filter; with more matches than maxAffected nothing is deleted."),
		example: deleteByQueryExample,
		input: func(e *engine, k *kind) json.RawMessage {
			return queryInputSchema(e, k, object{}, "filter")
		},
		output: func(*kind) json.RawMessage { return numberSchema("deleted") },
		decode: decodeDeleteByQuery,
		handle: func(ctx context.Context, e *engine, t *tx, k *kind, call catalog.Call) (json.RawMessage, error) {
			return e.byQuery(ctx, t, k, call, "deleted", e.deleteOne)
		},
	}
)

func queryInputSchema(e *engine, k *kind, p object, required ...string) json.RawMessage {
	matching := read.FilterByName(k.Entity, e.app.Graph)
	p["filter"] = withDescription(matching, matching["description"].(string)+" One without a condition needs all or maxAffected.")
	p["maxAffected"] = object{"type": "integer", "minimum": 1, "maximum": mostAffected, "default": defaultAffected, "description": "With more matches nothing is done."}
	p["all"] = object{"type": "boolean", "default": false, "description": "Affects every match, without limit."}
	p["set"] = read.SetSchema(&k.Entity.Resource)
	return input(p, required...)
}

// each does something with one of the rows that matched, and reports whether it
// counts.
type each func(ctx context.Context, t *tx, k *kind, id any, changes *model) (bool, error)

// byQuery first decides which rows match, then goes through them one by one, so that
// hooks, versions, recorded changes and cascades are those of single writes, and a
// change that makes other rows match does not affect which rows are written.
func (e *engine) byQuery(ctx context.Context, t *tx, k *kind, call catalog.Call, member string, do each) (json.RawMessage, error) {
	in := call.Decoded().(*queryInput)
	if err := in.obey(t, k); err != nil {
		return nil, err
	}
	ids, err := e.matching(ctx, t, k, in)
	if err != nil {
		return nil, err
	}
	affected, done, err := e.writeTogether(ctx, t, k, ids, in, call)
	if done || err != nil {
		return countAnswer(member, affected), err
	}
	for i, id := range ids {
		yes, err := do(ctx, t, k, id, in.changes)
		if err != nil {
			return nil, e.nameFailedRow(k, id, err)
		}
		if yes {
			affected++
		}
		if (i+1)%progressEvery == 0 {
			call.Progress(float64(i+1), float64(len(ids)), "")
		}
	}
	return countAnswer(member, affected), nil
}

// writeTogether writes all rows in a few statements, if that is possible.
func (e *engine) writeTogether(ctx context.Context, t *tx, k *kind, ids []any, in *queryInput, call catalog.Call) (affected int, done bool, err error) {
	if in.changes != nil {
		return e.changeMany(ctx, t, k, ids, in.changes, call)
	}
	return e.deleteMany(ctx, t, k, ids, call)
}

// countAnswer returns a number as the answer of an operation.
func countAnswer(member string, n int) json.RawMessage {
	return append(strconv.AppendInt([]byte(`{"`+member+`":`), int64(n), 10), '}')
}

// matching returns the native ids of the rows that match, and refuses more than
// the caller expects.
func (e *engine) matching(ctx context.Context, t *tx, k *kind, in *queryInput) ([]any, error) {
	ids, err := e.reader.Keys(ctx, t.sql, k.Entity, in.filter, in.maxAffected+1)
	if err != nil {
		return nil, err
	}
	if len(ids) > in.maxAffected {
		matched, err := e.reader.Matches(ctx, t.sql, k.Entity, in.filter)
		if err != nil {
			return nil, err
		}
		return nil, fault.Newf(fault.InvalidPayload, "%d %s entities match, more than maxAffected %d; nothing was done", matched, k.name(), in.maxAffected).
			WithPath("/maxAffected").WithDetails(map[string]any{"matched": matched, "maxAffected": in.maxAffected}).
			WithHint("Narrow the filter, or raise maxAffected (at most %d) if all of them are meant.", mostAffected)
	}
	return k.scanIDs(ids)
}

// updateOne changes a row. It counts if the change took place: a rule of the app
// may do something else instead, or may have removed the row with an earlier one.
func (e *engine) updateOne(ctx context.Context, t *tx, k *kind, id any, changes *model) (bool, error) {
	if t.hasHooks(k) {
		if there, err := t.visible(ctx, k, id); err != nil || !there {
			return false, err
		}
	}
	mark, own := len(t.writes), *changes
	if err := e.write(ctx, t, k, id, &own, nil); err != nil {
		return false, err
	}
	shown := k.FormatID(id)
	return slices.ContainsFunc(t.writes[mark:], func(n rowWrite) bool {
		return !n.void && n.action == run.Update && n.kind == k && k.FormatID(n.id) == shown
	}), nil
}

// deleteOne deletes a row. It counts if the row is gone, be it with another one
// that was deleted before.
func (e *engine) deleteOne(ctx context.Context, t *tx, k *kind, id any, _ *model) (bool, error) {
	return e.remove(ctx, t, k, id)
}

// nameFailedRow adds the row that failed to a fault. What was done before it is undone
// with the call.
func (e *engine) nameFailedRow(k *kind, id any, err error) error {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return err
	}
	named := *f
	named.Message = fmt.Sprintf("%s %s: %s; nothing was done", k.name(), filter.Quote(k.FormatID(id)), f.Message)
	return named.Because(err)
}

// exampleChange is one field that can be changed, with a value that it takes.
func exampleChange(k *kind) object {
	for i := range k.Entity.Resource.Fields {
		f := &k.Entity.Resource.Fields[i]
		if f.ReadOnly || f.Sensitive || f.Immutable || f.Edge != "" {
			continue
		}
		if f.Example != nil {
			return object{f.Name: f.Example}
		}
		if v := exampleValue(f, "Example"); v != nil {
			return object{f.Name: v}
		}
	}
	return nil
}

func exampleMatch(k *kind) object {
	return object{k.key().Name: exampleID(k)}
}

func updateByQueryExample(k *kind) json.RawMessage {
	changes := exampleChange(k)
	if changes == nil {
		return nil
	}
	return encode(object{"filter": exampleMatch(k), "changes": changes})
}

func deleteByQueryExample(k *kind) json.RawMessage {
	return encode(object{"filter": exampleMatch(k)})
}
