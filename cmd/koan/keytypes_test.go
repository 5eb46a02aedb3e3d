package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// keyType is a type of a key with SQL literals of three values of it, their ids, and another way to write the first
// one that the database takes for the same value, "" where there is none.
type keyType struct {
	name, declared string
	values, ids    [3]string
	alias          string
}

var keyTypes = map[bool][]keyType{
	false: {
		{"enum", "TEXT CHECK (k IN ('small', 'big,1', 'so 5%'))", [3]string{"'small'", "'big,1'", "'so 5%'"}, [3]string{"small", "big,1", "so 5%"}, ""},
		{"day", "DATE", [3]string{"'2024-02-29'", "'1999-12-31'", "'2030-01-01'"}, [3]string{"2024-02-29", "1999-12-31", "2030-01-01"}, ""},
		{"time", "DATETIME", [3]string{"'2024-02-29 08:00:00'", "'1999-12-31 23:59:59'", "'2030-01-01 00:00:00'"}, [3]string{"2024-02-29 08:00:00", "1999-12-31 23:59:59", "2030-01-01 00:00:00"}, ""},
		{"decimal", "DECIMAL(10, 2)", [3]string{"1.5", "-20", "0.07"}, [3]string{"1.5", "-20", "0.07"}, "1.50"},
		{"bytes", "BLOB", [3]string{"x'00ff2c25'", "x''", "x'41'"}, [3]string{`\x00ff2c25`, `\x`, `\x41`}, `\x00FF2C25`},
	},
	true: {
		{"enum", "size", [3]string{"'small'", "'big,1'", "'so 5%'"}, [3]string{"small", "big%2C1", "so 5%25"}, ""},
		{"day", "date", [3]string{"'2024-02-29'", "'1999-12-31'", "'infinity'"}, [3]string{"2024-02-29", "1999-12-31", "infinity"}, "20240229"},
		{"time", "timestamptz", [3]string{"'2024-02-29 08:00:00.123456+02'", "'1999-12-31 23:59:59Z'", "'2030-01-01Z'"}, [3]string{"2024-02-29 06:00:00.123456+00", "1999-12-31 23:59:59+00", "2030-01-01 00:00:00+00"}, "2024-02-29 08:00:00.123456+02"},
		{"plain_time", "timestamp(3)", [3]string{"'2024-02-29 08:00:00.5'", "'1999-12-31 23:59:59'", "'2030-01-01'"}, [3]string{"2024-02-29 08:00:00.5", "1999-12-31 23:59:59", "2030-01-01 00:00:00"}, "2024-02-29T08:00:00.500"},
		{"hour", "time", [3]string{"'08:00'", "'23:59:59.25'", "'00:00'"}, [3]string{"08:00:00", "23:59:59.25", "00:00:00"}, "08:00"},
		{"span", "interval", [3]string{"'1 day 2 hours'", "'1 mon'", "'-1 sec'"}, [3]string{"1 day 02:00:00", "1 mon", "-00:00:01"}, "26:00:00"},
		{"decimal", "numeric(10, 2)", [3]string{"1.5", "-20", "0.07"}, [3]string{"1.50", "-20.00", "0.07"}, "1.5"},
		{"exact", "numeric", [3]string{"12345678901234567890.10", "-0.000000000000000000001", "'NaN'"}, [3]string{"12345678901234567890.10", "-0.000000000000000000001", "NaN"}, "12345678901234567890.1"},
		{"bytes", "bytea", [3]string{`'\x00ff2c25'`, `'\x'`, `'\x41'`}, [3]string{`\x00ff2c25`, `\x`, `\x41`}, `\x00FF2C25`},
		{"address", "inet", [3]string{"'10.0.0.1'", "'::1'", "'10.0.0.0/8'"}, [3]string{"10.0.0.1/32", "::1/128", "10.0.0.0/8"}, "10.0.0.1"},
	},
}

