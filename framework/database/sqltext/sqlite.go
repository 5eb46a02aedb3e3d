package sqltext

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/database/words"
	"github.com/koan-go/koan/framework/database/zone"
)

// SQLite is the dialect of SQLite, as ent and mattn/go-sqlite3 use it.
type SQLite struct {
	// Folds says that connections have fold.Function, words.Function and zone.Function.
	Folds bool
	sqliteIndexes
	sqliteJSON
	sqliteTimes
}

type (
	sqliteIndexes struct{} // word indexes
	sqliteJSON    struct{} // columns of JSON
	sqliteTimes   struct{} // times and days
)

var _ Dialect = SQLite{}

// CallFunctions is a query that calls the functions of SQLite.Folds: it fails on connections that lack one.
const CallFunctions = "SELECT " + fold.Function + "('')," + fold.BareFunction + "('')," + words.Function + "('','')," + zone.Function + "('2000-01-01 00:00:00','day','UTC')"

// SQLiteTime is the layout in which mattn/go-sqlite3 keeps times. In UTC, texts
// of this layout order as their moments do: "+" sorts before "." and digits.
const SQLiteTime = "2006-01-02 15:04:05.999999999-07:00"

// Name implements Dialect.
func (SQLite) Name() string { return "sqlite3" }

// Placeholder implements Dialect.
func (SQLite) Placeholder(b []byte, _ int) []byte { return append(b, '?') }

// Typed implements Dialect.
func (SQLite) Typed(b []byte, _ any) []byte { return b }

// TimesAreTexts implements Dialect.
func (sqliteTimes) TimesAreTexts() bool { return true }

// Time implements Dialect: the text that the driver would have stored, in UTC.
func (sqliteTimes) Time(t time.Time) any { return t.UTC().Format(SQLiteTime) }

// TimeText implements Dialect. The concatenation takes the declared type away,
// so that the driver does not parse the text into a time.
func (sqliteTimes) TimeText() (before, after string) { return "", "||''" }

// Days implements Dialect. A day may be kept as itself or, as ent's builders do, as its
// midnight; no character of what follows the day sorts behind "~".
func (sqliteTimes) Days(day time.Time) (first, last any) {
	text := day.Format(time.DateOnly)
	return text, text + "~"
}

// DayText implements Dialect.
func (sqliteTimes) DayText() (before, after string) { return "substr(", ",1,10)" }

// Prefixed implements Dialect: the order of bytes in UTF-8, in which the files that Koan makes keep
// texts, is that of characters. In other files texts may be UTF-16, and columns hold anything.
func (SQLite) Prefixed(b *Builder, text func(*Builder), prefix string) {
	if !b.Indexed {
		return
	}
	text(b)
	b.Raw(" COLLATE BINARY>=").Arg(prefix).Raw(" AND ")
	if end := afterPrefix(prefix); end != "" {
		text(b)
		b.Raw(" COLLATE BINARY<").Arg(end).Raw(" AND ")
	}
}

// afterPrefix returns the first text behind all that begin with a prefix, "" where there is none.
func afterPrefix(prefix string) string {
	runes := []rune(prefix)
	for len(runes) > 0 {
		last := &runes[len(runes)-1]
		if *last < utf8.MaxRune {
			if *last++; *last == 0xD800 { // no text has surrogates
				*last = 0xE000
			}
			return string(runes)
		}
		runes = runes[:len(runes)-1]
	}
	return ""
}

// Position implements Dialect.
func (SQLite) Position() (before, between, after string) { return "instr(", ",", ")" }

// Suffix implements Dialect.
func (SQLite) Suffix() (before, between, after string) { return "substr(", ",-length(", "))" }

// Numeric implements Dialect.
func (SQLite) Numeric() (before, after string) { return "CAST(", " AS NUMERIC)" }

// BareColumn implements Dialect.
func (SQLite) BareColumn() string { return "+" }

// Native implements Dialect.
func (SQLite) Native(string) (before, after string) { return "", "" }

