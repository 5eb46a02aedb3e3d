package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/journal"
)

// journalRow is a run as it is kept.
type journalRow struct {
	id     string
	record string // an object by the names of the view's columns
	calls  string // a list of lists, in the order of the view's columns; "" for none
	code   string
	images []byte // packed; nil for none
}

// How much a row takes: its texts, and about this for its place in table and index.
const (
	rowBytes = 120
	rowSize  = "120 + OCTET_LENGTH(CAST(record AS TEXT)) + COALESCE(OCTET_LENGTH(CAST(calls AS TEXT)), 0) + COALESCE(OCTET_LENGTH(code), 0) + COALESCE(OCTET_LENGTH(images), 0)"
)

func (r journalRow) size() int64 {
	return int64(rowBytes + len(r.record) + len(r.calls) + len(r.code) + len(r.images))
}

// journalRows are records as they are kept, and how much they take. Of several of
// one run the last counts: it was gone on with.
func journalRows(records []journal.Record, sealing Sealing) (rows []journalRow, bytes int64) {
	last := make(map[string]int, len(records))
	for i := range records {
		last[records[i].Run] = i
	}
	rows = make([]journalRow, 0, len(last))
	var b []byte
	for i := range records {
		r := &records[i]
		if last[r.Run] != i {
			continue
		}
		row := journalRow{id: r.Run, code: storable(r.Code), images: packImages(r, sealing)}
		b = appendRecord(b[:0], r)
		row.record = string(b)
		if len(r.Trail) > 0 {
			b = appendCalls(b[:0], r.Trail)
			row.calls = string(b)
		}
		rows, bytes = append(rows, row), bytes+row.size()
	}
	return rows, bytes
}

// keeping leaves a run that stands there already as it is.
const keeping = " ON CONFLICT (id) DO NOTHING"

// completionClause replaces one that was repaired, or gone on with under its key or with its
// plan. The record of when it began last counts, whichever process writes first.
func (j *Journal) completionClause() string {
	bytes := ` COLLATE "C"`
	if j.dialect.Name() == dialect.SQLite {
		bytes = ""
	}
	return " ON CONFLICT (id) DO UPDATE SET record = EXCLUDED.record, calls = EXCLUDED.calls, code = EXCLUDED.code, images = EXCLUDED.images WHERE (koan_journal.record ->> 'started')" + bytes +
		" <= (EXCLUDED.record ->> 'started')" + bytes
}

// maxRows is how many rows a statement takes at most.
const maxRows = 256

// insert keeps rows, in pieces whose lengths are powers of two, so that there are
// few statements to prepare.
func (j *Journal) insert(ctx context.Context, tx *sql.Tx, rows []journalRow, ending string) error {
	for len(rows) > 0 {
		n := maxRows
		for n > len(rows) {
			n /= 2
		}
		if _, err := exec(ctx, tx, j.insertion(rows[:n]).Raw(ending)); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func (j *Journal) insertion(rows []journalRow) *sqltext.Builder {
	b := j.statement("INSERT INTO koan_journal (id, record, calls, code, images) VALUES ")
	for i, r := range rows {
		if i > 0 {
			b.Raw(",")
		}
		b.Raw("(").Arg(r.id).Raw(",").Arg(r.record).Raw(",").Arg(optional(r.calls)).Raw(",").Arg(optional(r.code)).Raw(",").Arg(optionalBytes(r.images)).Raw(")")
	}
	return b
}

// optional is null for an empty text.
func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func optionalBytes(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// timeText is how SQLite's driver writes times, and PostgreSQL reads them.
const timeText = "2006-01-02 15:04:05.999999999-07:00"

// object appends the members of a JSON object; what is empty is left out.
type object struct{ b []byte }

func (o *object) key(name string) {
	if len(o.b) > 0 && o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), name...), '"', ':')
}

func (o *object) text(name, value string) {
	if value != "" {
		o.key(name)
		o.b = appendText(o.b, value)
	}
}

func (o *object) number(name string, value int) {
	if value != 0 {
		o.key(name)
		o.b = strconv.AppendInt(o.b, int64(value), 10)
	}
}

func (o *object) list(name string, values []string) {
	if len(values) == 0 {
		return
	}
	o.key(name)
	o.b = append(o.b, '[')
	for i, v := range values {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = appendText(o.b, v)
	}
	o.b = append(o.b, ']')
}

func (o *object) flag(name string, value bool) {
	if value {
		o.key(name)
		o.b = append(o.b, '1')
	}
}