func (k *keyType) schema() string {
	enum := ""
	if k.declared == "size" {
		enum = "CREATE TYPE size AS ENUM ('small', 'big,1', 'so 5%');\n"
	}
	bare, _, _ := strings.Cut(k.declared, " CHECK")
	return enum + fmt.Sprintf(`CREATE TABLE keys (k %s PRIMARY KEY, note VARCHAR(20));
CREATE TABLE links (id INTEGER PRIMARY KEY, k %s REFERENCES keys);
INSERT INTO keys VALUES (%s, 'first'), (%s, 'second');
INSERT INTO links VALUES (1, %[3]s)`, k.declared, bare, k.values[0], k.values[1])
}

// Rows are read, written, deleted, linked and undone by a key of every type that texts are exact for.
func TestKeysOfEveryType(t *testing.T) {
	for _, onPostgreSQL := range []bool{false, true} {
		for _, k := range keyTypes[onPostgreSQL] {
			t.Run(map[bool]string{false: "SQLite", true: "PostgreSQL"}[onPostgreSQL]+"/"+k.name, func(t *testing.T) {
				place, db := foreign(t, k.schema(), onPostgreSQL)
				_, err := db.Exec("PRAGMA foreign_keys = 1")
				require.True(t, err == nil || onPostgreSQL)
				i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
				require.NoError(t, err)
				quoted := func(id string) string { return string(encode(t, id)) }
				row := func(id string) map[string]any {
					return does(t, i, "koan::Key.get-by-id", `{"id":`+quoted(id)+`}`)
				}
				dump := func() []string {
					return store{db: db}.list(t, "SELECT CAST(k AS TEXT) || ':' || note FROM keys UNION ALL SELECT CAST(id AS TEXT) || '>' || CAST(k AS TEXT) FROM links ORDER BY 1")
				}
				note := func(literal string) []string {
					return store{db: db}.list(t, "SELECT note FROM keys WHERE k = "+literal)
				}
				before := dump()

				require.Equal(t, map[string]any{"id": k.ids[0], "note": "first"}, row(k.ids[0]))
				require.Equal(t, "second", row(k.ids[1])["note"])
				paged := script(t, i, `const ids = (sort) => [...SDK.Entities.Key.each({ sort, pageSize: 1 })].map((k) => k.id);
return [ids("id"), ids("-id").reverse(), SDK.Entities.Key.all({ sort: "note" }).length];`, nil)["result"].([]any)
				require.Len(t, paged[0], 2)
				require.Equal(t, paged[0], paged[1])
				require.EqualValues(t, 1, does(t, i, "koan::Key.count", `{"filter":{"id":`+quoted(k.ids[1])+`}}`)["count"])
				require.EqualValues(t, 2, does(t, i, "koan::Key.count", `{"filter":{"id":{"$in":[`+quoted(k.ids[1])+`,`+quoted(k.ids[0])+`,`+quoted(k.ids[2])+`]}}}`)["count"])
				require.Equal(t, k.ids[0], does(t, i, "koan::Link.get-by-id", `{"id":"1","with":"key"}`)["key"].(map[string]any)["id"])
				require.Len(t, does(t, i, "koan::Key.get-by-id", `{"id":`+quoted(k.ids[0])+`,"with":"links"}`)["links"], 1)
				if k.alias != "" { // else one row would have two ids in a run
					f := refused(t, i, "koan::Key.patch", `{"id":`+quoted(k.alias)+`,"changes":{"note":"alias"}}`)
					require.Equal(t, fault.NotFound, f.Code, "%v", f)
				}
				require.Equal(t, fault.Conflict, refused(t, i, "koan::Key.delete", `{"id":`+quoted(k.ids[0])+`}`).Code, "a link refers to it")
				require.Equal(t, fault.Conflict, refused(t, i, "koan::Key.create", `{"model":{"id":`+quoted(k.ids[1])+`,"note":"again"}}`).Code)

				ids := fmt.Sprintf("const [a, b, c] = [%s, %s, %s];\n", quoted(k.ids[0]), quoted(k.ids[1]), quoted(k.ids[2]))
				did := script(t, i, ids+`const { Key } = SDK.Entities;
const made = Key.create({ id: c, note: "third" });
if (made.id !== c) throw new Error("made " + made.id);
Key.patch(a, { note: "changed" });
Key.upsert({ id: c, note: "twice" });
Key.delete(b);`, nil)
				require.Equal(t, []string{"twice"}, note(k.values[2]), "%v", did)
				require.Equal(t, []string{"changed"}, note(k.values[0]))
				require.Empty(t, note(k.values[1]))
				_, err = call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
				require.NoError(t, err)
				require.Equal(t, before, dump())
				require.EqualValues(t, 1, does(t, i, "koan::Key.delete-many", `{"ids":[`+quoted(k.ids[1])+`,`+quoted(k.ids[2])+`]}`)["deleted"])
			})
		}
	}
}

