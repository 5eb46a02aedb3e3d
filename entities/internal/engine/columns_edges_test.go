package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/specimen/ent"
)

// hookings are the options of an app whose engine writes by statements of its own,
// and of one where it writes through ent's builders.
var hookings = map[string][]ent.EntitiesOption{
	"native": nil,
	"hooked": {ent.OnClient(func(c *ent.Client) { c.Renamed.Use(passing); c.NickName.Use(passing) })},
}

// An integer id that the schema declares may be given, and the database counts where it is not,
// as ent has it.
func TestDeclaredIDIsCountedUp(t *testing.T) {
	if forEach(t, TestDeclaredIDIsCountedUp) {
		return
	}
	for name, opts := range hookings {
		t.Run(name, func(t *testing.T) {
			a := start(t, ent.Entities(opts...))
			id := func(input string) any { return a.call("Renamed.upsert", input)["id"] }
			require.Equal(t, "1", id(`{"model":{"serialNo":"a"}}`))
			require.Equal(t, "7", id(`{"model":{"id":7,"serialNo":"b"}}`))
			var ids []any
			for _, item := range a.call("Renamed.upsert-many", `{"models":[{"serialNo":"c"},{"id":"20","serialNo":"d"},{"serialNo":"a"}]}`)["items"].([]any) {
				ids = append(ids, item.(map[string]any)["id"])
			}
			require.Equal(t, []any{"20", "1"}, ids[1:])
			require.Equal(t, "c", a.call("Renamed.get-by-id", fmt.Sprintf(`{"id":%q}`, ids[0]))["serialNo"])

			// It counts on from what is given, one by one or in a batch, in whatever order, also in one
			// that was rolled back with what gave it.
			counts := func(serials ...string) {
				t.Helper()
				for _, s := range serials {
					id(fmt.Sprintf(`{"model":{"serialNo":%q}}`, s))
				}
			}
			counts("e")
			require.Equal(t, "22", id(`{"model":{"id":22,"serialNo":"f"}}`))
			counts("g", "h")
			a.call("Renamed.upsert-many", `{"models":[{"id":25,"serialNo":"i"},{"id":26,"serialNo":"j"},{"id":5000,"serialNo":"k"}]}`)
			counts("l", "m")
			for i := range 4 { // the ids that are counted next
				next, err := strconv.Atoi(id(fmt.Sprintf(`{"model":{"serialNo":"n%d"}}`, i)).(string))
				require.NoError(t, err)
				a.call("Renamed.upsert-many", fmt.Sprintf(`{"models":[{"serialNo":"o%d"},{"id":%d,"serialNo":"p%d"},{"serialNo":"q%d"}]}`, i, next+1+i, i, i))
			}
			require.EqualValues(t, 28, a.call("Renamed.count", `{}`)["count"])

			// After the last id SQLite counts no more.
			id(`{"model":{"id":"9223372036854775807","serialNo":"z"}}`)
			if postgres(t) {
				counts("after", "the", "end")
				return
			}
			for op, input := range map[string]string{"Renamed.upsert": `{"model":{"serialNo":"none"}}`, "Renamed.upsert-many": `{"models":[{"serialNo":"none"}]}`} {
				f := a.fails(fault.Conflict, op, input)
				require.Contains(t, f.Message, "the last id of Renamed")
				require.Contains(t, input, strings.Split(f.Path, "/")[1])
				require.Equal(t, fault.Fix, f.Retry)
			}
			a.call("Renamed.upsert", `{"model":{"id":"6000","serialNo":"chosen"}}`)
		})
	}
}

