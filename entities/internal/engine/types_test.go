package engine_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/specimen/ent"
)

// specimens are two values of each type, the lower one first where they have an
// order, as callers write and see them.
var specimens = []struct {
	field, low, high string
	ops              string // what a filter can do, beside $eq $ne $in $nin $null
	kept             string // SQL of how the low one is kept, "" for as it is seen
}{
	{field: "yes", low: `false`, high: `true`},
	{"i8", `-128`, `127`, "order", ""},
	{"i16", `-32768`, `32767`, "order", ""},
	{"i32", `-2147483648`, `2147483647`, "order", ""},
	{"i64", `"-9223372036854775808"`, `"9223372036854775807"`, "order", ""},
	{"i", `0`, `9007199254740991`, "order", ""},
	{"u8", `0`, `255`, "order", ""},
	{"u16", `0`, `65535`, "order", ""},
	{"u32", `0`, `4294967295`, "order", ""},
	{"u64", `1`, `"9223372036854775807"`, "order", ""},
	{"u", `1`, `"9007199254740992"`, "order", ""},
	{"f32", `0.1`, `3.4e+38`, "order", ""},
	{"f64", `-1e+300`, `0.1`, "order", ""},
	{"text", `"Ab"`, `"abc"`, "order text", ""},
	{"long", `"Ab"`, `"abc"`, "order text", ""},
	{"bytes", `"AAE="`, `"/w=="`, "", ""},
	{"at", `"2026-01-02T03:04:05.000001Z"`, `"2026-01-02T03:04:05.1Z"`, "order", ""},
	{"day", `"2024-02-29"`, `"2026-01-31"`, "order", ""},
	{"ref", `"0198c0de-0000-7000-8000-000000000001"`, `"0198c0de-0000-7000-8000-000000000002"`, "", ""},
	{"state", `"off"`, `"on"`, "", ""},
	{"tags", `[]`, `["a"]`, "json", ""},
	{"numbers", `[1]`, `[2]`, "json", ""},
	{"weights", `[1.5]`, `[2.5]`, "json", ""},
	{"any", `{"a":[1]}`, `"x"`, "json", ""},
	{"raw", `{"a":1}`, `[true]`, "json", ""},
	{"address", `{"street":"A","zip":1}`, `{"street":"B","notes":{"x":"y"}}`, "json", ""},
	{"dict", `{"a":1}`, `{"b":2}`, "json", ""},
	{"history", `[]`, `[{"street":"A"}]`, "json", ""},
	{"cents", `-1`, `1`, "order", ""},
	{"ratio", `0.1`, `0.7`, "order", ""},
	{"flag", `false`, `true`, "", ""},
	{"blob", `"AA=="`, `"AQ=="`, "", ""},
	{"slug", `"a"`, `"ab"`, "order text", ""},
	{"color", `"blue"`, `"red"`, "", ""},
	{"level", `"HIGH"`, `"LOW"`, "", ""},
	{"secret", `"attack"`, `"wait"`, "", `'bmdnbnB4'`},
	{"phone", `"+41 5550"`, `"+49 1234"`, "order text", ""},
	{"price", `"9.50"`, `"10.25"`, "order", `'9.50'`},
	{"cost", `"-2.0000"`, `"-1.5000"`, "order", `'-2.0000'`},
	{"amount", `"99"`, `"100.00"`, "order", `'99'`},
	{"point", `{"x":1,"y":2}`, `{"x":3,"y":4}`, "null", `'1;2'`},
	{"words", `["a"]`, `["b","c"]`, "json", ""},
	{"seen", `"2026-01-02T03:04:05Z"`, `"2027-01-02T03:04:05Z"`, "order", ""},
	{"big", `"123456789012345678901234567890"`, `"5"`, "", ""},
	{"link", `"https://a.example/x"`, `"https://b.example/y"`, "order text", `CAST('https://a.example/x' AS BLOB)`},
	{"hidden", `"one"`, `"two"`, "", `'6f6e65'`},
	{"fee", `"9.5"`, `"10.25"`, "order", ""},
}

// defaults are what a specimen with nothing has.
var defaults = map[string]string{"i": `7`, "state": `"on"`, "history": `[]`, "cents": `5`, "flag": `false`, "color": `"red"`}

