package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/journal"
)

// Reader is who reads the journal: its own runs and, where it may read those of others, the ones
// all of whose sets it may name.
type Reader struct {
	Principal auth.Principal
	// Knows reports whether the reader may know of an entity; nil is any. The names of others
	// are left out.
	Knows func(entity string) bool
}

// owns reports whether a run is the reader's own.
func (r Reader) owns(subject string) bool {
	return r.Principal.Subject != "" && subject == journal.BoundedName(r.Principal.Subject)
}

// sees reports whether the reader may read what is kept of a run.
func (r Reader) sees(record map[string]any, trail [][]any) bool {
	subject, _ := record["subject"].(string)
	if r.owns(subject) {
		return true
	}
	if !journal.ReadsOthers(r.Principal) {
		return false
	}
	for _, set := range setsOf(record, trail) {
		if !r.Principal.MayName(set) {
			return false
		}
	}
	return true
}

// knows reports whether the reader may hear of an entity.
func (r Reader) knows(entity string) bool { return r.Knows == nil || r.Knows(entity) }

// setsOf returns the sets that a run named, used or changed. What an earlier version kept names
// only the default set, those of its calls and of what it changed.
func setsOf(record map[string]any, trail [][]any) (sets []string) {
	add := func(v any) {
		if set, _ := v.(string); set != "" {
			sets = append(sets, set)
		}
	}
	add(record["set"])
	if named, ok := record["sets"].([]any); ok {
		for _, set := range named {
			add(set)
		}
	}
	if changes, ok := record["changes"].([]any); ok {
		for _, c := range changes {
			if count, ok := c.(map[string]any); ok {
				add(count["set"])
			}
		}
	}
	for _, c := range trail {
		if len(c) > callSet {
			add(c[callSet])
		}
	}
	return sets
}

// Where members of a call stand in its list.
const (
	callPosition = 0
	callEntity   = 3
	callSet      = 4
	callApp      = 11
)

// maskCalls returns the calls as a reader may hear of them. What an action called with the app's
// rights is not for whoever called the action: neither what it was given nor what came of it.
func (r Reader) maskCalls(own bool, trail [][]any) [][]any {
	out := make([][]any, 0, len(trail))
	for _, c := range trail {
		if own && byApp(c) {
			continue
		}
		if len(c) > callSet {
			if entity, _ := c[callEntity].(string); entity != "" && !r.knows(entity) {
				c[1], c[2], c[callEntity] = "", "", ""
			}
			if set, _ := c[callSet].(string); !r.Principal.MayName(set) {
				c[callSet] = ""
			}
		}
		out = append(out, c)
	}
	return out
}

// byApp reports whether a call was made with the app's rights. What an earlier version kept does
// not say it; then every call of an action may have been.
func byApp(c []any) bool {
	if len(c) > callApp {
		return c[callApp] == json.Number("1")
	}
	position, _ := c[callPosition].(string)
	return strings.Contains(position, ".")
}

// maskChanges masks the counts of a record in place.
func (r Reader) maskChanges(record map[string]any) {
	changes, _ := record["changes"].([]any)
	for _, c := range changes {
		count, ok := c.(map[string]any)
		if !ok {
			continue
		}
		if entity, _ := count["entity"].(string); !r.knows(entity) {
			count["entity"] = ""
		}
		if set, _ := count["set"].(string); !r.Principal.MayName(set) {
			count["set"] = ""
		}
	}
}

// undoing is a run that has undone another one.
type undoing struct {
	run    string
	partly bool // it left something as somebody had changed it
}

// undoings returns, for each of some runs, the latest run that undid it, as far as the reader may
// read that one.
func (j *Journal) undoings(ctx context.Context, runs []string, r Reader) (map[string]undoing, error) {
	out := map[string]undoing{}
	if len(runs) == 0 {
		return out, nil
	}
	ids := make([]any, len(runs))
	for i, id := range runs {
		ids[i] = id
	}
	b := j.statement("SELECT id, CAST(record AS text), CAST(calls AS text) FROM koan_journal j WHERE " + byUndone + " IN (").List(ids).Raw(")")
	err := j.each(ctx, r.restrict(b).Raw(" ORDER BY id"), func(rows *sql.Rows) error {
		var id, record string
		var calls sql.NullString
		if err := rows.Scan(&id, &record, &calls); err != nil {
			return err
		}
		has, trail, err := parts(record, calls.String)
		if err != nil || !r.sees(has, trail) || has["committed"] != json.Number("1") {
			return err
		}
		undone, _ := has["undoes"].(string)
		out[undone] = undoing{run: id, partly: has["left"] != nil}
		return nil
	})
	return out, err
}

