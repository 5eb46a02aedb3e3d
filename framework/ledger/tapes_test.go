package ledger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/replay"
)

// Records and tapes are one batch: all of it is there, or nothing.
func TestTapesStandBesideTheJournal(t *testing.T) {
	db := database(t)
	j := ledger.NewJournal(db, sqltext.SQLite{}, "w", time.Minute)
	shelf := ledger.NewTapes(db, sqltext.SQLite{})
	now := time.Now().UTC().Truncate(time.Millisecond)
	tape := func(n int) replay.KeptTape {
		return replay.KeptTape{Run: fmt.Sprintf("run-%03d", n), At: now.Add(time.Duration(n) * time.Minute), Operation: "o", Outcome: "ok", Bytes: 500, Body: make([]byte, 100)}
	}
	var all ledger.Batch
	for n := range 100 {
		all.Tapes = append(all.Tapes, tape(n))
		all.Ended = append(all.Ended, journal.Record{Run: tape(n).Run, Started: now, Outcome: journal.OK})
	}
	require.NoError(t, j.Write(t.Context(), all))
	got, err := shelf.Get(t.Context(), "run-042")
	require.NoError(t, err)
	require.Equal(t, all.Tapes[42], *got)
	large := replay.KeptTape{Run: "run-042", At: now.Add(42 * time.Minute), Operation: "o", Outcome: "ok", Bytes: 5e6, Why: "too large"}
	require.NoError(t, j.Write(t.Context(), ledger.Batch{Tapes: []replay.KeptTape{large}, Synced: true}))
	got, err = shelf.Get(t.Context(), "run-042")
	require.NoError(t, err)
	require.Nil(t, got.Body)
	require.Equal(t, "too large", got.Why)

	early := replay.KeptTape{Run: "run-042", At: now, Operation: "o", Outcome: "approval_required", Body: []byte("x")}
	require.NoError(t, j.Write(t.Context(), ledger.Batch{Tapes: []replay.KeptTape{early}, Ended: []journal.Record{{Run: "run-042", Started: now.Add(-time.Hour), Outcome: "approval_required", Keyed: true}}}))
	got, err = shelf.Get(t.Context(), "run-042")
	require.NoError(t, err)
	require.Equal(t, "too large", got.Why, "what a slower process writes of the same run's beginning does not replace its end")
	var outcome string
	require.NoError(t, db.QueryRow("SELECT outcome FROM koan_journal_runs WHERE id = 'run-042'").Scan(&outcome))
	require.Equal(t, journal.OK, outcome)

	count := func(table string) (n int) {
		require.NoError(t, db.QueryRow("SELECT COUNT(*) FROM "+table).Scan(&n))
		return n
	}
	require.Equal(t, 100, count("koan_journal_runs"))
	_, err = db.Exec("CREATE TRIGGER full BEFORE INSERT ON koan_journal BEGIN SELECT RAISE(ABORT, 'full'); END")
	require.NoError(t, err)
	require.ErrorContains(t, j.Write(t.Context(), ledger.Batch{Tapes: []replay.KeptTape{tape(200)}, Ended: []journal.Record{{Run: "run-200"}}}), "full")
	require.Equal(t, 100, count("koan_tapes"))

	for _, trim := range []struct {
		before time.Time
		most   int64
		left   int
	}{
		{now.Add(-time.Hour), 1 << 20, 100},
		{now.Add(30 * time.Minute), 1 << 20, 70},
		{now, 1000, 10},
		{now.Add(time.Hour * 1000), 0, 0},
		{now, 0, 0},
	} {
		require.NoError(t, shelf.Trim(t.Context(), trim.before, trim.most))
		require.Equal(t, trim.left, count("koan_tapes"))
	}
}

// Without a journal there is nothing but tapes, and nobody's lease.
func TestTapesWithoutAJournal(t *testing.T) {
	db := database(t)
	j := ledger.NewJournal(db, sqltext.SQLite{}, "", 0)
	require.NoError(t, j.Write(t.Context(), ledger.Batch{}))
	require.NoError(t, j.Write(t.Context(), ledger.Batch{Tapes: []replay.KeptTape{{Run: "r", Body: []byte{1}}}}))
	require.NoError(t, j.Leave(t.Context()))
	for table, want := range map[string]int{"koan_tapes": 1, "koan_journal": 0, "koan_writers WHERE id <> 'gone'": 0} {
		var n int
		require.NoError(t, db.QueryRow("SELECT COUNT(*) FROM "+table).Scan(&n))
		require.Equal(t, want, n, table)
	}
}

// What does not wait for the disk leaves the connection as it was.
func TestASyncedBatchFollowsOthers(t *testing.T) {
	db := database(t)
	db.SetMaxOpenConns(1)
	_, err := db.Exec("PRAGMA synchronous = FULL")
	require.NoError(t, err)
	j := ledger.NewJournal(db, sqltext.SQLite{}, "w", time.Minute)
	level := func() (n int) {
		require.NoError(t, db.QueryRow("PRAGMA synchronous").Scan(&n))
		return n
	}
	const full = 2
	require.NoError(t, j.Write(t.Context(), ledger.Batch{Ended: []journal.Record{{Run: "a"}}}))
	require.Equal(t, full, level())
	require.NoError(t, j.Write(t.Context(), ledger.Batch{Ended: []journal.Record{{Run: "b"}}, Synced: true}))
	require.Equal(t, full, level())
}

// Beyond the room each caller keeps its newest runs, up to its share; what is too old goes
// whoever made it.
func TestTapesAboveShareGo(t *testing.T) {
	db := database(t)
	j, shelf := ledger.NewJournal(db, sqltext.SQLite{}, "", 0), ledger.NewTapes(db, sqltext.SQLite{})
	now := time.Now().UTC()
	var tapes []replay.KeptTape
	for n := range 60 {
		k := replay.KeptTape{Run: fmt.Sprintf("run-%03d", n), At: now.Add(time.Duration(n) * time.Minute), Subject: "flood", Body: make([]byte, 100)}
		if n%10 == 0 {
			k.Subject = "little"
		}
		tapes = append(tapes, k)
	}
	tapes[59].Subject = strings.Repeat("s", 10_000)
	require.NoError(t, j.Write(t.Context(), ledger.Batch{Tapes: tapes}))
	kept := func() map[string]int {
		out := map[string]int{}
		rows, err := db.Query("SELECT substr(subject, 1, 6), COUNT(*) FROM koan_tapes GROUP BY 1")
		require.NoError(t, err)
		defer func() { require.NoError(t, rows.Close()) }()
		for rows.Next() {
			var subject string
			var n int
			require.NoError(t, rows.Scan(&subject, &n))
			out[subject] = n
		}
		require.NoError(t, rows.Err())
		return out
	}
	require.NoError(t, shelf.Trim(t.Context(), now, 6000))
	require.Equal(t, map[string]int{"flood": 53, "little": 6, "ssssss": 1}, kept())
	require.NoError(t, shelf.Trim(t.Context(), now, 2000))
	require.Equal(t, map[string]int{"flood": 13, "little": 6, "ssssss": 1}, kept())
	k, err := shelf.Get(t.Context(), "run-058")
	require.NoError(t, err)
	require.Equal(t, "flood", k.Subject, "the newest stay")
	require.NoError(t, shelf.Trim(t.Context(), now.Add(20*time.Minute), 2000))
	require.Equal(t, map[string]int{"flood": 13, "little": 4, "ssssss": 1}, kept())
	require.NoError(t, shelf.Trim(t.Context(), now, 300))
	require.Equal(t, map[string]int{"flood": 1, "little": 1, "ssssss": 1}, kept())
}