// stocked is an app with a specimen of the low values, one of the high ones, and
// one with nothing.
func stocked(t *testing.T) (a *app, low, high, none string) {
	t.Helper()
	a = start(t, ent.Entities())
	model := func(pick func(i int) string) string {
		var parts []string
		for i, s := range specimens {
			parts = append(parts, fmt.Sprintf("%q:%s", s.field, pick(i)))
		}
		return `{"model":{` + strings.Join(parts, ",") + `}}`
	}
	low = a.call("Specimen.upsert", model(func(i int) string { return specimens[i].low }))["id"].(string)
	high = a.call("Specimen.upsert", model(func(i int) string { return specimens[i].high }))["id"].(string)
	none = a.call("Specimen.upsert", `{"model":{}}`)["id"].(string)
	return a, low, high, none
}

// within is the app for a part of a test.
func (a *app) within(t *testing.T) *app {
	part := *a
	part.TB = t
	return &part
}

// blobs are SQLite's words for bytes.
var blobs = regexp.MustCompile(`CAST\(('[^']*') AS BLOB\)|x'([0-9a-f]*)'`)

// number asks the default set past the app.
func (a *app) number(query string) (n int) {
	a.Helper()
	if postgres(a) {
		query = blobs.ReplaceAllStringFunc(query, func(s string) string {
			if hex, ok := strings.CutPrefix(s, "x'"); ok {
				return `'\x` + hex + "::bytea"
			}
			return blobs.ReplaceAllString(s, "$1") // a text column has texts only
		})
	}
	require.NoError(a, beside(a, a.place, "default").QueryRow(query).Scan(&n))
	return n
}

func found(page map[string]any) []string {
	out := []string{}
	for _, item := range page["items"].([]any) {
		out = append(out, item.(map[string]any)["id"].(string))
	}
	return out
}

func TestEveryTypeOnEveryPath(t *testing.T) {
	t.Parallel()
	if forEach(t, TestEveryTypeOnEveryPath) {
		return
	}
	a, low, high, none := stocked(t)
	for _, s := range specimens {
		t.Run(s.field, func(t *testing.T) {
			a := a.within(t)
			get := func(id string) string {
				raw, err := json.Marshal(a.call("Specimen.get-by-id", fmt.Sprintf(`{"id":%q,"fields":%q}`, id, s.field))[s.field])
				require.NoError(t, err)
				return string(raw)
			}
			require.JSONEq(t, s.low, get(low))
			require.JSONEq(t, s.high, get(high))
			match := func(condition string) []string {
				return found(a.call("Specimen.collection", fmt.Sprintf(`{"filter":{%q:%s,"id":{"$in":[%q,%q]}},"fields":"id"}`, s.field, condition, low, high)))
			}
			if s.ops == "json" || s.ops == "null" {
				require.Len(t, match(`{"$null":false}`), 2)
				require.Empty(t, match(`null`))
			} else {
				require.Equal(t, []string{low}, match(s.low))
				require.Equal(t, []string{high}, match(`{"$ne":`+s.low+`}`))
				require.Equal(t, []string{high}, match(`{"$in":[`+s.high+`]}`))
				require.Equal(t, []string{low}, match(`{"$nin":[`+s.high+`]}`))
				require.Len(t, match(`{"$null":false}`), 2)
			}
			if s.ops == "json" {
				require.Equal(t, 2, int(a.call("Specimen.count", fmt.Sprintf(`{"filter":{%q:{"$path":{"nothing":{"$null":true}}},"id":{"$ne":%q}}}`, s.field, none))["count"].(float64)))
			}
			if strings.Contains(s.ops, "order") {
				ordered(t, a, s.field, s.low, s.high, low, high)
			}
			if strings.Contains(s.ops, "text") {
				var text string
				require.NoError(t, json.Unmarshal([]byte(s.high), &text))
				for op, part := range map[string]string{"$contains": text[1:], "$startsWith": text[:2], "$endsWith": text[1:], "$icontains": strings.ToUpper(text[1:]), "$ieq": strings.ToUpper(text)} {
					require.Contains(t, match(fmt.Sprintf(`{%q:%q}`, op, part)), high, op)
				}
			}
			// Written again by a patch, by an update of many, and replaced.
			a.call("Specimen.patch", fmt.Sprintf(`{"id":%q,"changes":{%q:%s}}`, none, s.field, s.high))
			require.JSONEq(t, s.high, get(none))
			a.call("Specimen.update-by-query", fmt.Sprintf(`{"filter":{"id":%q},"changes":{%q:%s}}`, none, s.field, s.low))
			require.JSONEq(t, s.low, get(none))
			if s.kept != "" {
				require.Equal(t, 1, a.number(fmt.Sprintf(`SELECT count(*) FROM specimen WHERE "%s" = %s AND id = '%s'`, s.field, s.kept, none)), "it is kept in the app's form")
			}
			a.call("Specimen.upsert", fmt.Sprintf(`{"model":{"id":%q},"replace":true}`, none))
			absent, ok := defaults[s.field]
			if !ok {
				absent = "null"
			}
			require.JSONEq(t, absent, get(none))
		})
	}
}