func TestRenamedEdgesKeepWhatIsLinked(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRenamedEdgesKeepWhatIsLinked) {
		return
	}
	for name, opts := range hookings {
		t.Run(name, func(t *testing.T) {
			a := start(t, ent.Entities(opts...))
			c, ctx := a.entBeside(t), t.Context()
			for _, id := range []string{"1", "2", "3"} {
				a.call("NickName.upsert", `{"model":{"id":"`+id+`","serialNo":"n`+id+`"}}`)
			}
			a.call("Renamed.upsert", `{"model":{"id":"1","serialNo":"a"}}`)
			a.call("Renamed.upsert", `{"model":{"id":"2","serialNo":"b","parentItem":"1","nickNames":["1"],"mainName":"2","knownAs":["1","2"]}}`)
			linked := func(parent int, nick, known []int, main int) {
				t.Helper()
				row := c.Renamed.GetX(ctx, 2)
				require.NotNil(t, row.ParentID)
				require.Equal(t, parent, *row.ParentID)
				require.Equal(t, nick, row.QueryNickNames().IDsX(ctx))
				require.ElementsMatch(t, known, row.QueryKnownAs().IDsX(ctx))
				require.Equal(t, main, row.QueryMainName().OnlyIDX(ctx))
			}
			linked(1, []int{1}, []int{1, 2}, 2)

			// The edge's own field, the inverse sides, and lists that change.
			a.call("Renamed.upsert", `{"model":{"id":"3","serialNo":"c"}}`)
			a.call("Renamed.patch", `{"id":"2","changes":{"parentID":"3","knownAs":{"$remove":["2"],"$add":["3"]},"nickNames":["3"],"mainName":"1"}}`)
			linked(3, []int{3}, []int{1, 3}, 1)
			a.call("NickName.patch", `{"id":"2","changes":{"ownerItem":"2","knownItems":["2"]}}`)
			require.Equal(t, []int{2, 3}, c.Renamed.GetX(ctx, 2).QueryNickNames().IDsX(ctx))
			a.call("Renamed.update-by-query", `{"filter":{"serialNo":"b"},"changes":{"parentID":"1"}}`)
			a.call("NickName.patch", `{"id":"2","changes":{"ownerItem":null}}`)
			linked(1, []int{3}, []int{1, 2, 3}, 1)

			got := a.call("Renamed.get-by-id", `{"id":"2","with":"all"}`)
			require.Equal(t, "1", got["parentItem"].(map[string]any)["id"])
			require.Equal(t, "1", got["mainName"].(map[string]any)["id"])
			require.Len(t, got["nickNames"], 1)
			require.Len(t, got["knownAs"], 3)
			for filter, want := range map[string][]string{
				`{"parentItem":{"serialNo":"a"}}`: {"2"}, `{"parentID":"1"}`: {"2"}, `{"childItems":{"$some":{"serialNo":"b"}}}`: {"1"},
				`{"nickNames":{"$some":{"serialNo":"n3"}}}`: {"2"}, `{"knownAs":{"$none":{}}}`: {"1", "3"}, `{"mainName":null}`: {"1", "3"},
			} {
				require.Equal(t, want, found(a.call("Renamed.collection", `{"filter":`+filter+`}`)), filter)
			}
			require.Equal(t, []string{"2"}, found(a.call("NickName.collection", `{"filter":{"knownItems":{"$some":{"id":"2"}},"serialNo":"n2"}}`)))
			require.Contains(t, a.call("NickName.aggregate", `{"groupBy":"ownerItem"}`)["rows"], map[string]any{"ownerItem": "2", "count": 1.0})
			require.Contains(t, a.call("Renamed.aggregate", `{"groupBy":"parentItem"}`)["rows"], map[string]any{"parentItem": "1", "count": 1.0})

			changes, err := a.recorded("Renamed.patch", `{"id":"2","changes":{"parentItem":null,"knownAs":["1"]}}`)
			require.NoError(t, err)
			require.Len(t, changes, 1)
			require.Contains(t, string(changes[0].Before), `"parentID":"1"`)
			require.Contains(t, string(changes[0].After), `"parentID":null`)
			require.Contains(t, string(changes[0].After), `"knownAs":["1"]`)
			require.Nil(t, c.Renamed.GetX(ctx, 2).ParentID)
			require.EqualValues(t, 1, a.call("Renamed.delete", `{"id":"2"}`)["deleted"])
			require.Zero(t, a.number(`SELECT count(*) FROM "Known As"`))
		})
	}
}

