package sqltext

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/database/words"
	"github.com/koan-go/koan/framework/database/zone"
)

// PostgreSQL is the dialect of PostgreSQL, as ent and pgx use it.
type PostgreSQL struct {
	// Folds says that sets have fold.Function.
	Folds bool
	postgresIndexes
	postgresJSON
	postgresTimes
}

type (
	postgresIndexes struct{} // word indexes
	postgresJSON    struct{} // columns of JSON
	postgresTimes   struct{} // times and days
)

var _ Dialect = PostgreSQL{}

// Name implements Dialect.
func (PostgreSQL) Name() string { return "postgres" }

// Placeholder implements Dialect.
func (PostgreSQL) Placeholder(b []byte, n int) []byte {
	return appendInt(append(b, '$'), n)
}

// Typed implements Dialect. The type of a parameter is that of the column that it
// is compared with, and a number that a smaller column cannot hold would be an
// error instead of being greater.
func (PostgreSQL) Typed(b []byte, v any) []byte {
	switch v.(type) {
	case int, int8, int16, int32, int64, uint8, uint16, uint32:
		return append(b, "::bigint"...)
	}
	return b
}

// Time implements Dialect. The server keeps microseconds, rounding none up.
func (postgresTimes) Time(t time.Time) any { return t.UTC() }

// Days implements Dialect: a DATE has one value for a day.
func (postgresTimes) Days(day time.Time) (first, last any) { return day, day }

// DayText implements Dialect.
func (postgresTimes) DayText() (before, after string) { return "", "" }

// TimeText implements Dialect: the driver returns times as they are.
func (postgresTimes) TimeText() (before, after string) { return "", "" }

// TimesAreTexts implements Dialect.
func (postgresTimes) TimesAreTexts() bool { return false }

// Position implements Dialect.
func (PostgreSQL) Position() (before, between, after string) { return "strpos(", ",", ")" }

// Suffix implements Dialect.
func (PostgreSQL) Suffix() (before, between, after string) { return "right(", ",length(", "))" }

// Numeric implements Dialect.
func (PostgreSQL) Numeric() (before, after string) { return "CAST(", " AS numeric)" }

// BareColumn implements Dialect.
func (PostgreSQL) BareColumn() string { return "" }

// Native implements Dialect.
func (PostgreSQL) Native(typ string) (before, after string) { return "CAST(", " AS " + typ + ")" }

var postgresBuckets = map[Unit][]string{
	Day:   postgresBucket("day"),
	Week:  postgresBucket("week"),
	Month: postgresBucket("month"),
	Year:  postgresBucket("year"),
}

// instant makes what is cast a point in time: a column of a database that exists may be a timestamp without a zone,
// which is of the session's.
const instant = " AS timestamptz)"

func postgresBucket(unit string) []string {
	return []string{"date_trunc('" + unit + "',CAST(", instant + " AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"}
}

// DayBucket implements Dialect. A DATE itself would be cut in the session's time zone.
func (postgresTimes) DayBucket(u Unit) []string {
	return []string{"CAST(date_trunc('" + string(u) + "',CAST(", " AS timestamp)) AS date)"}
}

// Bucket implements Dialect. Of a midnight that comes twice, when clocks go back over it, PostgreSQL takes the
// second: the first is an hour earlier, on the same date.
func (postgresTimes) Bucket(u Unit, in string) []string {
	if in == zone.UTC {
		return postgresBuckets[u]
	}
	local := " AT TIME ZONE '" + in + "'"
	trunc := "date_trunc('" + string(u) + "',"
	date, end := trunc+"CAST(", instant+local+")"
	earlier := end + local + "-interval '1 hour'"
	return []string{
		"CASE WHEN " + trunc + "(" + date, earlier + ")" + local + ")=" + date, end + " THEN " + date, earlier + " ELSE " + date, end + local + " END",
	}
}

// postgresComputed takes zeros away: decimals are computed exactly.
var postgresComputed = []string{"trim_scale(", ")"}

// Computed implements Dialect.
func (PostgreSQL) Computed() []string { return postgresComputed }

// Integers implements Dialect: they are summed as numerics, and read as integers.
func (PostgreSQL) Integers() []string { return []string{"sum(", ")"} }

// Bound implements Dialect: what is not an integer ends the statement.
func (PostgreSQL) Bound(b *Builder, value func(*Builder), binary bool, most int, mark string) {
	length := func() {
		b.Raw("octet_length(")
		value(b)
		if !binary {
			b.Raw("::text")
		}
		b.Raw(")")
	}
	b.Raw("CASE WHEN ")
	length()
	b.Raw(">" + strconv.Itoa(most) + " THEN CAST('" + mark + "'||")
	length()
	b.Raw(" AS integer) ELSE 0 END")
}

