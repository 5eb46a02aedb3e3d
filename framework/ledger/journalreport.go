package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/journal"
)

// recent is how many of the latest runs of a reader Recent looks at.
const recent = 1000

// Report returns what is kept of one run, as a reader may see it: a JSON object with the fields
// that entities/internal/records declares for a run, and its calls under "calls". It is
// nil where there is none for the reader.
func (j *Journal) Report(ctx context.Context, run string, r Reader) (out []byte, err error) {
	if cannotStartID(run) {
		return nil, nil
	}
	var record string
	var calls, code sql.NullString
	b := j.statement("SELECT CAST(record AS text), CAST(calls AS text), code FROM koan_journal j WHERE id = ").Arg(run)
	err = j.each(ctx, r.restrict(b), func(rows *sql.Rows) error { return rows.Scan(&record, &calls, &code) })
	if err != nil || record == "" {
		return nil, err
	}
	undone, err := j.undoings(ctx, []string{run}, r)
	if err != nil {
		return nil, err
	}
	return report(run, record, &calls.String, code, r, undone)
}

// Recent returns those ids of the latest runs that a reader may see and that begin with what is
// typed, the latest first, at most as many as asked for.
func (j *Journal) Recent(ctx context.Context, typed string, r Reader, most int) (out []string, err error) {
	if cannotStartID(typed) {
		return nil, nil
	}
	b := j.statement("SELECT id, record, calls FROM (SELECT j.id, CAST(j.record AS text) AS record, CAST(j.calls AS text) AS calls FROM koan_journal j WHERE 1 = 1")
	r.restrict(b).Raw(" ORDER BY j.id DESC LIMIT ").Arg(recent).Raw(") AS latest WHERE id LIKE ").Arg(typed + "%")
	err = j.each(ctx, b.Raw(" ORDER BY id DESC"), func(rows *sql.Rows) error {
		var id, record string
		var calls sql.NullString
		if err := rows.Scan(&id, &record, &calls); err != nil {
			return err
		}
		has, trail, err := parts(record, calls.String)
		if err != nil {
			return err
		}
		if r.sees(has, trail) {
			out = append(out, id)
		}
		if len(out) == most {
			return errPageFull
		}
		return nil
	})
	if errors.Is(err, errPageFull) {
		err = nil
	}
	return out, err
}

// cannotStartID reports whether no run's id has such a beginning: they are UUIDs.
func cannotStartID(s string) bool { return len(s) > 36 || strings.Trim(s, "0123456789abcdef-") != "" }

// report makes the object of a row's parts, nil if the reader may not see it. It lists no calls where calls is nil.
func report(run, record string, calls *string, code sql.NullString, r Reader, undone map[string]undoing) ([]byte, error) {
	var made string
	if calls != nil {
		made = *calls
	}
	has, trail, err := parts(record, made)
	if err != nil || !r.sees(has, trail) {
		return nil, err
	}
	r.maskChanges(has)
	subject, _ := has["subject"].(string)
	trail = r.maskCalls(r.owns(subject), trail)
	o := members{}
	o.add("id", run)
	if has["language"] == nil && code.Valid {
		has["language"] = unnamedLanguage
	}
	for _, m := range runMembers {
		o.add(m.name, m.value(has[m.name]))
	}
	o.add("emitted", member{as: asInteger}.value(has["emitted"])) // no column of the views, which stay as they were made
	o.add("undo_of", has["undoes"])
	if by, ok := undone[run]; ok {
		o.add("undone_by", by.run)
		o.add("undone_partly", by.partly)
	}
	approval := has["approval"]
	if approval == nil {
		approval = journal.NotRequired
	}
	o.add("approval", approval)
	if code.Valid {
		o.add("code", code.String)
	}
	if calls == nil {
		return o.object(), nil
	}
	list := make([]json.RawMessage, len(trail))
	for i, c := range trail {
		one := members{}
		for k, m := range callMembers {
			if k < len(c) && m.name != "" {
				one.add(m.name, m.value(c[k]))
			}
		}
		list[i] = one.object()
	}
	o.add("calls", list)
	return o.object(), nil
}

func decode(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("a record of the journal cannot be read: %w", err)
	}
	return nil
}

// value is what the member's column has for a value of the JSON, nil for none.
func (m member) value(v any) any {
	switch m.as {
	case asText:
		if v == nil {
			return ""
		}
	case asInteger:
		if v == nil {
			return 0
		}
	case asBoolean:
		return v == json.Number("1")
	case asNullable:
		if v == "" {
			return nil
		}
	case asMoment:
		text, _ := v.(string)
		if at, err := time.Parse(timeText, text); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	case asFloat, asOptionalInteger, asDocument:
	}
	return v
}

// members is a JSON object in the making, whose members keep their order.
type members struct{ b bytes.Buffer }

// add leaves out what is nothing.
func (o *members) add(column string, v any) {
	if v == nil {
		return
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return // what came from JSON is JSON
	}
	if o.b.Len() > 0 {
		o.b.WriteByte(',')
	}
	fmt.Fprintf(&o.b, "%q:%s", catalog.Camel(column), raw)
}

func (o *members) object() []byte { return []byte("{" + o.b.String() + "}") }
