package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// A write of one statement has no savepoint on SQLite: what it did before it failed
// must be gone all the same.
func TestAWriteThatFailsAfterItsStatementLeavesNothing(t *testing.T) {
	t.Parallel()
	a := start(t, ent.Entities())
	a.call("Todo.upsert-many", `{"models":[{"id":"broken","title":"x"},{"id":"whole","title":"x"}]}`)
	db := beside(t, a.place, "default")
	_, err := db.Exec("UPDATE todos SET notes = printf('%.*c', 3000000, 'x') WHERE id = 'broken'")
	require.NoError(t, err)
	more := `"views":5,"tags":["` + strings.Repeat("y", 3_000_000) + `"]` // together more than anybody reads
	for op, input := range map[string]string{
		"Todo.patch":  `{"id":"broken","changes":{` + more + `}}`,
		"Todo.upsert": `{"model":{"id":"broken",` + more + `}}`,
	} {
		tries := 0
		out, err := a.run(script(atomic, func(call func(op, input string) (map[string]any, error), _ *run.Attempt) error {
			tries++
			_, err := call("Todo.patch", `{"id":"whole","changes":{"views":1}}`)
			require.NoError(t, err)
			_, err = call(op, input)
			if run.Ends(err) {
				return err
			}
			require.Error(t, err, op)
			_, err = call("Todo.patch", `{"id":"whole","changes":{"title":"`+op+`"}}`)
			return err
		}))
		require.NoError(t, err, op)
		require.Equal(t, 2, out.Attempts, "the second one has savepoints")
		require.Equal(t, 2, tries)
		var views int
		require.NoError(t, db.QueryRow("SELECT views FROM todos WHERE id = 'broken'").Scan(&views))
		require.Zero(t, views, op)
		require.Equal(t, op, a.call("Todo.get-by-id", `{"id":"whole"}`)["title"])
	}
	_, _, err = a.try("Todo.patch", `{"id":"broken","changes":{`+more+`}}`)
	require.Error(t, err)
	var views int
	require.NoError(t, db.QueryRow("SELECT views FROM todos WHERE id = 'broken'").Scan(&views))
	require.Zero(t, views)
}

// What a constraint refuses has undone itself: the script goes on in its attempt.
func TestAWriteThatAConstraintRefusesCostsNoAttempt(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAWriteThatAConstraintRefusesCostsNoAttempt) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Person.upsert", `{"model":{"id":"ann","name":"Ann","email":"a"}}`)
	out, err := a.run(script(atomic, func(call func(op, input string) (map[string]any, error), _ *run.Attempt) error {
		_, err := call("Person.upsert", `{"model":{"id":"ben","name":"Ben","email":"b"}}`)
		require.NoError(t, err)
		_, err = call("Person.patch", `{"id":"ben","changes":{"name":"Benno","email":"a"}}`)
		require.Equal(t, fault.Conflict, fault.CodeOf(err))
		_, err = call("Person.upsert", `{"model":{"id":"cid","name":"Cid","email":"a"}}`)
		require.Equal(t, fault.Conflict, fault.CodeOf(err))
		_, err = call("Todo.upsert", `{"model":{"id":"t","title":"x","assignedUserId":"nobody"}}`)
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
		_, err = call("Todo.upsert", `{"model":{"id":"t","title":"y","assignedUserId":"ben"}}`)
		return err
	}))
	require.NoError(t, err)
	require.Equal(t, 1, out.Attempts)
	require.Equal(t, "Ben", a.call("Person.get-by-id", `{"id":"ben"}`)["name"])
	a.fails(fault.NotFound, "Person.get-by-id", `{"id":"cid"}`)
	require.Equal(t, "y", a.call("Todo.get-by-id", `{"id":"t"}`)["title"])
}

// A cancel that one call of a script hears, and the script does not, leaves all of
// what the call did or nothing.
func TestACancelledWriteIsDoneOrNot(t *testing.T) {
	t.Parallel()
	if forEach(t, TestACancelledWriteIsDoneOrNot) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Todo.upsert", `{"model":{"id":"t","title":"x"}}`)
	for i, op := range []string{"patch", "upsert", "upsert-many"} {
		input := []string{`{"id":"t","changes":{"views":%d}}`, `{"model":{"id":"t","views":%d}}`, `{"models":[{"id":"t","views":%d},{"id":"u","title":"u"}]}`}[i]
		for _, soon := range []time.Duration{0, 50 * time.Microsecond, time.Millisecond, time.Second} {
			want := i*10 + int(soon%7)
			var failed error
			_, err := a.run(body(atomic, func(ctx context.Context, r *run.Attempt) error {
				_, err := r.Invoke(ctx, r.Next(), catalog.EntityID("Todo", "patch"), json.RawMessage(`{"id":"t","changes":{"views":-1}}`))
				require.NoError(t, err)
				short, stop := context.WithTimeout(ctx, soon)
				defer stop()
				_, failed = r.Invoke(short, r.Next(), catalog.EntityID("Todo", op), fmt.Appendf(nil, input, want))
				return nil
			}))
			if err != nil { // PostgreSQL ends the transaction with what was cancelled in it
				require.Error(t, failed)
				continue
			}
			if failed != nil {
				want = -1
			}
			require.EqualValues(t, want, a.call("Todo.get-by-id", `{"id":"t"}`)["views"], "%s after %s: %v", op, soon, failed)
		}
	}
}