// NullsFirst implements Dialect.
func (PostgreSQL) NullsFirst() bool { return false }

// Word implements Dialect.
func (d PostgreSQL) Word(b *Builder, text func(*Builder), word string, m WordMatch, as fold.Form) {
	if !d.Folds && as == fold.Case { // the expression is too long for each word of a search
		text(b)
		b.Raw(" ~ ").Arg(regular(word, m))
		return
	}
	d.Folded(b, text, as)
	b.Raw(" ~ ").Arg(regular(as.Text(word), m))
}

// Score implements Dialect: PostgreSQL has no such function.
func (PostgreSQL) Score(*Builder, []func(*Builder), []string) bool { return false }

// regular is the regular expression for a word in a text. It names both cases of
// each letter, so that the server's locale does not decide about them.
func regular(word string, m WordMatch) string {
	const other = "[^A-Z" + words.Letters + "]"
	var p strings.Builder
	first, _ := utf8.DecodeRuneInString(word)
	last, _ := utf8.DecodeLastRuneInString(word)
	switch {
	case m == WordEntire:
		p.WriteByte('^')
	case words.Letter(first):
		p.WriteString("(?:^|" + other + ")")
	}
	for _, r := range word {
		low, up := unicode.ToLower(r), unicode.ToUpper(r)
		switch {
		case low != up:
			p.WriteString("[" + string(low) + string(up) + string(r) + "]")
		case r < utf8.RuneSelf && !words.Letter(r):
			p.WriteString(`\` + string(r))
		default:
			p.WriteRune(r)
		}
	}
	switch {
	case m == WordEntire:
		p.WriteByte('$')
	case m == WordWhole && words.Letter(last):
		p.WriteString("(?:$|" + other + ")")
	}
	return p.String()
}

// look appends what stands at a path, null where nothing does: a label leads
// nowhere in an array, an index nowhere in an object.
func look(b *Builder, column func(*Builder), path []Step) {
	if slices.ContainsFunc(path, func(s Step) bool { return s.Label == "" }) {
		// The operator for an index takes a scalar for an array that has it.
		b.Raw("jsonb_path_query_first(")
		column(b)
		b.Raw("::jsonb,").Arg(jsonpath(path)).Raw("::jsonpath,'{}',true)")
		return
	}
	b.Raw("(")
	column(b)
	b.Raw("::jsonb")
	for _, s := range path {
		b.Raw("->").Arg(s.Label).Raw("::text")
	}
	b.Raw(")")
}

// jsonpath is a path in which nothing stands for something else.
func jsonpath(path []Step) string {
	p := []byte("strict $")
	for _, s := range path {
		if s.Label == "" {
			p = append(appendInt(append(p, '['), s.Index), ']')
			continue
		}
		p = append(append(append(p, '.', '"'), s.Label...), '"')
	}
	return string(p)
}

// JSON implements Looker.
func (postgresJSON) JSON(b *Builder, column func(*Builder), path []Step, as JSONType) {
	b.Raw("CASE jsonb_typeof(")
	look(b, column, path)
	b.Raw(")")
	switch as {
	case JSONText:
		b.Raw(" WHEN 'string' THEN ")
		look(b, column, path)
		b.Raw("#>>'{}'")
	case JSONNumber:
		b.Raw(" WHEN 'number' THEN ")
		look(b, column, path)
		b.Raw("::numeric")
	case JSONBool:
		b.Raw(" WHEN 'boolean' THEN ")
		look(b, column, path)
		b.Raw("::boolean")
	case JSONLength:
		b.Raw(" WHEN 'array' THEN jsonb_array_length(")
		look(b, column, path)
		b.Raw(")")
	}
	b.Raw(" END")
}

// JSONHas implements Looker.
func (postgresJSON) JSONHas(b *Builder, column func(*Builder), path []Step, v any, as JSONType) {
	b.Raw("(CASE jsonb_typeof(")
	look(b, column, path)
	b.Raw(") WHEN 'array' THEN ")
	look(b, column, path)
	b.Raw("@>")
	switch as {
	case JSONText:
		b.Raw("to_jsonb(").Arg(v).Raw("::text)")
	case JSONBool:
		b.Raw("to_jsonb(").Arg(v).Raw("::boolean)")
	case JSONNumber, JSONLength:
		b.Raw("to_jsonb(").Arg(v).Raw("::numeric)")
	}
	b.Raw(" ELSE false END)")
}

// JSONNull implements Looker.
func (postgresJSON) JSONNull(b *Builder, column func(*Builder), path []Step) {
	if len(path) == 0 { // of a column that may hold anything
		b.Raw("(coalesce(to_jsonb(")
		column(b)
		b.Raw("),'null')='null')")
		return
	}
	b.Raw("(coalesce(jsonb_typeof(")
	look(b, column, path)
	b.Raw("),'null')='null')")
}
