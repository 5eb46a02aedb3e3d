package journal_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/journal"
)

// A record keeps of each text that a caller sent no more than its share.
func TestRecordIsBounded(t *testing.T) {
	long := strings.Repeat("ä", 1<<20)
	r := journal.Record{
		CorrelationID: long, Subject: long, Set: long, Message: long, Approval: journal.Approval{By: long}, Operation: "koan::Todo.count",
		Trail: []journal.Call{{Set: long, Entity: long, Operation: long, Tool: "todo.count"}},
	}.Bounded()
	for _, name := range []string{r.CorrelationID, r.Subject, r.Set, r.Approval.By, r.Trail[0].Set, r.Trail[0].Entity, r.Trail[0].Operation} {
		require.LessOrEqual(t, len(name), journal.MaxName)
		require.True(t, utf8.ValidString(name))
		require.True(t, strings.HasPrefix(name, "ää") && strings.HasSuffix(name, "ä…"))
	}
	require.LessOrEqual(t, len(r.Message), journal.MaxMessage)
	require.Equal(t, "koan::Todo.count", r.Operation)
	require.Equal(t, "todo.count", r.Trail[0].Tool)
}
