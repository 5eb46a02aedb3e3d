package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// A statement that the database rejects during a run leaves its transaction usable.
func TestRunContinuesAfterRejectedAggregate(t *testing.T) {
	t.Parallel()
	for place, a := range map[string]*app{"SQLite": newApp(t), "PostgreSQL": onPostgres(t)} {
		t.Run(place, func(t *testing.T) {
			e := a.serve().execute(`SDK.Entities.Todo.upsert({title: "a", notes: "y".repeat(5000)});
				let code; try { SDK.Entities.Todo.aggregate({groupBy: "notes"}) } catch (e) { code = e.code + e.path }
				SDK.Entities.Todo.upsert({title: "b", notes: "short"});
				[code, SDK.Entities.Todo.count({title: {$in: ["a", "b"]}}), SDK.Entities.Todo.aggregate({filter: {title: "b"}, groupBy: "notes"})]`)
			require.True(t, e.Success, "%+v", e.Error)
			require.Equal(t, []any{string(fault.InvalidPayload) + "/groupBy", 2.0, []any{map[string]any{"notes": "short", "count": 1.0}}}, e.Result)
		})
	}
}