// says looks for words in a fault, be they in its message or in its details.
func says(t *testing.T, f *fault.Fault, words string) {
	t.Helper()
	raw, err := json.Marshal([]any{f.Message, f.Details})
	require.NoError(t, err)
	require.Contains(t, strings.ReplaceAll(string(raw), `\"`, `"`), words)
}

// ordered checks comparisons, sorts, cursors and aggregates.
func ordered(t *testing.T, a *app, field, lowest, highest, low, high string) {
	t.Helper()
	within := fmt.Sprintf(`"id":{"$in":[%q,%q]}`, low, high)
	for condition, want := range map[string]string{`{"$lt":` + highest + `}`: low, `{"$gt":` + lowest + `}`: high, `{"$between":[` + highest + `,` + highest + `]}`: high, `{"$lte":` + lowest + `}`: low} {
		got := found(a.call("Specimen.collection", fmt.Sprintf(`{"filter":{%q:%s,%s},"fields":"id"}`, field, condition, within)))
		require.Equal(t, []string{want}, got, condition)
	}
	for sort, want := range map[string][]string{field: {low, high}, "-" + field: {high, low}} {
		first := a.call("Specimen.collection", fmt.Sprintf(`{"filter":{%s},"sort":%q,"pageSize":1,"fields":"id"}`, within, sort))
		second := a.call("Specimen.collection", fmt.Sprintf(`{"filter":{%s},"sort":%q,"pageSize":1,"fields":"id","cursor":%q}`, within, sort, first["nextCursor"]))
		require.Equal(t, want, append(found(first), found(second)...), sort)
		require.Nil(t, second["nextCursor"])
	}
	row := a.call("Specimen.aggregate", fmt.Sprintf(`{"filter":{%s},"min":%q,"max":%q,"count":{"distinct":%q}}`, within, field, field, field))["rows"].([]any)[0].(map[string]any)
	name := strings.ToUpper(field[:1]) + field[1:]
	require.EqualValues(t, 2, row["distinct"+name])
	same := func(want string, got any) {
		raw, err := json.Marshal(got)
		require.NoError(t, err)
		plain := func(s string) string { // decimals that were computed have no zeros at their end
			if s = strings.Trim(s, `"`); strings.Contains(s, ".") {
				s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
			}
			return s
		}
		if want != string(raw) {
			require.Equal(t, plain(want), plain(string(raw)))
		}
	}
	same(lowest, row["min"+name])
	same(highest, row["max"+name])
}