// undoneBy returns the run because of which another one is undone, "" for none that the reader may read. An undo
// of an undo makes what the run did again, so the last one of them counts.
func undoneBy(ctx context.Context, j *Journal, run string, r Reader) (by string, err error) {
	for at, undone := run, true; ; undone = !undone {
		found, err := j.undoings(ctx, []string{at}, r)
		if err != nil {
			return "", err
		}
		next, ok := found[at]
		if !ok || next.partly {
			return by, nil
		}
		if by = ""; undone {
			by = next.run
		}
		at = next.run
	}
}

// byUndone is the run that a run has undone; an index has those that have.
const byUndone = "(record ->> 'undoes')"

// parts reads a row's record and calls.
func parts(record, calls string) (has map[string]any, trail [][]any, err error) {
	if err = decode(record, &has); err == nil && calls != "" {
		err = decode(calls, &trail)
	}
	return has, trail, err
}

// ReadableRuns returns which runs a principal who may read those of others may read: a statement
// of one column, called as the one given, with their ids, and its arguments. bound is how many
// arguments stand before it. nil is all of them.
func ReadableRuns(d sqltext.Dialect, column string, p auth.Principal) func(bound int) (string, []any) {
	if slices.Contains(p.Sets, auth.All) {
		return nil
	}
	return func(bound int) (string, []any) {
		text, args := namesAll(d, p.Sets)(bound)
		return "SELECT j.id AS " + column + " FROM koan_journal j WHERE " + text, args
	}
}

// namesAll returns the condition that all sets of the run j may be named.
func namesAll(d sqltext.Dialect, sets []string) func(bound int) (string, []any) {
	return func(bound int) (string, []any) {
		w := &setsCondition{dialect: d, sets: sets, bound: bound}
		w.match("COALESCE(j.record ->> 'set', '')")
		for _, s := range sources[d.Name()] {
			w.add(" AND NOT EXISTS (SELECT 1 FROM " + s.from + " WHERE NOT ")
			w.match("COALESCE(" + s.set + ", '')")
			w.add(")")
		}
		return string(w.text), w.args
	}
}

// restrict limits a statement about the runs j to those that the reader sees. The database decides it:
// to load a run takes time by which whoever asks could tell it from one that does not exist.
func (r Reader) restrict(b *sqltext.Builder) *sqltext.Builder {
	b.Raw(" AND (COALESCE(j.record ->> 'subject', '') = ").Arg(journal.BoundedName(r.Principal.Subject)).Raw(" AND ").Arg(r.Principal.Subject).Raw(" <> ''")
	if journal.ReadsOthers(r.Principal) {
		if b.Raw(" OR "); slices.Contains(r.Principal.Sets, auth.All) {
			b.Raw("1 = 1")
		} else {
			b.Embed(namesAll(b.Dialect, r.Principal.Sets))
		}
	}
	return b.Raw(")")
}

// source is where a record names sets, as SQL: a row for each.
type source struct{ from, set string }

var sources = map[string][]source{
	dialect.SQLite: {
		{"json_each(j.record, '$.sets') s", "s.value"},
		{"json_each(j.record, '$.changes') s", "s.value ->> '$.set'"},
		{"json_each(COALESCE(j.calls, '[]')) s", "s.value ->> '$[4]'"},
	},
	dialect.Postgres: {
		{"jsonb_array_elements_text(COALESCE(j.record -> 'sets', '[]')) s(value)", "s.value"},
		{"jsonb_array_elements(COALESCE(j.record -> 'changes', '[]')) s(value)", "s.value ->> 'set'"},
		{"jsonb_array_elements(COALESCE(j.calls, '[]')) s(value)", "s.value ->> 4"},
	},
}

// setsCondition collects a statement about the names of sets.
type setsCondition struct {
	dialect sqltext.Dialect
	sets    []string // names, and prefixes that end in "*"
	bound   int
	text    []byte
	args    []any
}

func (w *setsCondition) add(sql string) { w.text = append(w.text, sql...) }

func (w *setsCondition) arg(v any) {
	w.args = append(w.args, v)
	w.text = w.dialect.Placeholder(w.text, w.bound+len(w.args))
}

// match appends that an expression is no set's name, or that of a set which may be named.
func (w *setsCondition) match(expr string) {
	w.add("(" + expr + " = ''")
	for _, set := range w.sets {
		if prefix, ok := strings.CutSuffix(set, auth.All); ok {
			w.add(" OR SUBSTR(" + expr + ", 1, " + strconv.Itoa(utf8.RuneCountInString(prefix)) + ") = ")
			w.arg(prefix)
			continue
		}
		w.add(" OR " + expr + " = ")
		w.arg(set)
	}
	w.add(")")
}