// sqliteBuckets are the pieces of Bucket. Times that the engine's own stores keep
// are cut as the texts that they are; only others take reckoning.
var sqliteBuckets = map[Unit][]string{
	Day:   sqliteBucket("", "", 10, ""),
	Week:  sqliteBucket("date(", ",'weekday 0','-6 days')", 10, ""),
	Month: sqliteBucket("", "", 7, "-01"),
	Year:  sqliteBucket("", "", 4, "-01-01"),
}

func sqliteBucket(before, after string, length int, rest string) []string {
	n := strconv.Itoa(length)
	return []string{
		before + "CASE WHEN substr(", ",-6)='+00:00' THEN substr(", ",1," + n + ") ELSE substr(strftime('%Y-%m-%d',",
		"),1," + n + ") END" + after + "||'" + rest + " 00:00:00+00:00'",
	}
}

// sqliteComputed are the pieces of Computed: 15 digits are true. Integers are
// exact, and infinity is not a decimal.
var sqliteComputed = []string{
	"CASE WHEN typeof(", ")='integer' THEN ", " WHEN abs(", ")<1e300 THEN CAST(printf('%.15g',", ") AS NUMERIC) END",
}

// sqliteIntegers are the pieces of Integers. SQLite's own sum ends where it passes
// 2^63 on the way, however it goes on. So the halves of 32 bits are summed apart, and
// put together where the upper one has room for what the lower one carries. What has
// no room ends the statement: abs has no such number.
var sqliteIntegers = func() []string {
	upper, lower := "sum(?>>32)", "sum(?&4294967295)"
	carried := upper + "+(" + lower + ">>32)"
	return strings.Split("CASE WHEN "+carried+" BETWEEN -2147483648 AND 2147483647 THEN (("+carried+")<<32)|("+lower+"&4294967295)"+
		" WHEN "+upper+" IS NOT NULL THEN abs(("+upper+"&0)-9223372036854775807-1) END", "?")
}()

// Integers implements Dialect.
func (SQLite) Integers() []string { return sqliteIntegers }

// Computed implements Dialect.
func (SQLite) Computed() []string { return sqliteComputed }

// Bucket implements Dialect.
func (d SQLite) Bucket(u Unit, in string) []string {
	switch {
	case in == zone.UTC:
		return sqliteBuckets[u]
	case !d.Folds: // nor has zone.Function
		return nil
	}
	return []string{
		zone.Function + "(CASE WHEN substr(", ",-6)='+00:00' THEN substr(", ",1,19) ELSE strftime('%Y-%m-%d %H:%M:%S',", ") END,'" + string(u) + "','" + in + "')",
	}
}

// sqliteDayBuckets are the pieces of DayBucket.
var sqliteDayBuckets = map[Unit][]string{
	Day:   {"", ""},
	Week:  {"date(", ",'weekday 0','-6 days')"},
	Month: {"substr(", ",1,7)||'-01'"},
	Year:  {"substr(", ",1,4)||'-01-01'"},
}

// DayBucket implements Dialect.
func (sqliteTimes) DayBucket(u Unit) []string { return sqliteDayBuckets[u] }

// Bound implements Dialect. The length stands in the header of a row, so that the value
// is not read; what is not a JSON path ends the statement.
func (SQLite) Bound(b *Builder, value func(*Builder), _ bool, most int, mark string) {
	b.Raw("CASE WHEN octet_length(")
	value(b)
	b.Raw(")>" + strconv.Itoa(most) + " THEN json_extract('{}','" + mark + "'||octet_length(")
	value(b)
	b.Raw(")) ELSE 0 END")
}

// NullsFirst implements Dialect.
func (SQLite) NullsFirst() bool { return true }

// Word implements Dialect.
func (d SQLite) Word(b *Builder, text func(*Builder), word string, m WordMatch, as fold.Form) {
	if d.Folds {
		word = as.Text(word)
	}
	b.Raw("' '||")
	d.Folded(b, text, as)
	b.Raw("||' ' GLOB ").Arg(glob(word, m))
}