func TestTypesRefuseWhatTheyAreNot(t *testing.T) {
	t.Parallel()
	if forEach(t, TestTypesRefuseWhatTheyAreNot) {
		return
	}
	a, low, _, _ := stocked(t)
	for at, value := range map[string]string{
		"/changes/i8": `128`, "/changes/u8": `-1`, "/changes/u64": `"9223372036854775808"`, "/changes/f32": `3.5e38`, "/changes/phone": `"41"`, "/changes/price": `"ten"`, "/changes/level": `"MIDDLE"`,
		"/changes/color": `"pink"`, "/changes/point": `{"x":"y"}`, "/changes/address": `{"stret":"x"}`, "/changes/big": `"1.5"`, "/changes/words": `{"a":1}`, "/changes/secret": `5`,
		"/changes/link": `"http://[::1"`, "/changes/numbers": `["a"]`, "/changes/amount": `"1e"`, "/changes/cents": `1.5`, "/changes/ref": `"x"`, "/changes/blob": `"%"`,
	} {
		field := strings.TrimPrefix(at, "/changes/")
		f := a.fails(fault.InvalidPayload, "Specimen.patch", fmt.Sprintf(`{"id":%q,"changes":{%q:%s}}`, low, field, value))
		raw, merr := json.Marshal(f.Details)
		require.NoError(t, merr)
		require.Contains(t, string(raw), `"path":"`+at, field)
	}
	for value, why := range map[string]string{`{"u64":-1}`: "u64 must be at least 0", `{"u":-1}`: "u must be at least 0", `{"u64":"-9007199254740993"}`: "u64 must be at least 0", `{"i8":200}`: "i8 must be from -128 to 127, not 200"} {
		says(t, a.fails(fault.InvalidPayload, "Specimen.upsert", `{"model":`+value+`}`), why)
	}
	u64 := a.properties("Specimen.upsert", "model")["u64"]
	require.EqualValues(t, 0, u64["minimum"])
	require.Equal(t, []any{"integer", "string", "null"}, u64["type"])
	for filter, why := range map[string]string{
		`{"secret":{"$contains":"a"}}`: "does not apply", `{"big":{"$gt":"1"}}`: "does not apply", `{"point":{"$path":{"x":1}}}`: "does not apply", `{"point":{"x":1}}`: "unknown operator",
		`{"big":"x"}`: "does not fit", `{"hidden":5}`: "takes a string", `{"u64":"18446744073709551615"}`: "stores integers from", `{"price":"x"}`: "takes a decimal",
	} {
		says(t, a.fails(fault.InvalidPayload, "Specimen.count", `{"filter":`+filter+`}`), why)
	}
	says(t, a.fails(fault.InvalidPayload, "Specimen.collection", `{"sort":"secret"}`), "cannot be sorted")
	says(t, a.fails(fault.InvalidPayload, "Specimen.aggregate", `{"max":"big"}`), "can only be grouped and counted")
	groups := a.call("Specimen.aggregate", `{"groupBy":"secret","sort":"-count","having":{"secret":"attack"}}`)["rows"].([]any)
	require.Equal(t, []any{map[string]any{"secret": "attack", "count": 1.0}}, groups)
	sums := a.call("Specimen.aggregate", `{"sum":"price,amount","avg":"cents"}`)["rows"].([]any)[0].(map[string]any)
	require.Equal(t, "19.75", sums["sumPrice"])
	require.Equal(t, "199", sums["sumAmount"])
	a.call("Specimen.upsert-many", `{"models":[{"f32":3.4e38},{"f32":3.4e38}]}`)
	single := a.call("Specimen.aggregate", `{"filter":{"f32":3.4e38},"sum":"f32","avg":"f32","max":"f32","having":{"maxF32":3.4e38}}`)["rows"].([]any)[0].(map[string]any)
	require.InEpsilon(t, 3.4e38*3, single["sumF32"], 1e-6, "sums have 64 bits")
	require.InEpsilon(t, 3.4e38, single["avgF32"], 1e-6)
}

