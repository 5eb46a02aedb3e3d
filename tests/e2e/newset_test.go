package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Reading sets that do not exist creates no files in the data folder; a committed write
// creates its set.
func TestOnlyWritesCreateSets(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	p := a.serve()
	files := func() []string {
		entries, err := os.ReadDir(a.data)
		require.NoError(t, err)
		var names []string
		for _, e := range entries {
			if !strings.Contains(e.Name(), "koan.ledger") { // which is created when the journal is first written
				names = append(names, e.Name())
			}
		}
		return names
	}
	require.False(t, p.tool("todo.count", input{}).IsError)
	before := files()
	for n := range 100 {
		require.JSONEq(t, `{"count":0}`, string(p.tool("todo.count", input{"set": fmt.Sprint("tenant-0-", n)}).Structured))
	}
	require.False(t, p.tool("koan.code.execute", input{"code": `SDK.Entities.Todo.upsert({ title: "t" })`, "set": "tenant-1", "dryRun": true}).IsError)
	require.ElementsMatch(t, before, files())

	require.False(t, p.tool("koan.code.execute", input{"code": `SDK.Entities.Todo.upsert({ title: "t" })`, "set": "tenant-1"}).IsError)
	require.Contains(t, files(), "tenant-1.db")
	require.JSONEq(t, `{"count":1}`, string(p.tool("todo.count", input{"set": "tenant-1"}).Structured))
	require.JSONEq(t, `{"count":0}`, string(p.tool("todo.count", input{"set": "tenant-2"}).Structured))
}
