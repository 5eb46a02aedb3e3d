package filter_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/tests/pgtest"
)

var (
	graph = library.Graph()
	books = graph.Entity("Book")
)

func TestWrongFilters(t *testing.T) {
	for _, c := range []struct{ name, input, path, says string }{
		{"no object", `[]`, "/filter", "a filter must be an object"},
		{"no JSON", `{`, "/filter", "not JSON"},
		{"unknown field", `{"titel":"x"}`, "/filter/titel", `did you mean "title"`},
		{"unknown field of a related entity", `{"author":{"nmae":"x"}}`, "/filter/author/nmae", `of Author; did you mean "name"`},
		{"sensitive field", `{"secret":"x"}`, "/filter/secret", "unknown field"},
		{"write-only field", `{"pin":"x"}`, "/filter/pin", "unknown field"},
		{"relationship to what is not exposed", `{"reviews":{"$exists":true}}`, "/filter/reviews", "unknown field"},
		{"unknown operator", `{"title":{"$contain":"x"}}`, "/filter/title/$contain", `did you mean "$contains"`},
		{"operator of another type", `{"pages":{"$contains":"1"}}`, "/filter/pages/$contains", `does not apply to "pages" of type int`},
		{"unknown logic", `{"$ro":[{}]}`, "/filter/$ro", `did you mean "$or"`},
		{"field operator without a field", `{"$eq":1}`, "/filter/$eq", "belongs to a field"},
		{"quantifier without a relationship", `{"$some":{}}`, "/filter/$some", "to-many relationship"},
		{"empty or", `{"$or":[]}`, "/filter/$or", "at least one"},
		{"or of one", `{"$or":{}}`, "/filter/$or", "list"},
		{"or of texts", `{"$or":["x"]}`, "/filter/$or/0", "filter objects"},
		{"not of a list", `{"$not":[]}`, "/filter/$not", "object"},
		{"list without in", `{"title":["a"]}`, "/filter/title", "$in"},
		{"empty condition", `{"title":{}}`, "/filter/title", "operator"},
		{"text for a number", `{"pages":"12 "}`, "/filter/pages", "an integer"},
		{"padded number", `{"pages":"012"}`, "/filter/pages", "an integer"},
		{"text for a float", `{"price":"1.5"}`, "/filter/price", `Number("1.5") is one`},
		{"fraction for an integer", `{"pages":1.5}`, "/filter/pages", "an integer"},
		{"more than an integer holds", `{"pages":1e30}`, "/filter/pages", "an integer"},
		{"nearly an integer", `{"pages":1.00000000000000000001}`, "/filter/pages", "an integer"},
		{"endless fraction", `{"pages":1e-999999999}`, "/filter/pages", "an integer"},
		{"number for a text", `{"title":7}`, "/filter/title", "a string"},
		{"more than a float holds", `{"price":1e999}`, "/filter/price", "a number"},
		{"null where there is none", `{"title":null}`, "/filter/title", "a string"},
		{"null in an order", `{"pages":{"$lt":null}}`, "/filter/pages/$lt", "an integer"},
		{"number for a boolean", `{"inPrint":1}`, "/filter/inPrint", "a boolean"},
		{"wrong enum", `{"genre":"novle"}`, "/filter/genre", `did you mean "novel"`},
		{"date for a time", `{"createdAt":"2026-01-01"}`, "/filter/createdAt", "RFC 3339"},
		{"time without a zone", `{"createdAt":"2026-01-01T00:00:00"}`, "/filter/createdAt", "RFC 3339"},
		{"sloppy time", `{"createdAt":"2026-01-01T1:00:00Z"}`, "/filter/createdAt", "RFC 3339"},
		{"time before all times", `{"createdAt":"0000-01-01T00:00:00Z"}`, "/filter/createdAt", "RFC 3339"},
		{"no such day", `{"createdAt":"2026-02-30T00:00:00Z"}`, "/filter/createdAt", "RFC 3339"},
		{"no UUID", `{"isbn":"x"}`, "/filter/isbn", "a UUID"},
		{"no base64", `{"cover":"*"}`, "/filter/cover", "base64"},
		{"no decimal", `{"cost":"0x1p-2"}`, "/filter/cost", "decimal"},
		{"infinite decimal", `{"cost":"Inf"}`, "/filter/cost", "decimal"},
		{"bare value of JSON", `{"meta":1}`, "/filter/meta", "null only"},
		{"list for a list", `{"keywords":["x"]}`, "/filter/keywords", "$has"},
		{"order of JSON", `{"meta":{"$gt":1}}`, "/filter/meta/$gt", "does not apply"},
		{"number in a list of texts", `{"keywords":{"$has":1}}`, "/filter/keywords/$has", "of type string"},
		{"list in has", `{"keywords":{"$has":["x"]}}`, "/filter/keywords/$has", "a string, number or boolean"},
		{"null in has", `{"meta":{"$has":null}}`, "/filter/meta/$has", "a string, number or boolean"},
		{"NUL in has", `{"meta":{"$has":"a\u0000"}}`, "/filter/meta/$has", "NUL"},
		{"all of one", `{"keywords":{"$all":"x"}}`, "/filter/keywords/$all", "list"},
		{"all wrong", `{"keywords":{"$all":["x",true]}}`, "/filter/keywords/$all/1", "of type string"},
		{"negative size", `{"keywords":{"$size":-1}}`, "/filter/keywords/$size", "from 0"},
		{"size of text", `{"keywords":{"$size":"1"}}`, "/filter/keywords/$size", "from 0"},
		{"has of a text", `{"title":{"$has":"x"}}`, "/filter/title/$has", "does not apply"},
		{"path of text", `{"meta":{"$path":"a"}}`, "/filter/meta/$path", "object of paths"},
		{"no path", `{"meta":{"$path":{}}}`, "/filter/meta/$path", "object of paths"},
		{"wrong path", `{"meta":{"$path":{"a..b":1}}}`, "/filter/meta/$path/a..b", "invalid path"},
		{"path with a quote", `{"meta":{"$path":{"a\"') --":1}}}`, "/filter/meta/$path/a\"') --", "invalid path"},
		{"path too long", `{"meta":{"$path":{"` + strings.Repeat("a.", 16) + `a":1}}}`, "/filter/meta/$path/" + strings.Repeat("a.", 16) + "a", "16 steps"},
		{"operator of a path", `{"meta":{"$path":{"a":{"$contain":"x"}}}}`, "/filter/meta/$path/a/$contain", `did you mean "$contains"`},
		{"empty condition of a path", `{"meta":{"$path":{"a":{}}}}`, "/filter/meta/$path/a", "operator"},
		{"list at a path", `{"meta":{"$path":{"a":[1]}}}`, "/filter/meta/$path/a", "a string, number or boolean"},
		{"order of booleans", `{"meta":{"$path":{"a":{"$lt":true}}}}`, "/filter/meta/$path/a/$lt", "a number or string"},
		{"between of two types", `{"meta":{"$path":{"a":{"$between":[1,"x"]}}}}`, "/filter/meta/$path/a/$between", "two numbers"},
		{"contains a number", `{"meta":{"$path":{"a":{"$contains":1}}}}`, "/filter/meta/$path/a/$contains", "a string"},
		{"text without case is a number", `{"title":{"$ieq":1}}`, "/filter/title/$ieq", "a string"},
		{"text without case is null", `{"blurb":{"$ieq":null}}`, "/filter/blurb/$ieq", "a string"},
		{"number without case", `{"pages":{"$ieq":1}}`, "/filter/pages/$ieq", "does not apply"},
		{"texts without case are one", `{"title":{"$iin":"x"}}`, "/filter/title/$iin", "a list"},
		{"texts without case with null", `{"blurb":{"$iin":["x",null]}}`, "/filter/blurb/$iin/1", "a string"},
		{"texts without case with NUL", `{"title":{"$iin":["a\u0000"]}}`, "/filter/title/$iin/0", "NUL"},
		{"too many texts without case", `{"title":{"$iin":[` + strings.Repeat(`"x",`, 4096) + `"x"]}}`, "/filter/title/$iin", "too many values"},
		{"text without case at a path is a number", `{"meta":{"$path":{"a":{"$ieq":1}}}}`, "/filter/meta/$path/a/$ieq", "$ieq takes a string"},
		{"texts without case at a path with a number", `{"meta":{"$path":{"a":{"$iin":["x",1]}}}}`, "/filter/meta/$path/a/$iin/1", "a list of strings"},
		{"number beyond all", `{"meta":{"$path":{"a":1e999}}}`, "/filter/meta/$path/a", "a string, number or boolean"},
		{"search of a number", `{"$search":1}`, "/filter/$search", "a string of words"},
		{"search too long", `{"$search":"` + strings.Repeat("x", 201) + `"}`, "/filter/$search", "at most 200"},
		{"search where nothing is searchable", `{"author":{"$search":"x"}}`, "/filter/author/$search", "no searchable fields"},
		{"value of JSON", `{"meta":{"$eq":{"a":1}}}`, "/filter/meta/$eq", "null only"},
		{"NUL", `{"title":"a\u0000b"}`, "/filter/title", "NUL"},
		{"letters for a reference", `{"authorId":"x"}`, "/filter/authorId", "integer id"},
		{"padded reference", `{"authorId":"01"}`, "/filter/authorId", "integer id"},
		{"between of one", `{"pages":{"$between":[1]}}`, "/filter/pages/$between", "lowest"},
		{"between wrong", `{"pages":{"$between":[1,"x"]}}`, "/filter/pages/$between/1", "an integer"},
		{"in of one", `{"pages":{"$in":1}}`, "/filter/pages/$in", "list"},
		{"in wrong", `{"pages":{"$in":[1,"x"]}}`, "/filter/pages/$in/1", "an integer"},
		{"null of text", `{"pages":{"$null":"yes"}}`, "/filter/pages/$null", "true or false"},
		{"to many without quantifier", `{"tags":{"label":"x"}}`, "/filter/tags/label", `around "label"`},
		{"to many empty", `{"tags":{}}`, "/filter/tags", "$some"},
		{"to many null", `{"tags":null}`, "/filter/tags", "$some"},
		{"to many wrong quantifier", `{"tags":{"$som":{}}}`, "/filter/tags/$som", `did you mean "$some"`},
		{"some of text", `{"tags":{"$some":"x"}}`, "/filter/tags/$some", "filter of Tag"},
		{"exists of text", `{"tags":{"$exists":1}}`, "/filter/tags/$exists", "true or false"},
		{"to one of text", `{"author":"x"}`, "/filter/author", "filter of Author"},
		{"name that needs escaping", `{"a/b~c":1}`, "/filter/a~1b~0c", "unknown field"},
		{"too deep", strings.Repeat(`{"$not":`, 13) + `{}` + strings.Repeat(`}`, 13), "/filter" + strings.Repeat("/$not", 12), "too deeply"},
		{"too many lists", `{"pages":{"$in":[` + strings.Repeat("1,", 4096) + `1]}}`, "/filter/pages/$in", "too many values"},
		{"too long", `{"title":"` + strings.Repeat("x", filter.MaxBytes) + `"}`, "/filter", "too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, details := filter.Parse([]byte(c.input), books, graph, "/filter")
			require.Nil(t, tree)
			require.Len(t, details, 1)
			require.Equal(t, c.path, details[0].Path)
			require.Contains(t, details[0].Message+" "+details[0].Expected, c.says)
		})
	}
}