// An id that the database would keep otherwise is refused, and nothing is stored.
func TestIDsThatAreKeptOtherwise(t *testing.T) {
	onBoth(t, func(onPostgreSQL bool) string {
		if onPostgreSQL {
			return "CREATE TABLE sums (k numeric(10, 2) PRIMARY KEY, note text); CREATE TABLE moments (k timestamp PRIMARY KEY, note text); CREATE TABLE days (k date PRIMARY KEY, note text)"
		}
		return "CREATE TABLE sums (k DECIMAL(10, 2) PRIMARY KEY, note TEXT)"
	}, func(t *testing.T, place string, onPostgreSQL bool) {
		i, err := start(t, map[string]string{"database": place, "readOnly": "false"})
		require.NoError(t, err)
		refuse := func(entity string, ids ...string) {
			for _, id := range ids {
				f := refused(t, i, "koan::"+entity+".create", `{"model":{"id":`+string(encode(t, id))+`,"note":"x"}}`)
				require.Equal(t, fault.InvalidPayload, f.Code, "%s: %v", id, f)
				require.Equal(t, "/model/id", f.Path, id)
				f = refused(t, i, "koan::"+entity+".upsert-many", `{"models":[{"id":`+string(encode(t, id))+`,"note":"x"}]}`)
				require.Equal(t, "/models/0/id", f.Path, "%s: %v", id, f)
			}
			require.EqualValues(t, 0, does(t, i, "koan::"+entity+".count", `{}`)["count"])
		}
		if !onPostgreSQL {
			refuse("Sum", "1.50", "01")
			return
		}
		refuse("Sum", "0.125", "1.5", "1e2")
		refuse("Moment", "2031-02-03T01:00:00+05:00", "today")
		refuse("Day", "tomorrow", "Feb 5 2031", "2030-02-03T00:00:00Z")
	})
}

