package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/journal"
)

// recent is how many of the latest runs Recent looks at: finding somebody's runs
// must not read all of the journal.
const recent = 1000

// Report returns what is kept of one run: a JSON object with the fields that
// entities/internal/ledger/records declares for a run, and its calls under "calls". subject
// narrows it to the runs of one caller, "" is everybody's; knows says which entities
// the reader may know of, the names of others are left out. It is nil where there is
// none.
func (j *Journal) Report(ctx context.Context, run, subject string, knows func(entity string) bool) (out []byte, err error) {
	if cannotStartID(run) {
		return nil, nil
	}
	b := j.statement("SELECT CAST(record AS text), CAST(calls AS text), code FROM koan_journal WHERE id = ").Arg(run)
	err = j.each(ctx, b, func(rows *sql.Rows) error {
		var record string
		var calls, code sql.NullString
		if err := rows.Scan(&record, &calls, &code); err != nil {
			return err
		}
		out, err = report(run, subject, record, calls.String, code, knows)
		return err
	})
	return out, err
}

// Recent returns those ids of the latest runs that begin with what is typed, the latest
// first, at most as many as asked for; of one caller, or of everybody with "".
func (j *Journal) Recent(ctx context.Context, typed, subject string, most int) (out []string, err error) {
	if cannotStartID(typed) {
		return nil, nil
	}
	b := j.statement("SELECT id FROM (SELECT id, record ->> 'subject' AS subject FROM koan_journal ORDER BY id DESC LIMIT ").Arg(recent)
	b.Raw(") AS latest WHERE id LIKE ").Arg(typed + "%")
	if subject != "" {
		b.Raw(" AND subject = ").Arg(subject)
	}
	err = j.each(ctx, b.Raw(" ORDER BY id DESC LIMIT ").Arg(most), func(rows *sql.Rows) error {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		out = append(out, id)
		return nil
	})
	return out, err
}

// cannotStartID reports whether no run's id has such a beginning: they are UUIDs.
func cannotStartID(s string) bool { return len(s) > 36 || strings.Trim(s, "0123456789abcdef-") != "" }

// report makes the object of a row's parts, nil if it is not the subject's.
func report(run, subject, record, calls string, code sql.NullString, knows func(entity string) bool) ([]byte, error) {
	var has map[string]any
	if err := decode(record, &has); err != nil {
		return nil, err
	}
	if by, _ := has["subject"].(string); subject != "" && by != subject {
		return nil, nil
	}
	changes, _ := has["changes"].([]any)
	for _, c := range changes {
		if count, ok := c.(map[string]any); ok {
			if entity, _ := count["entity"].(string); !knows(entity) {
				count["entity"] = ""
			}
		}
	}
	var trail [][]any
	if calls != "" {
		if err := decode(calls, &trail); err != nil {
			return nil, err
		}
	}
	o := members{}
	o.add("id", run)
	for _, m := range runMembers {
		o.add(m.name, m.value(has[m.name]))
	}
	o.add("emitted", member{as: asInteger}.value(has["emitted"])) // no column of the views, which stay as they were made
	approval := has["approval"]
	if approval == nil {
		approval = journal.NotRequired
	}
	o.add("approval", approval)
	if code.Valid {
		o.add("code", code.String)
	}
	list := make([]json.RawMessage, len(trail))
	for i, c := range trail {
		one := members{}
		for k, m := range callMembers {
			if k < len(c) {
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
