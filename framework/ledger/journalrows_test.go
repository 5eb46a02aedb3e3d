package ledger

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/journal"
)

// FuzzJournalRow writes any text into a row: it stays JSON, and what databases take.
func FuzzJournalRow(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\n\t", "\x00\xff", "é\u2028", "\\u0000", "</script>"} {
		f.Add(s, 1)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		rows, _ := journalRows([]journal.Record{{
			Run: "r", Subject: s, Set: s, Message: s, Script: journal.Script{Code: s, Language: s}, CorrelationID: s, Line: n, Lost: n, Changes: []journal.Count{{Entity: s, Created: n}},
			Trail: []journal.Call{{Position: "1", Tool: s, Operation: s, Set: s, OutputBytes: n, Build: s}, {App: true}},
		}}, nil)
		require.Len(t, rows, 1)
		var record map[string]any
		require.NoError(t, json.Unmarshal([]byte(rows[0].record), &record), rows[0].record)
		var calls [][]any
		require.NoError(t, json.Unmarshal([]byte(rows[0].calls), &calls), rows[0].calls)
		require.Len(t, calls, 2)
		for i, app := range []bool{false, true} { // which no view has
			require.Len(t, calls[i], len(callMembers))
			require.Equal(t, app, callMembers[callApp].name == "" && calls[i][callApp] == 1.0)
		}
		for name := range record {
			require.True(t, name == "approval" || known(name), name)
		}
		if want := storable(s); want != "" {
			require.Equal(t, want, record["subject"])
			require.Equal(t, want, calls[0][2])
		}
		require.NotContains(t, rows[0].record+rows[0].calls+rows[0].code, "\x00")
		if !strings.Contains(s, `\u0000`) {
			require.NotContains(t, rows[0].record+rows[0].calls, `\u0000`)
		}
	})
}

func known(name string) bool {
	for _, m := range runMembers {
		if m.name == name {
			return true
		}
	}
	return false
}
