package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/specimen/ent"
)

// What the type of a column would round, cut or refuse is refused at its field, on both databases
// and on every path that writes.
func TestValuesBeyondTheirColumnsAreRefused(t *testing.T) {
	t.Parallel()
	if forEach(t, TestValuesBeyondTheirColumnsAreRefused) {
		return
	}
	for name, opts := range map[string][]ent.EntitiesOption{"plain": nil, "hooked": {ent.OnClient(func(c *ent.Client) { c.Use(passing) })}} {
		t.Run(name, func(t *testing.T) {
			a := start(t, ent.Entities(opts...)).within(t)
			id := fmt.Sprint(a.call("Measure.upsert", `{"model":{"price":"1"}}`)["id"])
			writes := map[string][2]string{ // with the path of the value
				"Measure.upsert":          {`{"model":{%q:%s}}`, "/model/"},
				"Measure.upsert-many":     {`{"models":[{},{},{%q:%s},{}]}`, "/models/2/"},
				"Measure.patch":           {fmt.Sprintf(`{"id":%q,"changes":{%%q:%%s}}`, id), "/changes/"},
				"Measure.update-by-query": {fmt.Sprintf(`{"filter":{"id":%q},"changes":{%%q:%%s}}`, id), "/changes/"},
			}
			for _, c := range []struct{ field, value, says string }{
				{"price", `"9.999"`, "price must have at most 2 digits after the point, not 3"},
				{"price", `12345678901`, "price must have at most 10 digits before the point, not 11"},
				{"price", `"-10000000000"`, "price must have at most 10 digits before the point, not 11"},
				{"textPrice", `"0.001"`, "textPrice must have at most 2 digits after the point, not 3"},
				{"rate", `1.2345`, "rate must have at most 3 digits after the point, not 4"},
				{"rate", `1234`, "rate must have at most 3 digits before the point, not 4"},
				{"ratio", `1e-4`, "ratio must have at most 3 digits after the point, not 4"},
				{"single", `1e39`, "takes a number that fits a 32-bit float"},
				{"small", `40000`, "small must be from -32768 to 32767, not 40000"},
				{"medium", `-2147483649`, "medium must be from -2147483648 to 2147483647, not -2147483649"},
				{"medium", `"9223372036854775808"`, "integers from -2147483648 to 2147483647"},
				{"narrow", `2147483648`, "narrow must be from -2147483648 to 2147483647, not 2147483648"},
				{"whole", `100000`, "whole must have at most 5 digits before the point, not 6"},
				{"code", `"toolong"`, "code must have at most 5 characters, not 7"},
				{"fixed", `"ßßßß"`, "fixed must have at most 3 characters, not 4"},
				{"bits", `"101"`, "bits must have at least 4 characters"},
				{"bits", `"10102"`, "bits must have at most 4 characters, not 5"},
				{"bits", `"1012"`, "bits must match ^[01]*$"},
				{"secret", `"12345"`, "secret must have at most 4 characters"},
				{"second", `"2026-01-31T08:00:00.5Z"`, "second must be a time in whole seconds"},
				{"milli", `"2026-01-31T08:00:00.0001Z"`, "milli must have at most 3 digits of a second"},
			} {
				for op, w := range writes {
					f := a.fails(fault.InvalidPayload, op, fmt.Sprintf(w[0], c.field, c.value))
					require.Equal(t, w[1]+c.field, f.Path, "%s %s", op, c.value)
					says(t, f, c.says)
					if c.field == "secret" {
						require.NotContains(t, f.Error(), "not 5")
					}
				}
			}
			require.EqualValues(t, 1, a.call("Measure.count", `{}`)["count"], "nothing of it was stored")
			for _, c := range [][2]string{
				{"price", `"9999999999.99"`},
				{"price", `"-0.01"`},
				{"textPrice", `"12.50"`},
				{"rate", `999.999`},
				{"ratio", `-0.001`},
				{"single", `0.1`},
				{"small", `-32768`},
				{"medium", `2147483647`},
				{"whole", `-99999`},
				{"code", `"äöüßé"`},
				{"fixed", `"abc"`},
				{"bits", `"1010"`},
				{"second", `"2026-01-31T08:00:00Z"`},
				{"milli", `"2026-01-31T08:00:00.001Z"`},
				{"loose", `0.30000000000000004`},
			} {
				got, err := json.Marshal(a.call("Measure.patch", fmt.Sprintf(`{"id":%q,"changes":{%q:%s}}`, id, c[0], c[1]))[c[0]])
				require.NoError(t, err)
				require.Equal(t, c[1], string(got), c[0])
			}
		})
	}
}

