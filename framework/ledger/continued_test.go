package ledger_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger"
)

// A run that waited for somebody, and that a process committed which died before it could say so, is
// one that has committed; what else its record says stays. One without a receipt stays as it is.
func TestReceiptsCorrectRecords(t *testing.T) {
	db := database(t)
	j := ledger.NewJournal(db, sqltext.SQLite{}, "w", time.Minute)
	waiting := func(run string) journal.Record {
		return journal.Record{
			Run: run, Started: time.Now(), Subject: "ann", Tool: "koan.code.execute", Outcome: "approval_required", Message: "a person must approve", Created: 1,
			Approval: journal.Approval{State: journal.Required, Plan: run},
		}
	}
	require.NoError(t, j.Write(t.Context(), ledger.Batch{Ended: []journal.Record{waiting("run-a"), waiting("run-b")}}))
	require.NoError(t, j.Bury(t.Context(), &ledger.Dead{}, []journal.Record{
		{Run: "run-a", Outcome: journal.OK, Committed: true, Repaired: true, ResultBytes: 7}, {Run: "run-b", Outcome: journal.CutOff, Repaired: true}, {Run: "run-c", Outcome: journal.OK, Committed: true, Repaired: true},
	}))
	record := func(run string) (out map[string]any) {
		var text string
		require.NoError(t, db.QueryRow("SELECT record FROM koan_journal WHERE id = ?", run).Scan(&text))
		require.NoError(t, json.Unmarshal([]byte(text), &out))
		return out
	}
	a := record("run-a")
	require.Equal(t, []any{"ok", 1.0, 1.0, "approved", "ann", "run-a", nil}, []any{a["outcome"], a["committed"], a["repaired"], a["approval"], a["subject"], a["plan_id"], a["message"]})
	require.Equal(t, "approval_required", record("run-b")["outcome"])
	require.Equal(t, 1.0, record("run-c")["committed"])
}
