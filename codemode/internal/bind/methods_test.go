package bind

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

func TestMethodsSayHowTheyAreCalled(t *testing.T) {
	for op, want := range map[string][]Method{
		"collection": {
			{Name: "collection", Operation: "collection", Returns: catalog.ReturnsPage},
			{Name: "firstPage", Operation: "collection", Fixed: []Member{{"page", 1}}, Arguments: []string{"pageSize"}, Loose: true, Returns: catalog.ReturnsPage},
			{Name: "page", Operation: "collection", Arguments: []string{"page", "pageSize"}, Loose: true, Returns: catalog.ReturnsPage},
			{Name: "each", Operation: "collection", Walks: true, Returns: catalog.ReturnsIterator},
			{Name: "all", Operation: "collection", Walks: true, Returns: catalog.ReturnsList},
		},
		"get-by-id": {
			{Name: "getById", Operation: "get-by-id", Arguments: []string{"id"}, OrNull: "findById", Returns: catalog.ReturnsEntity},
			{Name: "findById", Operation: "get-by-id", Arguments: []string{"id"}, Returns: catalog.ReturnsEntityOrNull},
		},
		"count":       {{Name: "count", Operation: "count", Arguments: []string{"filter"}, LoneSet: true, Output: "count", Returns: catalog.ReturnsNumber}},
		"patch":       {{Name: "patch", Operation: "patch", Arguments: []string{"id", "changes"}, Returns: catalog.ReturnsEntity}},
		"upsert-many": {{Name: "upsertMany", Operation: "upsert-many", Arguments: []string{"models"}, Output: "items", Returns: catalog.ReturnsList}},
		"nope":        nil,
	} {
		require.Equal(t, len(want), len(Methods(op)), op)
		for i, m := range Methods(op) {
			want := want[i]
			require.ElementsMatch(t, want.Arguments, m.Arguments)
			want.Arguments, m.Arguments = nil, nil
			require.Equal(t, want, m)
		}
	}
	for op := range catalog.EntityOperations() {
		require.Len(t, Methods(op.Name), len(op.Methods), op.Name)
	}
}

func TestOperationsThatReturnRows(t *testing.T) {
	require.True(t, ReturnsPage("koan::Todo.collection"))
	require.False(t, ReturnsPage("koan::Todo.get-by-id"))
	require.True(t, ReturnsRows("koan::Todo.collection"))
	require.True(t, ReturnsRows("koan::Todo.get-by-id"))
	require.False(t, ReturnsRows("koan::Todo.upsert"))
}

func TestWalksGoByCursorsOrPages(t *testing.T) {
	type step struct {
		given   Given
		asked   []Member
		without string
		page    Page
		done    bool
	}
	for name, steps := range map[string][]step{
		"pages": {
			{asked: []Member{{"page", int64(1)}, {"pageSize", WalkPageSize}, {"count", true}}, page: Page{Items: 200, Size: 200, Total: 201}},
			{asked: []Member{{"page", int64(2)}, {"pageSize", WalkPageSize}, {"count", false}}, page: Page{Items: 1, Size: 200}, done: true},
		},
		"cursors": {
			{asked: []Member{{"page", int64(1)}, {"pageSize", WalkPageSize}, {"count", true}}, page: Page{Items: 1, Size: 200, Cursor: "a"}},
			{asked: []Member{{"cursor", "a"}, {"pageSize", WalkPageSize}, {"count", false}}, without: "cursor", page: Page{Items: 200, Size: 200}, done: true},
		},
		"from a cursor of the script, with its options": {
			{given: Given{true, true, true}, page: Page{Items: 5, Size: 5, Cursor: "b"}},
			{given: Given{true, true, true}, asked: []Member{{"cursor", "b"}}, without: "cursor", page: Page{Items: 5, Size: 5, Last: true}, done: true},
		},
		"nothing": {{asked: []Member{{"page", int64(1)}, {"pageSize", WalkPageSize}, {"count", true}}, page: Page{Size: 0}, done: true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := Walk{Counts: true}
			for _, s := range steps {
				require.False(t, w.Done())
				asked, without := w.Next(s.given)
				require.Equal(t, s.asked, asked)
				require.Equal(t, s.without, without)
				w.Take(s.page)
				require.Equal(t, s.done, w.Done())
			}
			require.Equal(t, steps[0].page.Total, w.Total())
		})
	}
}