func TestIdsOfTheAppsOwn(t *testing.T) {
	t.Parallel()
	if forEach(t, TestIdsOfTheAppsOwn) {
		return
	}
	a, low, high, _ := stocked(t)
	first := a.call("Cabinet.upsert", `{"model":{"name":"one","labels":[]}}`)
	one := first["id"].(string)
	require.Regexp(t, `^cab_[0-9a-f]{32}$`, one)
	a.call("Label.upsert", `{"model":{"id":"old","text":"Old"}}`)
	a.call("Label.upsert", `{"model":{"id":"new"}}`)
	a.call("Counter.upsert", `{"model":{"id":7}}`)
	require.Equal(t, "9223372036854775807", a.call("Counter.upsert", `{"model":{"id":"9223372036854775807"}}`)["id"])
	two := "cab_000102030405060708090a0b0c0d0e0f"
	got := a.call("Cabinet.upsert", fmt.Sprintf(`{"model":{"id":%q,"name":"two","labels":["old","new"],"specimens":[%q,%q],"besideId":%q}}`, two, low, high, one))
	require.Equal(t, two, got["id"])
	require.Equal(t, one, got["besideId"])
	require.Equal(t, 1, a.number(`SELECT count(*) FROM cabinets WHERE id = x'000102030405060708090a0b0c0d0e0f'`))

	read := a.call("Cabinet.get-by-id", fmt.Sprintf(`{"id":%q,"with":"labels,specimens,beside"}`, two))
	require.Len(t, read["labels"], 2)
	require.Len(t, read["specimens"], 2)
	require.Equal(t, one, read["beside"].(map[string]any)["id"])
	for filter, want := range map[string][]string{
		`{"id":"` + two + `"}`: {two}, `{"id":{"$in":["` + one + `"]}}`: {one}, `{"besideId":"` + one + `"}`: {two}, `{"beside":null}`: {one},
		`{"labels":{"$some":{"id":"old"}}}`: {two}, `{"specimens":{"$some":{"phone":"+41 5550"}}}`: {two}, `{"next":{"name":"two"}}`: {one}, `{"labels":{"$none":{}}}`: {one},
	} {
		require.Equal(t, want, found(a.call("Cabinet.collection", `{"filter":`+filter+`}`)), filter)
	}
	page := a.call("Cabinet.collection", `{"pageSize":1}`)
	next := a.call("Cabinet.collection", fmt.Sprintf(`{"pageSize":1,"cursor":%q}`, page["nextCursor"]))
	require.ElementsMatch(t, []string{one, two}, append(found(page), found(next)...))
	rows := a.call("Specimen.aggregate", `{"groupBy":"cabinet"}`)["rows"].([]any)
	require.Contains(t, rows, map[string]any{"cabinet": two, "count": 2.0})

	patched := a.call("Cabinet.patch", fmt.Sprintf(`{"id":%q,"changes":{"labels":{"$remove":["old"]},"beside":null},"ifVersion":1}`, two))
	require.Nil(t, patched["besideId"])
	require.EqualValues(t, 1, a.call("Label.count", `{"filter":{"cabinets":{"$some":{"id":"`+two+`"}}}}`)["count"])
	require.EqualValues(t, 1, a.call("Cabinet.update-by-query", fmt.Sprintf(`{"filter":{"id":%q},"changes":{"name":"second"}}`, two))["updated"])
	require.EqualValues(t, 1, a.call("Cabinet.delete", fmt.Sprintf(`{"id":%q}`, two))["deleted"])
	for _, bad := range []string{`"cab_x"`, `"CAB_000102030405060708090a0b0c0d0e0f"`, `5`, `""`} {
		a.fails(fault.InvalidPayload, "Cabinet.get-by-id", `{"id":`+bad+`}`)
	}
	says(t, a.fails(fault.NotFound, "Cabinet.get-by-id", fmt.Sprintf(`{"id":%q}`, two)), "there is no Cabinet with id \""+two)
}