// Decimals come back with the digits behind their point that their column has.
func TestDecimalsKeepTheirScale(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDecimalsKeepTheirScale) {
		return
	}
	a := start(t, ent.Entities())
	for sent, want := range map[string]string{`"12.50"`: "12.50", `12.5`: "12.50", `"7"`: "7.00", `"-0.1"`: "-0.10", `0`: "0.00"} {
		for _, field := range []string{"price", "textPrice"} {
			got := a.call("Measure.upsert", fmt.Sprintf(`{"model":{%q:%s}}`, field, sent))
			require.Equal(t, want, got[field], sent)
			require.Equal(t, want, a.call("Measure.get-by-id", fmt.Sprintf(`{"id":"%v"}`, got["id"]))[field], sent)
			rows := a.call("Measure.aggregate", fmt.Sprintf(`{"filter":{"id":"%v"},"groupBy":[%q],"max":[%q]}`, got["id"], field, field))["rows"].([]any)[0].(map[string]any)
			require.Equal(t, want, rows[field], sent)
		}
	}
}

// A fault of the database that names no column has the field all the same, in upsert-many with
// the index, and one call has them all.
func TestFaultsOfTheDatabaseNameTheirField(t *testing.T) {
	t.Parallel()
	if forEach(t, TestFaultsOfTheDatabaseNameTheirField) {
		return
	}
	if !postgres(t) {
		return // which has no such type
	}
	a := start(t, ent.Entities())
	f := a.fails(fault.InvalidPayload, "Measure.upsert", `{"model":{"code":"x","network":"no address"}}`)
	require.Equal(t, "/model/network", f.Path)
	f = a.fails(fault.InvalidPayload, "Measure.upsert-many", `{"models":[{"network":"10.0.0.1"},{"network":"none"},{"code":"y"},{"network":"neither"}]}`)
	details := f.Details.([]fault.Detail)
	require.Len(t, details, 2)
	require.Equal(t, "/models/1/network", details[0].Path)
	require.Equal(t, "/models/3/network", details[1].Path)
	require.EqualValues(t, 0, a.call("Measure.count", `{}`)["count"])
}

// The app's own code gets the same fault for what it sets, and its clock is rounded.
func TestValuesOfTheAppsCodeBeyondTheirColumns(t *testing.T) {
	t.Parallel()
	if forEach(t, TestValuesOfTheAppsCodeBeyondTheirColumns) {
		return
	}
	a := start(t, ent.Entities(ent.OnClient(func(c *ent.Client) {
		c.Measure.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				switch code, _ := m.(*ent.MeasureMutation).Code(); code {
				case "small":
					m.(*ent.MeasureMutation).SetSmall(40_000)
				case "rate":
					m.(*ent.MeasureMutation).SetRate(0.0001)
				case "bits":
					m.(*ent.MeasureMutation).SetBits("1")
				case "clock":
					at := time.Date(2026, 1, 31, 8, 0, 0, 600_600_000, time.UTC)
					m.(*ent.MeasureMutation).SetSecond(at)
					m.(*ent.MeasureMutation).SetMilli(at)
				}
				return next.Mutate(ctx, m)
			})
		})
	})))
	for _, field := range []string{"small", "rate", "bits"} {
		f := a.fails(fault.InvalidPayload, "Measure.upsert", fmt.Sprintf(`{"model":{"code":%q}}`, field))
		require.Equal(t, "/model/"+field, f.Path)
	}
	id := fmt.Sprint(a.call("Measure.upsert", `{"model":{}}`)["id"])
	for op, input := range map[string]string{
		"upsert":          `{"model":{"code":"clock"}}`,
		"upsert-many":     `{"models":[{"code":"clock"},{"code":"clock"}]}`,
		"patch":           fmt.Sprintf(`{"id":%q,"changes":{"code":"clock"}}`, id),
		"update-by-query": fmt.Sprintf(`{"filter":{"id":%q},"changes":{"code":"clock"}}`, id),
	} {
		a.call("Measure."+op, input)
		for _, row := range a.call("Measure.collection", `{"filter":{"code":"clock"}}`)["items"].([]any) {
			require.Equal(t, "2026-01-31T08:00:01Z", row.(map[string]any)["second"], op)
			require.Equal(t, "2026-01-31T08:00:00.601Z", row.(map[string]any)["milli"], op)
		}
	}
	f := a.fails(fault.InvalidPayload, "Measure.upsert", `{"model":{"milli":"2026-01-31T08:00:00.0001Z"}}`)
	require.Equal(t, "/model/milli", f.Path)
	for range 3 {
		second := a.call("Measure.upsert", `{"model":{}}`)["second"].(string)
		require.Len(t, second, len("2026-01-31T08:00:00Z"), second)
	}
}

