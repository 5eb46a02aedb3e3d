package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	ent "github.com/koan-go/koan/tests/specimen/ent"
)

// A value that is none of its field's type, which another program has stored, is read as a text beside the
// other rows, in every way of reading; it is kept where it is sent back, and can be corrected.
func TestValuesOfAnotherTypeAreTexts(t *testing.T) {
	t.Parallel()
	if forEach(t, TestValuesOfAnotherTypeAreTexts) {
		return
	}
	deep := strings.Repeat("[", 3000) + strings.Repeat("]", 3000)
	type foreign struct {
		entity, column, stored, field string
		seen                          any
		correct                       string
	}
	cases := []foreign{
		{"Specimen", "raw", "'" + deep + "'", "raw", deep, `[1]`},
	}
	if postgres(t) {
		cases = append(
			cases,
			foreign{"Measure", "loose", "'NaN'", "loose", "NaN", `1.5`},
			foreign{"Measure", "single", "'-Infinity'", "single", "-Infinity", `1.5`},
			foreign{"Measure", "price", "'NaN'", "price", "NaN", `"1.50"`},
		)
	} else {
		cases = append(
			cases,
			foreign{"Measure", "medium", "'abc'", "medium", "abc", `7`},
			foreign{"Measure", "medium", "1.5", "medium", "1.5", `7`},
			foreign{"Measure", "medium", "x'ff00'", "medium", "/wA=", `7`},
			foreign{"Measure", "loose", "'abc'", "loose", "abc", `1.5`},
			foreign{"Measure", "loose", "9e999", "loose", "Infinity", `1.5`},
			foreign{"Measure", "code", "x'ff61'", "code", "\ufffda", `"x"`},
			foreign{"Measure", "code", "CAST(x'ff61' AS TEXT)", "code", "\ufffda", `"x"`},
			foreign{"Measure", "moment", "'tomorrow'", "moment", "tomorrow", `"2026-01-31T08:00:00Z"`},
			foreign{"Measure", "price", "'abc'", "price", "abc", `"1.50"`},
			foreign{"Slot", "free", "'perhaps'", "free", "perhaps", `true`},
		)
	}
	for _, c := range cases {
		t.Run(c.entity+"."+c.field+" "+c.stored[:min(len(c.stored), 12)], func(t *testing.T) {
			a := start(t, ent.Entities())
			model := map[string]string{"Specimen": `{"text":"x","color":"red"}`, "Measure": `{"code":"x"}`, "Slot": `{"shelf":"A","place":1}`}[c.entity]
			id := fmt.Sprint(a.call(c.entity+".upsert", `{"model":`+model+`}`)["id"])
			if c.entity == "Slot" {
				model = `{"shelf":"A","place":2}`
			}
			other := fmt.Sprint(a.call(c.entity+".upsert", `{"model":`+model+`}`)["id"])
			table := map[string]string{"Specimen": "specimen", "Measure": "measures", "Slot": "slots"}[c.entity]
			db := beside(t, a.place, "default")
			_, err := db.Exec(`UPDATE ` + table + ` SET ` + c.column + ` = ` + c.stored + ` WHERE id = '` + id + `'`)
			require.NoError(t, err)
			held := func() (v any) {
				require.NoError(t, db.QueryRow(`SELECT CAST(`+c.column+` AS TEXT) FROM `+table+` WHERE id = '`+id+`'`).Scan(&v))
				return fmt.Sprint(v)
			}
			was := held()

			row := a.call(c.entity+".get-by-id", fmt.Sprintf(`{"id":%q}`, id))
			require.Equal(t, c.seen, row[c.field])
			for _, input := range []string{`{}`, `{"sort":"` + c.field + `"}`, `{"fields":"` + c.field + `"}`} {
				if c.field == "raw" && strings.Contains(input, "sort") {
					continue
				}
				items := a.call(c.entity+".collection", input)["items"].([]any)
				require.Len(t, items, 2, input)
			}
			if c.field != "raw" { // page by page
				cursor, seen := "", 0
				for range 2 {
					page := a.call(c.entity+".collection", fmt.Sprintf(`{"sort":"%s","pageSize":1%s}`, c.field, cursor))
					seen += len(page["items"].([]any))
					if next, ok := page["nextCursor"].(string); ok {
						cursor = fmt.Sprintf(`,"cursor":%q`, next)
					}
				}
				require.Equal(t, 2, seen)
			}
			for _, write := range []string{`upsert {"model":%s}`, `upsert {"model":%s,"replace":true}`, `upsert-many {"models":[%s]}`, `patch {"id":"` + id + `","changes":%s}`} {
				op, input, _ := strings.Cut(write, " ")
				sent, err := json.Marshal(a.call(c.entity+".get-by-id", fmt.Sprintf(`{"id":%q}`, id)))
				require.NoError(t, err)
				a.call(c.entity+"."+op, fmt.Sprintf(input, sent))
				require.Equal(t, was, held(), write)
			}
			if _, isText := row[c.field].(string); isText && c.field != "code" && c.field != "raw" {
				text, _ := json.Marshal(c.seen)
				f := a.fails(fault.InvalidPayload, c.entity+".patch", fmt.Sprintf(`{"id":%q,"changes":{%q:%s}}`, other, c.field, text))
				require.Equal(t, "/changes/"+c.field, f.Path, "where it is not stored")
			}
			corrected := a.call(c.entity+".patch", fmt.Sprintf(`{"id":%q,"changes":{%q:%s}}`, id, c.field, c.correct))
			now, err := json.Marshal(corrected[c.field])
			require.NoError(t, err)
			require.JSONEq(t, c.correct, string(now))
		})
	}
}

// Where the app has hooks, ent reads a row that it has changed into Go types, which may not hold what
// another program has stored beside the change. That is no rule of the app.
func TestForeignValuesBesideAChangeThroughEnt(t *testing.T) {
	t.Parallel()
	if forEach(t, TestForeignValuesBesideAChangeThroughEnt) {
		return
	}
	stored := map[bool]string{true: `"loose" = 'NaN'`, false: `"medium" = 'abc'`}[postgres(t)]
	a := start(t, ent.Entities(ent.OnClient(func(c *ent.Client) { c.Use(passing) })))
	id := fmt.Sprint(a.call("Measure.upsert", `{"model":{"code":"x"}}`)["id"])
	_, err := beside(t, a.place, "default").Exec(`UPDATE measures SET ` + stored + ` WHERE id = '` + id + `'`)
	require.NoError(t, err)
	if postgres(t) { // Go's floats hold it
		require.Equal(t, "y", a.call("Measure.patch", fmt.Sprintf(`{"id":%q,"changes":{"code":"y"}}`, id))["code"])
		return
	}
	f := a.fails(fault.Conflict, "Measure.patch", fmt.Sprintf(`{"id":%q,"changes":{"code":"y"}}`, id))
	require.Equal(t, `the stored "medium" of this Measure is not what the app's Go type can hold`, f.Message)
	require.Equal(t, fault.Fix, f.Retry)
	require.Equal(t, "x", a.call("Measure.get-by-id", fmt.Sprintf(`{"id":%q}`, id))["code"], "nothing is written")
	require.EqualValues(t, 7, a.call("Measure.patch", fmt.Sprintf(`{"id":%q,"changes":{"code":"y","medium":7}}`, id))["medium"])
}
