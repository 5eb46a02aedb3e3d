package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
)

// BenchmarkEffects is what it costs that a run is one transaction, that it records
// its changes, and that it is only tried: ten writes, of which each reads a row and
// changes it.
func BenchmarkEffects(b *testing.B) {
	if forEach(b, BenchmarkEffects) {
		return
	}
	a, db := filled(b)
	update, err := db.Prepare(marks(b, "UPDATE todos SET title = ?, version = version + 1, updated_at = ? WHERE id = ?"))
	require.NoError(b, err)
	read, err := db.Prepare(marks(b, "SELECT "+todoColumns(b)+" FROM todos WHERE id = ?"))
	require.NoError(b, err)
	const writes = 10
	id := func(i, n int) string { return fmt.Sprint("todo-", (i*writes+n)*7919%rows) }
	ten := func(spec run.Spec) func(i int) {
		i := 0
		op := body(spec, func(ctx context.Context, r *run.Attempt) error {
			for n := range writes {
				for _, c := range [][2]string{{"get-by-id", `{"id":%q}`}, {"patch", `{"id":%q,"changes":{"title":"Changed again"}}`}} {
					if _, err := r.Invoke(ctx, r.Next(), catalog.EntityID("Todo", c[0]), json.RawMessage(fmt.Sprintf(c[1], id(i, n)))); err != nil {
						return err
					}
				}
			}
			return nil
		})
		runs := a.runs(op)
		return func(at int) {
			i = at
			runs()
		}
	}
	byHand := func(i int) {
		tx, err := db.Begin()
		require.NoError(b, err)
		for n := range writes {
			if _, err = raw(context.Background(), tx.Stmt(read), id(i, n)); err == nil {
				_, err = tx.Stmt(update).Exec("Changed again", time.Now().UTC(), id(i, n))
			}
			require.NoError(b, err)
		}
		require.NoError(b, tx.Commit())
	}
	whole := ten(atomic)
	b.Run("Atomic", func(b *testing.B) { compare(b, whole, byHand) })
	b.Run("AtomicAgainstSingle", func(b *testing.B) { compare(b, whole, ten(run.Spec{})) })
	b.Run("Recorded", func(b *testing.B) { compare(b, ten(run.Spec{Atomic: true, Record: true}), whole) })
	b.Run("Dry", func(b *testing.B) { compare(b, ten(run.Spec{DryRun: true}), whole) })
}

// BenchmarkRecordedBulk is what it costs to keep before and after of 1,000 rows that
// one call changes, as every run does of which a policy may ask.
func BenchmarkRecordedBulk(b *testing.B) {
	if forEach(b, BenchmarkRecordedBulk) {
		return
	}
	a, _ := filled(b)
	update := func(spec run.Spec) func(i int) {
		op := body(spec, func(ctx context.Context, r *run.Attempt) error {
			_, err := r.Invoke(ctx, r.Next(), catalog.EntityID("Todo", "update-by-query"), json.RawMessage(`{"filter":{"views":{"$lt":1000}},"changes":{"notes":"Changed again"}}`))
			return err
		})
		runs := a.runs(op)
		return func(int) { runs() }
	}
	compare(b, update(run.Spec{Atomic: true, Record: true}), update(atomic))
}
