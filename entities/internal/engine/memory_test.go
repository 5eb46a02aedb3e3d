package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// What a call read, or wrote and took back, is not held when it has ended; what a run
// that records has changed is.
func TestCallsReleaseWhatTheyHeld(t *testing.T) {
	t.Parallel()
	if forEach(t, TestCallsReleaseWhatTheyHeld) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Person.upsert", `{"model":{"id":"p","name":"p","email":"p"}}`)
	var models []string
	for i := range 300 {
		models = append(models, fmt.Sprintf(`{"id":"t%d","title":"t","assignedUserId":"p"}`, i))
	}
	a.call("Todo.upsert-many", `{"models":[`+strings.Join(models, ",")+`]}`)
	cost := func(spec run.Spec, op, input string, fails bool) (n int) {
		_, err := a.run(script(spec, func(call func(string, string) (map[string]any, error), r *run.Attempt) error {
			_, err := call("Todo.get-by-id", `{"id":"t0"}`)
			require.NoError(t, err)
			before := r.Room()
			_, err = call(op, input)
			require.Equal(t, fails, err != nil, "%v", err)
			n = before - r.Room()
			return nil
		}))
		require.NoError(t, err)
		return n
	}
	const call = 2048 // at most, of a call itself and of the tape
	dry := run.Spec{Atomic: true, DryRun: true}
	require.Less(t, cost(atomic, "Todo.collection", `{"pageSize":200,"with":"assignedUser"}`, false), call)
	require.Less(t, cost(atomic, "Person.upsert", `{"model":{"name":"q","email":"p"}}`, true), call, "the address is taken")
	require.Less(t, cost(atomic, "Person.patch", `{"id":"p","changes":{"todos":{"$add":["t0"],"$remove":["t1"]}}}`, false), 4*call, "300 ids were read")
	require.Greater(t, cost(atomic, "Todo.update-by-query", `{"filter":{},"all":true,"changes":{"views":3}}`, false), 301*200)
	recorded := cost(dry, "Todo.update-by-query", `{"filter":{},"all":true,"changes":{"views":3}}`, false)
	require.Greater(t, recorded, 301*1000, "and the rows themselves")
	require.Greater(t, cost(dry, "Todo.update-by-query", `{"filter":{},"all":true,"changes":{"notes":"`+strings.Repeat("y", 5000)+`"}}`, false), recorded+300*4500, "what they become")
}

func TestRecordedRowsEndTheRunBeforeTheyAreWritten(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRecordedRowsEndTheRunBeforeTheyAreWritten) {
		return
	}
	a := start(t, ent.Entities())
	a.engine = run.NewEngine(run.Options{MaxBytes: 24 << 20})
	a.call("Todo.upsert-many", `{"models":[{"id":"a","title":"a"},{"id":"b","title":"b"}]}`)
	text, err := json.Marshal(strings.Repeat("y", 4_000_000))
	require.NoError(t, err)
	writes := map[string]func(i int) (op, input string){
		"patch": func(i int) (string, string) {
			return "Todo.patch", fmt.Sprintf(`{"id":"%s","changes":{"notes":%s}}`, string(rune('a'+i)), text)
		},
		"upsert": func(int) (string, string) {
			return "Todo.upsert", fmt.Sprintf(`{"model":{"title":"x","notes":%s}}`, text)
		},
		"upsert-many": func(int) (string, string) {
			return "Todo.upsert-many", fmt.Sprintf(`{"models":[{"title":"x","notes":%s}]}`, text)
		},
	}
	for name, write := range writes {
		for i := range 26 {
			a.call("Todo.upsert", fmt.Sprintf(`{"model":{"id":"%s","title":"x","notes":null}}`, string(rune('a'+i))))
		}
		made := 0
		_, err := a.run(script(run.Spec{Atomic: true, Record: true}, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
			for i := range 26 {
				if _, err := call(write(i)); err != nil {
					return err
				}
				made++
			}
			return nil
		}))
		require.Equal(t, fault.MemoryExceeded, fault.CodeOf(err), name)
		require.Less(t, made, 8, name)
	}
	// The same row again and again takes the room of one.
	_, err = a.run(script(run.Spec{Atomic: true, Record: true}, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		for range 7 {
			if _, err := call(writes["patch"](0)); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(t, err)
}

// Wide rows are read back after they were written; what comes back is the same.
func TestWideRowsComeBackWhole(t *testing.T) {
	t.Parallel()
	if forEach(t, TestWideRowsComeBackWhole) {
		return
	}
	a := start(t, ent.Entities())
	wide, small := strings.Repeat("ü\n", 300_000), "small"
	models := func(texts ...string) string {
		var out []map[string]any
		for i, text := range texts {
			out = append(out, map[string]any{"title": fmt.Sprint("t", i), "notes": text})
		}
		raw, err := json.Marshal(map[string]any{"models": out})
		require.NoError(t, err)
		return string(raw)
	}
	stored := a.call("Todo.upsert-many", models(small, wide, small, wide, wide))["items"].([]any)
	require.Len(t, stored, 5)
	for i, text := range []string{small, wide, small, wide, wide} {
		item := stored[i].(map[string]any)
		require.Equal(t, fmt.Sprint("t", i), item["title"])
		require.Equal(t, text, item["notes"])
		require.Equal(t, item, a.call("Todo.get-by-id", fmt.Sprintf(`{"id":%q}`, item["id"])))
	}
	id := stored[0].(map[string]any)["id"]
	raw, err := json.Marshal(map[string]any{"id": id, "changes": map[string]any{"notes": wide}})
	require.NoError(t, err)
	patched := a.call("Todo.patch", string(raw))
	require.Equal(t, wide, patched["notes"])
	require.EqualValues(t, 2, patched["version"])
}

// A row that nobody could read again is refused, and nothing of it stays.
func TestRowsTooWideToReadAreRefused(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRowsTooWideToReadAreRefused) {
		return
	}
	for name, opts := range map[string][]ent.EntitiesOption{"plain": nil, "hooked": {ent.OnClient(func(c *ent.Client) { c.Use(passing) })}} {
		a := start(t, ent.Entities(opts...))
		a.call("Todo.upsert", `{"model":{"id":"a","title":"a"}}`)
		text := `"` + strings.Repeat("y", 4<<20) + `"`
		for op, input := range map[string]string{
			"Todo.patch":       `{"id":"a","changes":{"notes":` + text + `}}`,
			"Todo.upsert":      `{"model":{"title":"b","notes":` + text + `}}`,
			"Todo.upsert-many": `{"models":[{"title":"c"},{"title":"b","notes":` + text + `}]}`,
		} {
			f := a.fails(fault.CallTooLarge, op, input)
			require.Equal(t, "Store less in one row.", f.Hint, "%s, %s", op, name)
			if op != "Todo.upsert-many" {
				require.Equal(t, map[string]string{"Todo.patch": "/changes/notes", "Todo.upsert": "/model/notes"}[op], f.Path, "%s, %s", op, name)
			}
		}
		require.EqualValues(t, 1, a.call("Todo.count", `{}`)["count"])
	}
}