func TestAllProblemsWithExpectedAndReceived(t *testing.T) {
	_, details := filter.Parse([]byte(`{"pages":"x","genre":"crime","$or":[{"nope":1},{"inPrint":null}]}`), books, graph, "/filter")
	require.Len(t, details, 4)
	require.Equal(t, "/filter/$or/0/nope", details[0].Path)
	require.Equal(t, "/filter/$or/1/inPrint", details[1].Path)
	require.Equal(t, "a boolean", details[1].Expected)
	require.Equal(t, "null", details[1].Received)
	require.Equal(t, "one of novel, poetry, essay", details[2].Expected)
	require.Equal(t, `string "crime"`, details[2].Received)
	require.Equal(t, `string "x"`, details[3].Received)
}

func TestReportIsBounded(t *testing.T) {
	wrong := []string{}
	for i := range 900 {
		wrong = append(wrong, fmt.Sprintf(`"nope%d":1`, i))
	}
	_, details := filter.Parse([]byte(`{`+strings.Join(wrong, ",")+`}`), books, graph, "/filter")
	require.Len(t, details, 50)
	long := strings.Repeat("n", 5000)
	_, details = filter.Parse([]byte(`{"`+long+`":"`+long+`"}`), books, graph, "/filter")
	require.Less(t, len(details[0].Path)+len(details[0].Message), 500)
}