// A cursor continues behind any value of any field by which rows can be sorted, and each row is
// on one page.
func TestCursorsOverEveryField(t *testing.T) {
	t.Parallel()
	if forEach(t, TestCursorsOverEveryField) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Measure.upsert-many", `{"models":[
		{},{"price":"1.10","textPrice":"10","rate":1.5,"ratio":1.5,"single":0.1,"loose":0.1,"small":1,"medium":1,"whole":1,"narrow":1,"code":"a","fixed":"a","bits":"0000","network":"10.0.0.1","milli":"2026-01-31T08:00:00.001Z","moment":"2026-01-31T08:00:00.000000001Z","second":"2026-01-31T08:00:00Z"},
		{"price":"1.1","textPrice":"9","rate":-1.5,"ratio":-1.5,"single":0.2,"loose":0.30000000000000004,"small":-1,"medium":-1,"whole":-1,"narrow":-1,"code":"B","fixed":"B","bits":"0001","network":"10.0.0.2","milli":"2026-01-31T08:00:00Z","moment":"2026-01-31T08:00:00.000000002Z","second":"2026-01-31T08:00:01Z"},
		{"price":"9","textPrice":"9.00","rate":10,"ratio":10,"single":3,"loose":1e300,"small":2,"medium":2,"whole":2,"narrow":2,"code":"é","fixed":"é","bits":"1111","network":"9.0.0.1","milli":"2025-01-31T08:00:00Z","moment":"2026-01-31T08:00:00.000001Z","second":"2026-01-31T08:00:00Z"},
		{"price":"10","textPrice":"-1","rate":9,"ratio":9,"single":-0.1,"loose":1e-300,"small":2,"medium":2,"whole":2,"narrow":2,"code":"","fixed":"ab","bits":"1000","network":"::1","moment":"0001-01-01T00:00:00Z","second":"2026-01-31T08:00:02Z"}]}`)
	for _, s := range specimens {
		a.call("Specimen.upsert", fmt.Sprintf(`{"model":{%q:%s}}`, s.field, s.low))
		a.call("Specimen.upsert", fmt.Sprintf(`{"model":{%q:%s}}`, s.field, s.high))
	}
	for _, entity := range []string{"Measure", "Specimen"} {
		all := int(a.call(entity+".count", `{}`)["count"].(float64))
		for _, f := range a.view.Snapshot().Resource(entity).Fields {
			for _, sort := range []string{f.Name, "-" + f.Name} {
				if !f.Readable() {
					continue
				}
				seen, cursor := map[any]bool{}, ""
				for page := 0; page <= all; page++ {
					in := map[string]any{"sort": sort, "pageSize": 2, "fields": "id"}
					if cursor != "" {
						in["cursor"] = cursor
					}
					raw, err := json.Marshal(in)
					require.NoError(t, err)
					out, _, err := a.try(entity+".collection", string(raw))
					if err != nil && page == 0 && strings.Contains(err.Error(), "sort") { // by no such field
						break
					}
					require.NoError(t, err, "%s %s", entity, sort)
					var got struct {
						Items      []map[string]any
						NextCursor string
					}
					require.NoError(t, json.Unmarshal(out, &got))
					for _, row := range got.Items {
						require.False(t, seen[row["id"]], "%s %s: %v twice", entity, sort, row["id"])
						seen[row["id"]] = true
					}
					if cursor = got.NextCursor; cursor == "" {
						require.Len(t, seen, all, "%s %s", entity, sort)
						break
					}
				}
			}
		}
	}
}

// What scripts and other readers could not read is not stored, whoever sends it.
func TestJSONThatReadersCannotReadIsRefused(t *testing.T) {
	t.Parallel()
	if forEach(t, TestJSONThatReadersCannotReadIsRefused) {
		return
	}
	nested := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	hooked := ""
	a := start(t, ent.Entities(ent.OnClient(func(c *ent.Client) {
		c.Specimen.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				if hooked != "" {
					m.(*ent.SpecimenMutation).SetRaw(json.RawMessage(hooked))
				}
				return next.Mutate(ctx, m)
			})
		})
	})))
	a.call("Specimen.upsert", `{"model":{"raw":`+nested(200)+`}}`)
	for value, at := range map[string]string{nested(201): "", nested(600): "", `{"a":["x\u0000"]}`: "/a/0", `{"a":{"x\u0000":1}}`: "/a", `[1e999]`: "/0"} {
		f := a.fails(fault.InvalidPayload, "Specimen.upsert", `{"model":{"raw":`+value+`}}`)
		require.Equal(t, "/model/raw"+at, f.Path)
		hooked = value
		f = a.fails(fault.InvalidPayload, "Specimen.upsert", `{"model":{}}`)
		require.Equal(t, "/model/raw", f.Path)
		hooked = ""
	}
	require.EqualValues(t, 1, a.call("Specimen.count", `{}`)["count"])
}

// What another program, or an earlier schema, has stored can be read, and sent back as it is; it
// cannot be sent where it is not stored.
func TestForeignValuesComeAndGo(t *testing.T) {
	t.Parallel()
	if forEach(t, TestForeignValuesComeAndGo) {
		return
	}
	for name, opts := range map[string][]ent.EntitiesOption{"plain": nil, "hooked": {ent.OnClient(func(c *ent.Client) { c.Use(passing) })}} {
		t.Run(name, func(t *testing.T) {
			a := start(t, ent.Entities(opts...))
			id := a.call("Specimen.upsert", `{"model":{"text":"x","color":"red"}}`)["id"].(string)
			other := a.call("Specimen.upsert", `{"model":{"text":"y","color":"red"}}`)["id"].(string)
			measure := fmt.Sprint(a.call("Measure.upsert", `{"model":{"code":"x"}}`)["id"])
			db := beside(t, a.place, "default")
			foreign := []string{`UPDATE specimen SET color = 'mauve', numbers = '[1,null]', address = '{"street":null,"old":1}' WHERE id = '` + id + `'`}
			if postgres(t) {
				foreign = append(foreign, `UPDATE measures SET loose = 'NaN', moment = '20000-01-01 00:00:00+00'`)
			} else {
				foreign = append(foreign, `UPDATE measures SET code = 'much too long', second = '20000-01-01 00:00:00+00:00'`)
			}
			for _, statement := range foreign {
				if _, err := db.Exec(statement); err != nil { // a check of the database: nobody could have written it
					t.Log(statement, err)
				}
			}
			whole := func(entity, id string) string {
				raw, _, err := a.try(entity+".get-by-id", fmt.Sprintf(`{"id":%q}`, id))
				require.NoError(t, err)
				return string(raw)
			}
			for _, row := range [][2]string{{"Specimen", id}, {"Measure", measure}} {
				before := whole(row[0], row[1])
				for _, write := range []string{`upsert {"model":%s}`, `upsert {"model":%s,"replace":true}`, `upsert-many {"models":[%s]}`, `patch {"id":"` + row[1] + `","changes":%s}`} {
					op, input, _ := strings.Cut(write, " ")
					_, _, err := a.try(row[0]+"."+op, fmt.Sprintf(input, before))
					require.NoError(t, err, "%s %s", write, before)
					require.Equal(t, before, whole(row[0], row[1]), write)
				}
			}
			if strings.Contains(whole("Specimen", id), "mauve") {
				f := a.fails(fault.InvalidPayload, "Specimen.patch", fmt.Sprintf(`{"id":%q,"changes":{"color":"mauve"}}`, other))
				require.Equal(t, "/changes/color", f.Path)
				f = a.fails(fault.InvalidPayload, "Specimen.upsert-many", fmt.Sprintf(`{"models":[{"id":%q,"color":"mauve"},{"id":%q,"color":"mauve"}]}`, id, other))
				require.Equal(t, "/models/1/color", f.Path)
				a.fails(fault.InvalidPayload, "Specimen.upsert", `{"model":{"color":"mauve"}}`)
				a.call("Specimen.patch", fmt.Sprintf(`{"id":%q,"changes":{"color":"mauve","text":"z"}}`, id))
			}
		})
	}
}

// Times that PostgreSQL keeps and JSON has no form for are texts: they are read and sorted by, cursors
// continue behind them, and they are kept where they are sent back.
func TestTimesBeyondAllOthersComeAndGo(t *testing.T) {
	t.Parallel()
	if forEach(t, TestTimesBeyondAllOthersComeAndGo) {
		return
	}
	a := start(t, ent.Entities())
	db := beside(t, a.place, "default")
	var want []any
	moments := map[bool][]string{true: {"-infinity", "0044-03-15 00:00:00+00 BC", "20000-01-01 00:00:00+00", "infinity"}, false: {"-0043-03-15 00:00:00+00:00", "20000-01-01 00:00:00+00:00"}}[postgres(t)]
	for _, moment := range moments {
		id := fmt.Sprint(a.call("Measure.upsert", `{"model":{"code":"x"}}`)["id"])
		want = append(want, id)
		_, err := db.Exec(`UPDATE measures SET moment = '` + moment + `' WHERE id = ` + id)
		require.NoError(t, err)
		before := a.call("Measure.get-by-id", fmt.Sprintf(`{"id":%q}`, id))
		sent, err := json.Marshal(before)
		require.NoError(t, err)
		a.call("Measure.upsert", fmt.Sprintf(`{"model":%s}`, sent))
		a.call("Measure.patch", fmt.Sprintf(`{"id":%q,"changes":%s}`, id, sent))
		require.Equal(t, before, a.call("Measure.get-by-id", fmt.Sprintf(`{"id":%q}`, id)))
	}
	require.NotEmpty(t, a.call("Measure.aggregate", `{"max":["moment"],"min":["moment"]}`)["rows"])
	var seen []any
	cursor := ""
	for range want {
		page := a.call("Measure.collection", fmt.Sprintf(`{"sort":"moment","pageSize":1%s}`, cursor))
		seen = append(seen, fmt.Sprint(page["items"].([]any)[0].(map[string]any)["id"]))
		if page["nextCursor"] != nil {
			cursor = fmt.Sprintf(`,"cursor":%q`, page["nextCursor"])
		}
	}
	require.Equal(t, want, seen)
}

// upsert-many has everything that is wrong in one answer, each with its index.
func TestUpsertManyNamesAllProblems(t *testing.T) {
	t.Parallel()
	a := start(t, ent.Entities())
	for _, c := range []struct {
		op, input string
		paths     []string
	}{
		{
			"Slot.upsert-many",
			`{"models":[{"shelf":"a","place":1},{"shelf":7,"place":1},{"place":2},{"shelf":"b"},{"shelf":"c","place":3,"plaec":4},{"shelf":"d","place":1,"holds":"dragon"},{"shelf":"e","place":-1}]}`,
			[]string{"/models/1/shelf", "/models/2/shelf", "/models/3/place", "/models/4/plaec", "/models/5/holds", "/models/6/place"},
		},
		{"Slot.upsert", `{"model":{"shelf":7,"holds":"dragon"}}`, []string{"/model/shelf", "/model/holds", "/model/place"}},
	} {
		f := a.fails(fault.InvalidPayload, c.op, c.input)
		var paths []string
		for _, d := range f.Details.([]fault.Detail) {
			paths = append(paths, d.Path)
		}
		require.ElementsMatch(t, c.paths, paths, c.input)
	}
}