// Databases find a row by other texts than its id, too: an id in another case, or with other blanks at its end. A row has
// one id in answers, changes, the journal and an undo, and one write of it is one write.
func TestIDsInOtherSpellings(t *testing.T) {
	onBoth(t, func(onPostgreSQL bool) string {
		if onPostgreSQL {
			return `CREATE EXTENSION citext; CREATE TABLE codes (k char(5) PRIMARY KEY, note text NOT NULL); CREATE TABLE words (k citext PRIMARY KEY, note text NOT NULL);
CREATE TABLE pairs (a char(3), b citext, c uuid, note text NOT NULL, PRIMARY KEY (a, b, c));
CREATE DOMAIN tag AS char(5); CREATE TABLE tags (k tag PRIMARY KEY, note text NOT NULL); CREATE TABLE bounds (k varchar(5) PRIMARY KEY, note text NOT NULL);
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false); CREATE TABLE names (k text COLLATE loose PRIMARY KEY, note text NOT NULL);
INSERT INTO names VALUES ('Ab', 'old'); INSERT INTO tags VALUES ('ab', 'old'); INSERT INTO pairs VALUES ('ab', 'Ab', '0190aaaa-0000-7000-8000-000000000000', 'old');
INSERT INTO words VALUES ('Ab', 'old'); INSERT INTO codes VALUES ('ab', 'old')`
		}
		return `CREATE TABLE codes (k TEXT COLLATE RTRIM PRIMARY KEY, note TEXT NOT NULL); CREATE TABLE words (k TEXT COLLATE NOCASE PRIMARY KEY, note TEXT NOT NULL);
CREATE TABLE pairs (a TEXT COLLATE RTRIM, b TEXT COLLATE NOCASE, c TEXT, note TEXT NOT NULL, PRIMARY KEY (a, b, c)) WITHOUT ROWID;
INSERT INTO pairs VALUES ('ab', 'Ab', '0190aaaa-0000-7000-8000-000000000000', 'old'); INSERT INTO words VALUES ('Ab', 'old'); INSERT INTO codes VALUES ('ab   ', 'old')`
	}, func(t *testing.T, place string, onPostgreSQL bool) {
		i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
		require.NoError(t, err)
		type spellings struct{ kept, first, second, fresh, other string } // the row's id, two others, and two of a new row
		for entity, s := range map[string]spellings{
			"Code": {"ab   ", "ab", "ab ", "x", "x "}, "Word": {"Ab", "AB", "ab", "xy", "XY"}, "Tag": {"ab   ", "ab", "ab ", "x", "x "}, "Name": {"Ab", "AB", "ab", "xy", "XY"},
			"Pair": {"ab,Ab,0190aaaa-0000-7000-8000-000000000000", "ab ,ab,0190aaaa-0000-7000-8000-000000000000", "ab,AB,0190aaaa-0000-7000-8000-000000000000", "x,xy,0190aaaa-0000-7000-8000-000000000000", "x ,XY,0190aaaa-0000-7000-8000-000000000000"},
		} {
			if !onPostgreSQL && (entity == "Tag" || entity == "Name") {
				continue
			}
			all := func() any { return does(t, i, "koan::"+entity+".collection", `{}`)["items"] }
			before := all()
			for code, want := range map[string]string{
				`E.patch(s.first, {note: "1"}); E.patch(s.second, {note: "2"}); E.patch(s.kept, {note: "3"}); return 1`:      "update",
				`return E.upsert({id: s.first, note: "1"}).id === s.kept`:                                                    "update",
				`return E.upsertMany([{id: s.first, note: "1"}, {id: s.second, note: "2"}, {id: s.kept, note: "3"}]).length`: "update",
				`return E.delete(s.second)`:                                                        "delete",
				`return E.deleteMany([s.first, s.second, s.kept])`:                                 "delete",
				`return E.upsertMany([{id: s.fresh, note: "1"}, {id: s.other, note: "2"}]).length`: "create",
				`const made = E.create({id: s.fresh, note: "1"}); E.getById(made.id); E.patch(made.id, {note: "2"}); E.patch(s.fresh, {note: "3"}); E.patch(s.other, {note: "4"}); return E.count({id: made.id})`: "create",
			} {
				did := script(t, i, `const s = SDK.args, E = SDK.Entities.`+entity+`; `+code, map[string]any{"include": []string{"changes"}, "args": map[string]any{"kept": s.kept, "first": s.first, "second": s.second, "fresh": s.fresh, "other": s.other}})
				require.Len(t, did["changes"], 1, "%s %s: %v", entity, code, did)
				require.Equal(t, want, did["changes"].([]any)[0].(map[string]any)["action"], "%s %s", entity, code)
				if want != "create" {
					require.Equal(t, s.kept, did["changes"].([]any)[0].(map[string]any)["id"])
				}
				if want == "delete" {
					require.EqualValues(t, 1, did["result"], "%s %s", entity, code)
				}
				_, err := call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
				require.NoError(t, err, "%s %s", entity, code)
				require.Equal(t, before, all(), "%s %s", entity, code)
			}
			require.Equal(t, fault.Conflict, refused(t, i, "koan::"+entity+".create", `{"model":{"id":`+string(encode(t, s.first))+`,"note":"x"}}`).Code)
		}
		if onPostgreSQL { // what a script has caught is not stored either
			did := script(t, i, `const refused = (f) => { try { f() } catch (e) { return e.path } };
return [refused(() => SDK.Entities.Bound.create({ id: "abcde ", note: "x" })), refused(() => SDK.Entities.Bound.upsertMany([{ id: "a", note: "x" }, { id: "abcde ", note: "x" }])), SDK.Entities.Bound.count()]`, nil)
			require.Equal(t, []any{"/model/id", "/models/1/id", 0.0}, did["result"])
		}
	})
}