func sqlOf(t *testing.T, input string) (string, []any) {
	t.Helper()
	tree, details := filter.Parse([]byte(input), books, graph, "")
	require.Empty(t, details)
	b := sqltext.Builder{Dialect: library.Dialect(t)}
	tree.Where(&b, b.NewAlias())
	return string(b.Text()), b.Args()
}

const keywords = `CASE WHEN json_valid(CAST(t0."keywords" AS TEXT)) THEN CAST(t0."keywords" AS TEXT) END`

func TestSQL(t *testing.T) {
	for _, c := range []struct {
		name, input, want string
		args              []any
	}{
		{"nothing", `{}`, `1=1`, nil},
		{"boolean keeps its index", `{"inPrint":true}`, `t0."in_print"=?`, []any{true}},
		{"siblings in a fixed order", `{"sold":1,"id":"a"}`, `(t0."id"=? AND t0."sold"=?)`, []any{"a", int64(1)}},
		{"not equal takes null in", `{"pages":{"$ne":1}}`, `(t0."page_count"<>? OR t0."page_count" IS NULL)`, []any{int64(1)}},
		{"not equal without nulls", `{"sold":{"$ne":1}}`, `t0."sold"<>?`, []any{int64(1)}},
		{"lists are padded", `{"sold":{"$in":[1,2,3]}}`, `t0."sold" IN (?,?,?,?)`, []any{int64(1), int64(2), int64(3), int64(3)}},
		{"empty list", `{"sold":{"$in":[]}}`, `1=0`, nil},
		{"not in an empty list", `{"sold":{"$nin":[]}}`, `1=1`, nil},
		{"times are bound in UTC", `{"createdAt":{"$gte":"2026-01-01T01:30:00.50+02:00"}}`, `t0."created_at">=?`, []any{"2025-12-31 23:30:00.5+00:00"}},
		{"not is pushed to the leaves", `{"$not":{"pages":{"$gt":1},"sold":2}}`, `((t0."page_count"<=? OR t0."page_count" IS NULL) OR t0."sold"<>?)`, []any{int64(1), int64(2)}},
		{
			"to one", `{"author":{"name":"x"}}`,
			`EXISTS (SELECT 1 FROM "authors" AS t1 WHERE t1."id"=t0."author_id" AND t1."name"=?)`,
			[]any{"x"},
		},
		{
			"to many through a table", `{"tags":{"$none":{"label":"x"}}}`,
			`NOT EXISTS (SELECT 1 FROM "book_tags" AS t2 JOIN "tags" AS t1 ON t1."id"=t2."tag_id" WHERE t2."book_id"=t0."id" AND t1."label"=?)`,
			[]any{"x"},
		},
		{
			"elements", `{"keywords":{"$has":"'x"}}`,
			`(json_type(` + keywords + `,?)='array' AND EXISTS (SELECT 1 FROM json_each(` + keywords + `,?) AS t1 WHERE t1.type='text' AND t1.value=?)) IS TRUE`,
			[]any{"$", "$", "'x"},
		},
		{
			"a path is bound", `{"keywords":{"$path":{"[0].a.\"b.c\"":{"$ne":true}}}}`,
			`(CASE json_type(` + keywords + `,?) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END<>? OR (CASE json_type(` + keywords + `,?) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END) IS NULL)`,
			[]any{`$[0]."a"."b.c"`, true, `$[0]."a"."b.c"`},
		},
		{
			"words", `{"$search":"Dé x*"}`,
			`(koan_score(?,CAST(t0."title" AS TEXT),CAST(t0."blurb" AS TEXT))>0) IS TRUE`,
			[]any{"dé x*"},
		},
		{"list without case", `{"blurb":{"$iin":["A","b"]}}`, caseless("blurb") + ` IN (?,?)`, []any{"a", "b"}},
		{"not equal without case", `{"$not":{"blurb":{"$ieq":"A"}}}`, `(` + caseless("blurb") + `<>? OR t0."blurb" IS NULL)`, []any{"a"}},
		{"text is bound, never written", `{"title":{"$endsWith":"'--"}}`, `substr(t0."title",-length(?))=?`, []any{"'--", "'--"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, args := sqlOf(t, c.input)
			require.Equal(t, c.want, text)
			require.Equal(t, c.args, args)
		})
	}
}