func appendRecord(b []byte, r *journal.Record) []byte {
	o := &object{append(b, '{')}
	o.key("started")
	o.b = append(r.Started.UTC().Truncate(time.Millisecond).AppendFormat(append(o.b, '"'), timeText), '"')
	o.key("duration_ms")
	o.b = appendMilliseconds(o.b, r.Duration)
	o.text("surface", r.Surface)
	o.text("subject", r.Subject)
	o.text("tool", r.Tool)
	o.text("operation", r.Operation)
	o.text("set", r.Set)
	o.text("outcome", r.Outcome)
	o.text("message", r.Message)
	o.number("line", r.Line)
	o.flag("committed", r.Committed)
	o.flag("dry_run", r.DryRun)
	o.flag("atomic", r.Atomic)
	o.number("attempts", r.Attempts)
	o.number("call_count", r.Calls)
	o.number("outside_count", r.Outside)
	o.number("emitted", r.Emitted)
	o.number("created", r.Created)
	o.number("updated", r.Updated)
	o.number("deleted", r.Deleted)
	if len(r.Changes) > 0 {
		o.key("changes")
		o.b = appendChanges(o.b, r.Changes)
	}
	o.list("sets", r.Sets)
	o.text("undoes", r.Undoes)
	o.number("left", r.Left)
	o.text("changes_digest", r.ChangesDigest)
	o.text("code_digest", r.CodeDigest)
	o.text("input_digest", r.InputDigest)
	o.number("result_bytes", r.ResultBytes)
	if r.Approval.State != journal.NotRequired {
		o.text("approval", r.Approval.State)
	}
	o.text("plan_id", r.Approval.Plan)
	o.text("approved_by", r.Approval.By)
	o.number("redactions", r.Redactions)
	o.text("correlation_id", r.CorrelationID)
	o.text("trace_id", r.Trace)
	o.flag("keyed", r.Keyed)
	o.text("repeat_of", r.RepeatOf)
	o.text("runtime", r.Runtime)
	o.text("language", r.Language)
	o.text("catalog_version", r.CatalogVersion)
	o.text("tool_version", r.ToolVersion)
	o.flag("repaired", r.Repaired)
	o.number("lost", r.Lost)
	return append(o.b, '}')
}

func appendChanges(b []byte, changes []journal.Count) []byte {
	b = append(b, '[')
	for i, c := range changes {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, `{"entity":`...), c.Entity)
		b = appendText(append(b, `,"set":`...), c.Set)
		b = strconv.AppendInt(append(b, `,"created":`...), int64(c.Created), 10)
		b = strconv.AppendInt(append(b, `,"updated":`...), int64(c.Updated), 10)
		b = append(strconv.AppendInt(append(b, `,"deleted":`...), int64(c.Deleted), 10), '}')
	}
	return append(b, ']')
}

