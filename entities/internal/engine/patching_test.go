package engine_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/fixture/ent"
)

// Rows that many change at once, each its own, are in nobody's way: no patch is tried twice, on a table that
// fits into a page or two as on any other, and each is undone to what it found.
func TestPatchesOfDifferentRowsNeedOneAttempt(t *testing.T) {
	t.Parallel()
	if forEach(t, TestPatchesOfDifferentRowsNeedOneAttempt) {
		return
	}
	a := start(t, ent.Entities())
	const rows, rounds = 16, 20
	for i := range rows {
		a.call("Todo.upsert", fmt.Sprintf(`{"model":{"id":"t%d","title":"new"}}`, i))
	}
	attempts := make([]int, rows)
	var group sync.WaitGroup
	for i := range rows {
		group.Go(func() {
			for n := range rounds {
				_, out, err := a.try("Todo.patch", fmt.Sprintf(`{"id":"t%d","changes":{"title":"%d"}}`, i, n))
				if err != nil {
					t.Errorf("patch %d of t%d: %v", n, i, err)
					return
				}
				attempts[i] += out.Attempts
			}
		})
	}
	group.Wait()
	total := 0
	for i := range rows {
		total += attempts[i]
		require.Equal(t, fmt.Sprint(rounds-1), a.call("Todo.get-by-id", fmt.Sprintf(`{"id":"t%d"}`, i))["title"])
	}
	require.Equal(t, rows*rounds, total)
}
