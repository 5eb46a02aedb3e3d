package approve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/run/store"
)

// A sample has rows of every kind from the first to the last, and stays within its bytes.
func TestSampleIsSpreadOverAllKinds(t *testing.T) {
	var changes []store.Change
	for i := range 5000 {
		changes = append(changes, changeOf(store.Delete, "Todo", fmt.Sprint(i), `{"title":"`+strings.Repeat("x", 100)+`"}`, ""))
	}
	changes = append(changes, changeOf(store.Create, "Tag", "tag", "", `{"name":"x"}`), changeOf(store.Update, "Huge", "huge", `{"a":1}`, `{"a":"`+strings.Repeat("y", 200_000)+`"}`))
	for _, most := range []int64{3000, 30_000, 300_000} {
		of, size := map[string][]store.Change{}, int64(0)
		for _, c := range sample(changes, most) {
			of[c.Entity], size = append(of[c.Entity], c), size+changeBytes(&c)
		}
		require.LessOrEqual(t, size, most)
		require.Len(t, of["Tag"], 1)
		require.Empty(t, of["Huge"], "it does not fit, and is counted alone")
		require.NotEmpty(t, of["Todo"])
		require.LessOrEqual(t, len(of["Todo"]), sampleRows)
	}
	whole := sample(changes, 1<<20)
	require.Equal(t, "4975", whole[sampleRows-1].ID, "from the first to the last, at even distances")
	require.Empty(t, sample(nil, 100))
}

// Numbers of a plan with a sample are whole everywhere, also of what its caller may not know of.
func TestPlanWithASampleHasWholeCounts(t *testing.T) {
	secret := changeOf(store.Delete, "Secret", "", "", "")
	secret.Hidden = true
	all := []store.Change{changeOf(store.Delete, "Todo", "1", `{"title":"a"}`, ""), changeOf(store.Delete, "Todo", "2", `{"title":"b"}`, ""), secret}
	request := Planned{Set: "default"}
	whole, part := Plan{Request: request, Changes: all}, Plan{Request: request, Changes: all[:1], Counted: counted(all)}
	require.Equal(t, whole.Counts(), part.Counts())
	require.Equal(t, whole.Summary(), part.Summary())
	text := part.Text(unredacted)
	require.Contains(t, text, "Deletes 3 rows: 2 Todo, 1 "+store.HiddenEntity)
	require.Contains(t, text, "a sample of 1 of 3")
	require.Contains(t, text, "… and 2 more rows: 1 Todo, 1 "+store.HiddenEntity+" deleted")
	require.NotContains(t, text, "Secret")
	part.Counted[0].Set = "elsewhere"
	require.False(t, part.isVisibleTo(auth.Principal{Sets: []string{"default"}}), "its sets are those of all rows")
	require.True(t, whole.isVisibleTo(auth.Principal{Sets: []string{"default"}}))
	lines := countDifferences(counted(all), counted(all[:1]))
	require.Equal(t, []string{
		"otherwise: of Todo in the set default it now deletes 1 row in place of 2",
		"otherwise: of " + store.HiddenEntity + " in the set default it now deletes 0 rows in place of 1",
	}, lines)
}