func TestEdgesWithSchemas(t *testing.T) {
	t.Parallel()
	if forEach(t, TestEdgesWithSchemas) {
		return
	}
	a, low, high, _ := stocked(t)
	visitor := a.call("Visitor.upsert", fmt.Sprintf(`{"model":{"name":"Ann","liked":[%q,%q]}}`, low, high))["id"].(string)
	cabinet := a.call("Cabinet.upsert", `{"model":{"name":"one"}}`)["id"].(string)
	a.call("Label.upsert", `{"model":{"id":"l"}}`)

	// A schema that is not exposed is filled with its defaults.
	require.Equal(t, 2, a.number(`SELECT count(*) FROM likes WHERE weight = 1 AND liked_at IS NOT NULL`))
	a.call("Visitor.patch", fmt.Sprintf(`{"id":%q,"changes":{"liked":{"$remove":[%q]}}}`, visitor, low))
	require.Equal(t, []string{visitor}, found(a.call("Visitor.collection", fmt.Sprintf(`{"filter":{"liked":{"$some":{"id":%q}}}}`, high))))
	require.Len(t, a.call("Specimen.get-by-id", fmt.Sprintf(`{"id":%q,"with":"likers"}`, high))["likers"], 1)
	f := a.fails(fault.InvalidPayload, "Visitor.collection", `{"with":"likes"}`)
	says(t, f, `unknown relationship "likes"`)
	// The other side does not know its defaults.
	says(t, a.fails(fault.InvalidPayload, "Specimen.patch", fmt.Sprintf(`{"id":%q,"changes":{"likers":[%q]}}`, low, visitor)), "written by the app only")

	// One that is exposed is written as what it is.
	says(t, a.fails(fault.InvalidPayload, "Visitor.patch", fmt.Sprintf(`{"id":%q,"changes":{"visited":[%q]}}`, visitor, cabinet)), "written as Visit")
	says(t, a.fails(fault.InvalidPayload, "Visitor.upsert", fmt.Sprintf(`{"model":{"name":"Bob","visited":[%q]}}`, cabinet)), "written as Visit")
	visit := a.call("Visit.upsert", fmt.Sprintf(`{"model":{"reason":"rain","visitorId":%q,"cabinetId":%q}}`, visitor, cabinet))["id"].(string)
	got := a.call("Visitor.get-by-id", fmt.Sprintf(`{"id":%q,"with":"visited,visits"}`, visitor))
	require.Equal(t, cabinet, got["visited"].([]any)[0].(map[string]any)["id"])
	require.Equal(t, visit, got["visits"].([]any)[0].(map[string]any)["id"])
	require.Equal(t, []string{cabinet}, found(a.call("Cabinet.collection", `{"filter":{"visitors":{"$some":{"name":"Ann"}},"visits":{"$some":{"reason":"rain"}}}}`)))
	// What was read can be sent back.
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	a.call("Visitor.upsert", `{"model":`+string(raw)+`}`)
	require.EqualValues(t, 1, a.call("Visit.delete", fmt.Sprintf(`{"id":%q}`, visit))["deleted"])
	require.EqualValues(t, 0, a.call("Visitor.count", `{"filter":{"visited":{"$exists":true}}}`)["count"])

	// One whose ids ent would give to several rows at once.
	says(t, a.fails(fault.InvalidPayload, "Visitor.patch", fmt.Sprintf(`{"id":%q,"changes":{"owned":["l"]}}`, visitor)), "written by the app only")
}

// jsonNumber is digits that no float holds.
const jsonNumber = "9007199254740993"

func TestLargeIntegersInJSON(t *testing.T) {
	t.Parallel()
	if forEach(t, TestLargeIntegersInJSON) {
		return
	}
	a := start(t, ent.Entities())
	model := fmt.Sprintf(`{"numbers":[1,%[1]s],"dict":{"a":%[1]s},"address":{"street":%[1]q,"zip":%[1]s},"weights":[1e20,%[1]s]}`, jsonNumber)
	made := a.call("Specimen.upsert", `{"model":`+model+`}`)
	id := made["id"].(string)
	require.Equal(t, []any{1.0, jsonNumber}, made["numbers"])
	require.Equal(t, map[string]any{"a": jsonNumber}, made["dict"])
	require.Equal(t, map[string]any{"street": jsonNumber, "zip": jsonNumber}, made["address"])
	require.Equal(t, []any{1e20, 9007199254740992.0}, made["weights"], "floats are numbers")

	// What was read is sent back, and stays a number.
	read, err := json.Marshal(made)
	require.NoError(t, err)
	require.Equal(t, made, a.call("Specimen.upsert", `{"model":`+string(read)+`}`))
	for filter, n := range map[string]int{
		`{"numbers":{"$has":` + jsonNumber + `}}`: 1, `{"numbers":{"$has":"` + jsonNumber + `"}}`: 1, `{"numbers":{"$has":9007199254740992}}`: 0,
		`{"dict":{"$path":{"a":` + jsonNumber + `}}}`: 1, `{"dict":{"$path":{"a":"` + jsonNumber + `"}}}`: 1, `{"dict":{"$path":{"a":{"$ne":"` + jsonNumber + `"}}}}`: 0,
		`{"dict":{"$path":{"a":{"$in":["` + jsonNumber + `"]}}}}`: 1, `{"address":{"$path":{"street":"` + jsonNumber + `"}}}`: 1, `{"address":{"$path":{"zip":"` + jsonNumber + `"}}}`: 1,
	} {
		require.EqualValues(t, n, a.call("Specimen.count", `{"filter":`+filter+`}`)["count"], filter)
	}

	// A place of no type keeps digits, and no number that somebody has rounded.
	for path, value := range map[string]string{
		"/changes/any/a/1": `{"any":{"a":[1,9.007199254740992e+15]}}`, "/changes/any": `{"any":9.007199254740992e+15}`, "/changes/raw/~1": `{"raw":{"/":-1e16}}`,
	} {
		f := a.fails(fault.InvalidPayload, "Specimen.patch", fmt.Sprintf(`{"id":%q,"changes":%s}`, id, value))
		require.Equal(t, path, f.Path)
		require.Contains(t, f.Message, "beyond 2^53")
		require.Contains(t, f.Hint, "as strings")
	}
	require.Equal(t, []any{jsonNumber}, a.call("Specimen.patch", fmt.Sprintf(`{"id":%q,"changes":{"raw":[%s]}}`, id, jsonNumber))["raw"])
	kept := a.call("Specimen.patch", fmt.Sprintf(`{"id":%q,"changes":{"any":{"a":%q,"b":1e300,"c":9007199254740991},"raw":[%[2]q]}}`, id, jsonNumber))
	require.Equal(t, map[string]any{"a": jsonNumber, "b": 1e300, "c": 9007199254740991.0}, kept["any"])
	require.Equal(t, []any{jsonNumber}, kept["raw"])
}

