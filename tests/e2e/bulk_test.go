package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTenThousandInOneCall stores, changes and deletes as many entities as one call
// takes, as a tool and in a script.
func TestTenThousandInOneCall(t *testing.T) {
	t.Parallel()
	p := newApp(t).serve("--exposure", "full")
	const many = 10_000
	models := make([]input, many)
	for i := range models {
		models[i] = input{"title": fmt.Sprint("A todo with a title of some length, number ", i), "notes": "Some words about it, as there would be."}
	}
	r := p.tool("todo.upsert-many", input{"models": models})
	require.False(t, r.IsError, "%.500s", r.Structured)

	e := p.execute(`
const made = SDK.Entities.Todo.upsertMany(Array.from({ length: 10000 }, (_, i) => ({ title: "From a script, number " + i, views: i })));
const changed = SDK.Entities.Todo.upsertMany(made.map((t) => ({ id: t.id, completed: true })));
const updated = SDK.Entities.Todo.updateByQuery({ completed: true }, { priority: "high" }, { maxAffected: 10000 });
const deleted = SDK.Entities.Todo.deleteMany(made.map((t) => t.id));
({ made: made.length, last: made[9999].views, done: changed.every((t) => t.completed), updated, deleted, left: SDK.Entities.Todo.count() })`, input{"limits": input{"timeoutMs": 30000}})
	require.True(t, e.Success, "%+v", e.Error)
	require.Equal(t, map[string]any{"made": 10000., "last": 9999., "done": true, "updated": 10000., "deleted": 10000., "left": 10001.}, e.Result, "one came with the set")

	r = p.tool("todo.upsert-many", input{"models": append(models, input{"title": "one too many"})})
	require.True(t, r.IsError)
	require.Contains(t, string(r.Structured), "at most 10000 in one call, not 10001")
}