// sqliteMaxArguments is how many arguments a function has at most.
const sqliteMaxArguments = 127

// Score implements Dialect.
func (d SQLite) Score(b *Builder, texts []func(*Builder), find []string) bool {
	if !d.Folds || len(texts) >= sqliteMaxArguments {
		return false
	}
	b.Raw(words.Function + "(").Arg(fold.Text(strings.Join(find, " ")))
	for _, text := range texts {
		b.Raw(",CAST(")
		text(b)
		b.Raw(" AS TEXT)")
	}
	b.Raw(")")
	return true
}

// document appends the text of a column that holds JSON, null for what does not.
// ent keeps JSON as a blob, which SQLite might take for its own binary form; and
// its functions end a statement that gives them anything but JSON.
func document(b *Builder, column func(*Builder)) {
	b.Raw("CASE WHEN json_valid(CAST(")
	column(b)
	b.Raw(" AS TEXT)) THEN CAST(")
	column(b)
	b.Raw(" AS TEXT) END")
}

// call appends a function of a document and a path.
func call(b *Builder, function string, column func(*Builder), path string) {
	b.Raw(function).Raw("(")
	document(b, column)
	b.Raw(",").Arg(path).Raw(")")
}

func sqlitePath(steps []Step) string {
	var p strings.Builder
	p.WriteByte('$')
	for _, s := range steps {
		if s.Label == "" {
			p.WriteString("[" + strconv.Itoa(s.Index) + "]")
			continue
		}
		p.WriteString(".\"" + s.Label + "\"")
	}
	return p.String()
}

// JSON implements Dialect.
func (sqliteJSON) JSON(b *Builder, column func(*Builder), steps []Step, as JSONType) {
	path := sqlitePath(steps)
	b.Raw("CASE ")
	call(b, "json_type", column, path)
	switch as {
	case JSONText:
		b.Raw(" WHEN 'text' THEN ")
		call(b, "json_extract", column, path)
	case JSONNumber:
		b.Raw(" WHEN 'integer' THEN ")
		call(b, "json_extract", column, path)
		b.Raw(" WHEN 'real' THEN ")
		call(b, "json_extract", column, path)
	case JSONBool:
		b.Raw(" WHEN 'true' THEN 1 WHEN 'false' THEN 0")
	case JSONLength:
		b.Raw(" WHEN 'array' THEN ")
		call(b, "json_array_length", column, path)
	}
	b.Raw(" END")
}

// JSONHas implements Dialect.
func (sqliteJSON) JSONHas(b *Builder, column func(*Builder), steps []Step, v any, as JSONType) {
	path := sqlitePath(steps)
	b.Raw("(")
	call(b, "json_type", column, path)
	b.Raw("='array' AND EXISTS (SELECT 1 FROM ")
	call(b, "json_each", column, path)
	e := b.NewAlias()
	b.Raw(" AS ").Alias(e).Raw(" WHERE ").Alias(e)
	switch as {
	case JSONText:
		b.Raw(".type='text' AND ").Alias(e).Raw(".value=").Arg(v)
	case JSONBool:
		b.Raw(".type=CASE ").Arg(v).Raw(" WHEN 1 THEN 'true' ELSE 'false' END")
	case JSONNumber, JSONLength:
		b.Raw(".type IN ('integer','real') AND ").Alias(e).Raw(".value=").Arg(v)
	}
	b.Raw("))")
}

// JSONNull implements Dialect.
func (sqliteJSON) JSONNull(b *Builder, column func(*Builder), steps []Step) {
	b.Raw("(")
	if len(steps) == 0 {
		column(b)
		b.Raw(" IS NULL OR coalesce(")
		call(b, "json_type", column, "$")
		b.Raw(",'')='null')")
		return
	}
	b.Raw("coalesce(")
	call(b, "json_type", column, sqlitePath(steps))
	b.Raw(",'null')='null')")
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
