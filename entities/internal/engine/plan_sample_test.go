package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/once"
	"github.com/koan-go/koan/framework/run/store"
)

// removesBig is a job that deletes every row with a title.
func removesBig(call func(id, input string) (string, error), _ *run.Attempt) (string, error) {
	_, err := call("koan::Todo.delete-by-query", `{"filter":{"title":"big"},"all":true}`)
	return "", err
}

// A deletion of more than a plan can keep is approved by its counts and a sample, and every row is compared when
// it is applied.
func TestPlanOfManyRowsHasASample(t *testing.T) {
	t.Parallel()
	if forEach(t, TestPlanOfManyRowsHasASample) {
		return
	}
	const rows, most = 600, 100_000
	place := place(t)
	free := newProcess(t, place, &world{}, once.Options{})
	o := newDesk(t, place, &world{}, approve.Settings{Policy: asksWrites.Policy, MaxBytes: most}, map[string]job{"removes": removesBig})
	for from := 0; from < rows; from += 100 {
		var models []string
		for i := range 100 {
			models = append(models, fmt.Sprintf(`{"id":"t%03d","title":"big","notes":"%s"}`, from+i, strings.Repeat("x", 500)))
		}
		free.call("Todo.upsert-many", `{"models":[`+strings.Join(models, ",")+`]}`)
	}
	id := o.plan("removes")
	p := o.find(id)
	require.True(t, p.Sampled())
	require.Equal(t, []store.ChangeCount{{Entity: "Todo", Set: "default", Deleted: rows}}, p.Counts())
	shown := len(p.Changes)
	require.Greater(t, shown, 20)
	require.Less(t, shown, rows)
	for _, text := range []string{o.guard.PlanText(p), o.guard.WholePlanText(p)} {
		require.Contains(t, text, "Deletes 600 rows: 600 Todo.")
		require.Contains(t, text, fmt.Sprintf("a sample of %d of 600", shown))
		require.Contains(t, text, "600 Todo")
	}
	require.Contains(t, o.guard.WholePlanText(p), fmt.Sprintf("… and %d more rows: %d Todo deleted", rows-shown, rows-shown))
	require.Equal(t, "deletes 600 (600 Todo)", p.Summary())

	// A row that nobody was shown has changed: that is another plan.
	unseen := 0
	for slices.ContainsFunc(p.Changes, func(c store.Change) bool { return c.ID == fmt.Sprintf("t%03d", unseen) }) {
		unseen++
	}
	free.call("Todo.patch", fmt.Sprintf(`{"id":"t%03d","changes":{"notes":"precious"}}`, unseen))
	_, outcome, err := o.approve(id, boss)
	id = o.planned(outcome, err)
	require.Equal(t, []string{"otherwise: as many rows, of which some are others or have other values"}, detailsOf(err)["differs"])
	require.Equal(t, rows, free.count("big"))

	// And so has their number.
	free.call("Todo.upsert", `{"model":{"title":"big"}}`)
	_, outcome, err = o.approve(id, boss)
	id = o.planned(outcome, err)
	require.Equal(t, []string{"otherwise: of Todo in the set default it now deletes 601 rows in place of 600"}, detailsOf(err)["differs"])
	require.True(t, o.find(id).Sampled())

	_, outcome, err = o.approve(id, boss)
	require.NoError(t, err)
	require.True(t, outcome.Committed)
	require.Zero(t, free.count("big"))
}
