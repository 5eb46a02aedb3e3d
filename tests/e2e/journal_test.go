package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/tests/pgtest"
)

// TestJournalOfTwoServers kills one of two servers on one database during a script: the
// other marks that run as cut off, and none of its own.
func TestJournalOfTwoServers(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestJournalOfTwoServers) {
		return
	}
	a := newApp(t)
	if pgtest.Here(t) {
		a.env = append(a.env, "KOAN_DATABASE="+pgtest.Place(t))
	}
	a.env = append(a.env, "KOAN_CODEMODE_MAXSDKCALLS=0", "KOAN_JOURNAL_EXPOSE=true", "KOAN_JOURNAL_LEASEMS=1500")
	one, two := a.serve(), a.serve()
	const long = `SDK.Entities.Todo.upsert({ title: "never" });
for (;;) SDK.Entities.Todo.count(); // Bearer abcdefgh12345678`
	one.post("tools/call", map[string]any{"name": "koan.code.execute", "arguments": map[string]any{"code": long}})
	read := func(query string) []map[string]any {
		r := two.call("tools/call", map[string]any{"name": "koan.code.execute", "arguments": map[string]any{"code": "SDK.Entities.KoanRun.collection(" + query + ").items"}})
		var out struct {
			StructuredContent struct {
				Success bool
				Result  []map[string]any
				Error   json.RawMessage
			}
		}
		require.NoError(t, json.Unmarshal(r.Result, &out))
		require.True(t, out.StructuredContent.Success, "%s", r.Result)
		return out.StructuredContent.Result
	}
	require.Empty(t, read(`{filter: {outcome: "`+journal.CutOff+`"}}`))
	time.Sleep(time.Second) // the start is noted
	require.NoError(t, one.cmd.Process.Kill())
	<-one.done
	var cut []map[string]any
	require.Eventually(t, func() bool {
		cut = read(`{filter: {repaired: true}}`)
		return len(cut) > 0
	}, 30*time.Second, 200*time.Millisecond)
	require.Len(t, cut, 1)
	require.Equal(t, journal.CutOff, cut[0]["outcome"])
	require.Equal(t, false, cut[0]["committed"])
	require.Equal(t, "mcp", cut[0]["surface"])
	require.Contains(t, cut[0]["code"], "Bearer [redacted]")
	for _, r := range read(`{filter: {repaired: false}}`) {
		require.Equal(t, journal.OK, r["outcome"], fmt.Sprint(r))
	}
	require.Contains(t, a.exec("", "doctor").stdout, "journal")
}