// A row whose key is no id stops a change by query with a fault, and without it the others are changed.
func TestKeysThatCannotBeIDs(t *testing.T) {
	for name, schema := range map[string]string{
		"empty": "CREATE TABLE things (k VARCHAR(20) PRIMARY KEY, n INTEGER); INSERT INTO things VALUES ('', 1), ('a', 2)",
		"null":  "CREATE TABLE things (k VARCHAR(20) PRIMARY KEY, n INTEGER); INSERT INTO things VALUES (NULL, 1), ('a', 2)",
		"text":  "CREATE TABLE things (k INT PRIMARY KEY, n INTEGER); INSERT INTO things VALUES ('abc', 1), (7, 2)",
	} {
		t.Run(name, func(t *testing.T) {
			place, _ := foreign(t, schema, false)
			i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
			require.NoError(t, err)
			f := refused(t, i, "koan::Thing.update-by-query", `{"filter":{"n":{"$gt":0}},"changes":{"n":5}}`)
			require.Equal(t, fault.CapabilityUnsupported, f.Code, "%v", f)
			require.Contains(t, f.Hint, "Exclude that row")
			require.EqualValues(t, 1, does(t, i, "koan::Thing.update-by-query", `{"filter":{"n":{"$gt":1}},"changes":{"n":5}}`)["updated"])
			require.EqualValues(t, 1, does(t, i, "koan::Thing.count", `{"filter":{"n":1}}`)["count"])
		})
	}
}

// Keys of the other types are read-only, and the start says why.
func TestKeysThatNoTextIsExactFor(t *testing.T) {
	onBoth(t, func(onPostgreSQL bool) string {
		if onPostgreSQL {
			return "CREATE TABLE ratios (k double precision PRIMARY KEY, note text); CREATE TABLE flags (k boolean PRIMARY KEY, note text)"
		}
		return "CREATE TABLE ratios (k REAL PRIMARY KEY, note TEXT); CREATE TABLE flags (k BOOLEAN PRIMARY KEY, note TEXT); CREATE TABLE loose (k PRIMARY KEY, note TEXT); INSERT INTO loose VALUES (1, 'a number'), ('1', 'a text')"
	}, func(t *testing.T, place string, onPostgreSQL bool) {
		i, err := start(t, map[string]string{"database": place, "readOnly": "false"})
		require.NoError(t, err)
		report := strings.Join(i.Report(), "\n")
		for _, table := range []string{"ratios", "flags"} {
			require.Contains(t, report, table+": its key is of the type ")
		}
		require.Equal(t, fault.ToolNotFound, refused(t, i, "koan::Ratio.delete", `{"id":"1"}`).Code)
		if !onPostgreSQL {
			require.Contains(t, report, "loose: its key has no type")
			require.Equal(t, fault.ToolNotFound, refused(t, i, "koan::Loose.delete-by-query", `{"filter":{"note":"a text"}}`).Code)
		}
	})
}