func TestFaultsOfJSONSayWhatIsWanted(t *testing.T) {
	t.Parallel()
	a := start(t, ent.Entities())
	op := a.view.Snapshot().Operation(catalog.EntityID("Specimen", "upsert"))
	for value, want := range map[string]struct{ path, message string }{
		`{"address":{"zip":"x"}}`:                       {"/address/zip", `address: want an integer from -9223372036854775808 to 9223372036854775807 (a string of digits beyond 2^53), got string "x"`},
		`{"address":{"stret":"x"}}`:                     {"/address/stret", `address: unknown member "stret"`},
		`{"history":[{"street":"a"},{"street":true}]}`:  {"/history/1/street", "history: want a string, got boolean true"},
		`{"address":[]}`:                                {"/address", "address: want an object, got array of 0"},
		`{"address":{"notes":{"a/b":1}}}`:               {"/address/notes/a~1b", "address: want a string, got number 1"},
		`{"numbers":[9.007199254740992e+15]}`:           {"/numbers/0", "numbers: want an integer from -9223372036854775808 to 9223372036854775807 (a string of digits beyond 2^53), got number 9.007199254740992e+15"},
		`{"numbers":["9223372036854775808"]}`:           {"/numbers/0", "numbers: want an integer from -9223372036854775808 to 9223372036854775807 (a string of digits beyond 2^53), got number 9223372036854775808"},
		`{"point":{"x":1.5,"y":0}}`:                     {"/point/x", "point: want an integer from -9223372036854775808 to 9223372036854775807 (a string of digits beyond 2^53), got number 1.5"},
		`{"numbers":[` + strings.Repeat("1", 30) + `]}`: {"/numbers/0", "numbers: want an integer from -9223372036854775808 to 9223372036854775807 (a string of digits beyond 2^53), got number " + strings.Repeat("1", 30)},
	} {
		f := a.fails(fault.InvalidPayload, "Specimen.upsert", `{"model":`+value+`}`)
		require.Equal(t, "/model"+want.path, f.Path, value)
		require.Equal(t, want.message, f.Message, value)
		_, err := op.Decode(catalog.Input{JSON: json.RawMessage(`{"model":` + value + `}`), Set: "default", Ahead: true})
		require.Equal(t, f.Path, fault.From(err).Path, "what is checked without a call: %s", value)
		require.Equal(t, f.Message, fault.From(err).Message)
	}
	require.Equal(t, []any{1000.0}, a.call("Specimen.upsert", `{"model":{"numbers":[1e3]}}`)["numbers"])
}