// A graph that hides an entity hides the relationships to it.
type without struct {
	*descriptor.Graph
	hidden string
}

func (w without) Entity(name string) *descriptor.Entity {
	if name == w.hidden {
		return nil
	}
	return w.Graph.Entity(name)
}

func TestHiddenEntity(t *testing.T) {
	_, details := filter.Parse([]byte(`{"author":{"name":"x"}}`), books, without{graph, "Author"}, "")
	require.Len(t, details, 1)
	require.Contains(t, details[0].Message, "unknown field")
}

// The largest filters that are taken are executed: neither the depth of an
// expression nor the number of arguments passes what SQLite takes.
func TestLargestFilters(t *testing.T) {
	if pgtest.ForEach(t, TestLargestFilters) {
		return
	}
	db := library.Open(t)
	numbers := strings.TrimSuffix(strings.Repeat("1,", filter.MaxValues/2), ",")
	nested := `{"books":{"$some":{"author":`
	for name, input := range map[string]string{
		"wide":   `{"$or":[` + strings.TrimSuffix(strings.Repeat(`{"pages":{"$ne":1}},`, 330), ",") + `]}`,
		"empty":  `{"$nor":[` + strings.TrimSuffix(strings.Repeat(`{},`, filter.MaxNodes-2), ",") + `]}`,
		"values": `{"pages":{"$in":[` + numbers + `]},"sold":{"$nin":[` + numbers + `]}}`,
		"folded": `{"title":{"$iin":[` + strings.TrimSuffix(strings.Repeat(`"x",`, filter.MaxValues), ",") + `]}}`,
		"json":   `{"$or":[` + strings.TrimSuffix(strings.Repeat(`{"meta":{"$path":{"a":{"$ne":1}}}},`, 199), ",") + `]}`,
		"has":    `{"meta":{"$all":[` + strings.TrimSuffix(strings.Repeat(`"x",`, 900), ",") + `]}}`,
		"search": `{"$or":[` + strings.TrimSuffix(strings.Repeat(`{"$search":"a b c d e f g h"},`, 450), ",") + `]}`,
		"not":    strings.Repeat(`{"$not":`, filter.MaxDepth-1) + `{}` + strings.Repeat(`}`, filter.MaxDepth-1),
		"edges":  `{"author":` + strings.Repeat(nested, 5) + `{"name":"x"}` + strings.Repeat(`}}}`, 5) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			text, args := sqlOf(t, input)
			var n int
			require.NoError(t, db.QueryRow("SELECT count(*) FROM books AS t0 WHERE "+text, args...).Scan(&n))
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"title":"x"}`, `{"pages":{"$in":[1,null,"9007199254740993"]}}`, `{"$nor":[{"author":null},{"tags":{"$every":{}}}]}`,
		`{"pages":{"$in":[1.0,2e1]}}`, `{"cost":{"$between":["1.5",2]},"createdAt":{"$lt":"2026-01-01T00:00:00Z"}}`, `[`, `{"title":{"$icontains":"\u0000"}}`,
		`{"meta":{"$path":{"a.b[0]":{"$in":[1,"x",null,true]},"\"c.d\"":{"$between":["a","b"]}}},"keywords":{"$all":["x"],"$size":2}}`,
		`{"title":{"$iin":["É","x"],"$ieq":"X"},"meta":{"$path":{"a":{"$iin":["x"],"$ieq":""}}}}`,
		`{"meta":{"$has":1e308,"$path":{"x":{"$size":0,"$icontains":"é"}}},"$search":"a [b* ?"}`,
	} {
		f.Add([]byte(seed))
	}
	databases := both(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		tree, details := filter.Parse(raw, books, graph, "/filter")
		require.Equal(t, tree == nil, len(details) > 0)
		for _, d := range details {
			require.NotEmpty(t, d.Message)
			require.True(t, strings.HasPrefix(d.Path, "/filter"))
		}
		if tree == nil {
			return
		}
		require.True(t, json.Valid(raw))
		for dialect, db := range databases {
			b := sqltext.Builder{Dialect: dialect}
			b.Raw("SELECT count(*) FROM books AS ").Alias(b.NewAlias()).Raw(" WHERE ")
			tree.Where(&b, 0)
			var n int
			require.NoError(t, db.QueryRow(string(b.Text()), b.Args()...).Scan(&n), dialect.Name())
		}
	})
}

// caseless is how a column is compared without regard to case.
func caseless(column string) string {
	return strings.ReplaceAll(`(CASE WHEN length(CAST(# AS BLOB))=length(#) THEN lower(#) ELSE koan_fold(#) END)`, "#", `t0."`+column+`"`)
}

// both is an empty library on each database.
func both(f *testing.F) map[sqltext.Dialect]*sql.DB {
	return map[sqltext.Dialect]*sql.DB{sqltext.SQLite{Folds: true}: library.SQLite(f), sqltext.PostgreSQL{Folds: true}: library.PostgreSQL(f)}
}

func TestPaths(t *testing.T) {
	for input, want := range map[string][]sqltext.Step{
		"a":              {{Label: "a"}},
		"a.b":            {{Label: "a"}, {Label: "b"}},
		"a[0].b":         {{Label: "a"}, {}, {Label: "b"}},
		"[12]":           {{Index: 12}},
		"[0][1]":         {{}, {Index: 1}},
		`"a.b[0]".c d.é`: {{Label: "a.b[0]"}, {Label: "c d"}, {Label: "é"}},
		"$.a":            {{Label: "$"}, {Label: "a"}},
		"0":              {{Label: "0"}},
	} {
		got, err := filter.ParsePath(input)
		require.NoError(t, err, input)
		require.Equal(t, want, got, input)
	}
	for _, input := range []string{"", ".", "a.", ".a", "a..b", "[", "[]", "[-1]", "[01]", "[1000001]", "[a]", "a[0", "a]", "a[0]b", `"`, `""`, `"a`, `a"b`, `"a"b`, `a\b`, "a\nb", "a\x00"} {
		_, err := filter.ParsePath(input)
		require.Error(t, err, "%q", input)
	}
}

// FuzzPath: every path that is taken the databases take too, and find by it what
// it names.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"a", "a.b[0]", `"a.b"`, "$", "[3]", "é.日"} {
		f.Add(seed)
	}
	databases := both(f)
	f.Fuzz(func(t *testing.T, path string) {
		steps, err := filter.ParsePath(path)
		if err != nil || !utf8.ValidString(path) {
			return
		}
		var doc any = "here"
		for i := len(steps) - 1; i >= 0; i-- {
			if steps[i].Label != "" {
				doc = map[string]any{steps[i].Label: doc}
				continue
			}
			if steps[i].Index > 100 {
				return
			}
			list := make([]any, steps[i].Index+1)
			list[steps[i].Index] = doc
			doc = list
		}
		raw, err := json.Marshal(doc)
		require.NoError(t, err)
		for dialect, db := range databases {
			b := sqltext.Builder{Dialect: dialect}
			b.Raw("SELECT ")
			b.Dialect.JSON(&b, func(b *sqltext.Builder) { b.Arg(string(raw)) }, steps, sqltext.JSONText)
			var got sql.NullString
			require.NoError(t, db.QueryRow(string(b.Text()), b.Args()...).Scan(&got), "%q on %s", path, dialect.Name())
			require.Equal(t, "here", got.String, "%q in %s on %s", path, raw, dialect.Name())
		}
	})
}

func TestQuoteLarge(t *testing.T) {
	for text, want := range map[string]string{
		`[9007199254740991,-9007199254740991,0.5,1e300]`: "",
		`{"a":[9007199254740992,-9007199254740993]}`:     `{"a":["9007199254740992","-9007199254740993"]}`,
		`18446744073709551615`:                           `"18446744073709551615"`,
		`"9007199254740993"`:                             "",
		`{"9007199254740993":"\"9007199254740993"}`:      "",
		`9007199254740993.5`:                             "",
		"1" + strings.Repeat("0", 300):                   "1e+300", // as PostgreSQL writes it
		"[-1" + strings.Repeat("0", 22) + "]":            "[-1e+22]",
		"1" + strings.Repeat("1", 30):                    `"1` + strings.Repeat("1", 30) + `"`,
	} {
		if want == "" {
			want = text
		}
		require.Equal(t, want, string(filter.QuoteLarge([]byte(text))), text)
	}
	for at := range 40 { // wherever the digits stand
		blank := strings.Repeat(" ", at)
		require.Equal(t, blank+`"9007199254740993"`, string(filter.QuoteLarge([]byte(blank+`9007199254740993`))), at)
	}
	small := []byte(`{"name":"A name of some length","numbers":[123456789012345,1],"at":"2026-01-02T03:04:05.000000001Z"}`)
	require.Zero(t, testing.AllocsPerRun(10, func() { filter.QuoteLarge(small) }))
}