func appendCalls(b []byte, calls []journal.Call) []byte {
	b = append(b, '[')
	for i := range calls {
		c := &calls[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		for _, text := range [...]string{c.Position, c.Tool, c.Operation, c.Entity, c.Set, c.Outcome, c.InputDigest} {
			b = append(appendText(b, text), ',')
		}
		b = append(appendMilliseconds(b, c.Started), ',')
		b = append(appendMilliseconds(b, c.Duration), ',')
		b = append(strconv.AppendInt(b, int64(c.OutputBytes), 10), ',')
		b = append(appendBit(b, c.Outside), ',')
		b = append(appendBit(b, c.App), ',')
		b = append(appendText(b, c.Build), ']')
	}
	return append(b, ']')
}

func appendBit(b []byte, v bool) []byte {
	if v {
		return append(b, '1')
	}
	return append(b, '0')
}

// appendMilliseconds has microseconds behind the point.
func appendMilliseconds(b []byte, d time.Duration) []byte {
	us := d.Microseconds()
	if us < 0 {
		us = 0
	}
	b = append(strconv.AppendInt(b, us/1000, 10), '.')
	rest := us % 1000
	return append(b, byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// appendText appends a JSON string that databases take.
func appendText(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			raw, _ := json.Marshal(storable(s)) // strings have JSON
			return append(b, raw...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// storable is a text that a database takes: PostgreSQL refuses NUL, and both what is
// no UTF-8.
func storable(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}

// member is a column of a view: how it is made of JSON.
type member struct {
	name string
	as   missingAs
}

// missingAs is what a column has: null, nothing, zero or false where a member is missing.
type missingAs int

const (
	asNullable missingAs = iota
	asText
	asInteger
	asFloat
	asBoolean
	asMoment
	asOptionalInteger
	asDocument
)

var runMembers = []member{
	{"started", asMoment},
	{"duration_ms", asFloat},
	{"surface", asText},
	{"subject", asText},
	{"tool", asText},
	{"operation", asText},
	{"set", asText},
	{"outcome", asText},
	{"message", asNullable},
	{"line", asOptionalInteger},
	{"committed", asBoolean},
	{"dry_run", asBoolean},
	{"atomic", asBoolean},
	{"attempts", asInteger},
	{"call_count", asInteger},
	{"outside_count", asInteger},
	{"created", asInteger},
	{"updated", asInteger},
	{"deleted", asInteger},
	{"changes", asDocument},
	{"changes_digest", asNullable},
	{"code_digest", asNullable},
	{"input_digest", asNullable},
	{"result_bytes", asInteger},
	{"plan_id", asNullable},
	{"approved_by", asNullable},
	{"redactions", asInteger},
	{"correlation_id", asNullable},
	{"trace_id", asText},
	{"keyed", asBoolean},
	{"repeat_of", asNullable},
	{"runtime", asNullable},
	{"language", asNullable},
	{"catalog_version", asText},
	{"tool_version", asText},
	{"repaired", asBoolean},
	{"lost", asInteger},
}

// unnamedLanguage is that of a script whose record names none, as those of earlier versions.
const unnamedLanguage = "javascript"

// callMembers are the members of a call in the order in which it has them; one without a name is for no reader.
var callMembers = []member{
	{"position", asText},
	{"tool", asText},
	{"operation", asText},
	{"entity", asNullable},
	{"set", asNullable},
	{"outcome", asText},
	{"input_digest", asText},
	{"started_ms", asFloat},
	{"duration_ms", asFloat},
	{"output_bytes", asInteger},
	{"outside", asBoolean},
	{"", asBoolean}, // callApp
	{"build", asNullable},
}

// journalViews make the views for readers. What has a view that an earlier version made, with other columns, has
// another name: servers of both versions may share the tables.
func journalViews(d sqltext.Dialect) []string {
	lite := d.Name() == dialect.SQLite
	runs, calls := "SELECT id, code", ""
	for _, m := range append(runMembers, member{"approval", asText}) {
		expr := m.of(lite, "record", "'"+m.name+"'", "'$."+m.name+"'")
		switch m.name {
		case "approval":
			expr = "COALESCE(NULLIF(" + expr + ", ''), '" + journal.NotRequired + "')"
		case "language":
			expr = "COALESCE(" + expr + ", CASE WHEN code IS NOT NULL THEN '" + unnamedLanguage + "' END)"
		}
		runs += ", " + expr + ` AS "` + m.name + `"`
	}
	runs += " FROM koan_journal"
	for i, m := range callMembers {
		if m.name == "" {
			continue
		}
		n := strconv.Itoa(i)
		calls += ", " + m.of(lite, "c.value", n, "'$["+n+"]'") + ` AS "` + m.name + `"`
	}
	if lite {
		calls = "SELECT j.id || ':' || (c.value ->> '$[0]') AS id, j.id AS run_id, c.key + 1 AS sequence" + calls + " FROM koan_journal j, json_each(j.calls) c"
		return []string{"CREATE VIEW IF NOT EXISTS koan_journal_runs AS " + runs, "CREATE VIEW IF NOT EXISTS koan_run_calls AS " + calls}
	}
	calls = "SELECT j.id || ':' || (c.value ->> 0) AS id, j.id AS run_id, c.key AS sequence" + calls +
		" FROM koan_journal j CROSS JOIN LATERAL jsonb_array_elements(j.calls) WITH ORDINALITY AS c(value, key)"
	once := func(name, query string) string {
		return "DO $koan$ BEGIN IF to_regclass('" + name + "') IS NULL THEN CREATE VIEW " + name + " AS " + query + "; END IF; END $koan$"
	}
	return []string{once("koan_journal_runs", runs), once("koan_run_calls", calls)}
}

// of is the column as an expression over JSON.
func (m member) of(lite bool, from, key, path string) string {
	if lite {
		value := from + " ->> " + path
		switch m.as {
		case asText:
			return "COALESCE(" + value + ", '')"
		case asInteger, asBoolean:
			return "COALESCE(" + value + ", 0)"
		case asNullable:
			return "NULLIF(" + value + ", '')"
		case asDocument:
			return from + " -> " + path
		case asFloat, asMoment, asOptionalInteger:
		}
		return value
	}
	value := "(" + from + " ->> " + key + ")"
	switch m.as {
	case asText:
		return "COALESCE(" + value + ", '')"
	case asInteger:
		return "COALESCE(" + value + "::bigint, 0)"
	case asOptionalInteger:
		return value + "::bigint"
	case asBoolean:
		return "COALESCE(" + value + " = '1', false)"
	case asNullable:
		return "NULLIF(" + value + ", '')"
	case asFloat:
		return value + "::double precision"
	case asMoment:
		return value + "::timestamptz"
	case asDocument:
	}
	return "(" + from + " -> " + key + ")"
}