func TestRenamedColumnsAreFoundVersionedAndChecked(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRenamedColumnsAreFoundVersionedAndChecked) {
		return
	}
	for name, opts := range hookings {
		t.Run(name, func(t *testing.T) {
			a := start(t, ent.Entities(opts...))
			a.call("Renamed.upsert", `{"model":{"id":"1","serialNo":"a","title":"Green glass"}}`)
			a.call("Renamed.upsert", `{"model":{"id":"2","serialNo":"b","title":"Red glass"}}`)
			require.Equal(t, []string{"1"}, found(a.call("Renamed.collection", `{"q":"green"}`)))

			byKey := a.call("Renamed.upsert", `{"model":{"serialNo":"a","title":"Blue glass"}}`)
			require.Equal(t, "1", byKey["id"])
			require.EqualValues(t, 2, byKey["editCount"])
			require.EqualValues(t, 3, a.call("Renamed.patch", `{"id":"1","changes":{"title":"Grey glass"},"ifVersion":2}`)["editCount"])
			a.fails(fault.Conflict, "Renamed.patch", `{"id":"1","changes":{"title":"Gold glass"},"ifVersion":2}`)
			a.fails(fault.Conflict, "Renamed.delete", `{"id":"1","ifVersion":2}`)
			require.Greater(t, byKey["changedAt"], a.call("Renamed.get-by-id", `{"id":"2"}`)["changedAt"], "what an update sets by a function")

			require.Equal(t, "/changes/serialNo", a.fails(fault.Conflict, "Renamed.patch", `{"id":"1","changes":{"serialNo":"b"}}`).Path)
			require.Contains(t, a.fails(fault.Conflict, "Renamed.patch", `{"id":"1","changes":{"serialNo":"b"}}`).Message, "another Renamed already has this serialNo")
			says(t, a.fails(fault.InvalidPayload, "Renamed.patch", `{"id":"1","changes":{"title":"x"}}`), `"/changes/title"`)
			says(t, a.fails(fault.InvalidPayload, "Renamed.patch", `{"id":"1","changes":{"parentID":"99"}}`), `"/changes/parentID"`)
			says(t, a.fails(fault.InvalidPayload, "Renamed.patch", `{"id":"1","changes":{"mainName":"99"}}`), `"/changes/mainName"`)
		})
	}
}

func TestRenamedGeneratedValuesComeFromTheTape(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRenamedGeneratedValuesComeFromTheTape) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Renamed.upsert", `{"model":{"id":"1","serialNo":"a"}}`)
	slow := &catalog.Operation{
		ID:       catalog.PluginID("slow", "call"),
		Contract: catalog.Contract{Input: json.RawMessage(`{}`), Output: json.RawMessage(`{}`)},
		Listing:  catalog.Listing{Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(context.Context, catalog.Call) (json.RawMessage, error) {
				time.Sleep(50 * time.Millisecond)
				return json.RawMessage(`{}`), nil
			},
		},
	}
	times := map[string][]any{}
	again := body(atomic, func(ctx context.Context, attempt *run.Attempt) error {
		for _, c := range [][2]string{{"upsert", `{"model":{"id":"2","serialNo":"b"}}`}, {"patch", `{"id":"1","changes":{"title":"new"}}`}} {
			op, input := c[0], c[1]
			raw, err := attempt.Invoke(ctx, attempt.Next(), catalog.EntityID("Renamed", op), json.RawMessage(input))
			if err != nil {
				return err
			}
			var made map[string]any
			if err := json.Unmarshal(raw, &made); err != nil {
				return err
			}
			times[op] = append(times[op], made["changedAt"])
		}
		_, err := attempt.Invoke(ctx, attempt.Next(), slow.ID, nil)
		return err
	})
	a.engine = run.NewEngine(run.Options{Lock: 10 * time.Millisecond})
	s, err := catalog.NewSnapshot(a.provider.Offer(), catalog.Offer{Operations: []*catalog.Operation{slow, again}})
	require.NoError(t, err)
	_, out, err := a.engine.Invoke(t.Context(), run.Request{View: s.View(a.as, exposure.Full, false), Principal: a.as, ID: again.ID})
	require.NoError(t, err)
	require.Greater(t, out.Attempts, 1) // a busy machine may need more than two
	for op, at := range times {
		require.Greater(t, len(at), 1, op)
		for _, later := range at[1:] {
			require.Equal(t, at[0], later, op)
		}
	}
}
