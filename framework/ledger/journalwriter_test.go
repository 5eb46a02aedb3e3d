package ledger_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger"
)

// lines is a log that several goroutines write.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func database(t *testing.T) *sql.DB {
	db := sqlitedriver.Open("file:" + filepath.Join(t.TempDir(), "ledger") + "?_txlock=immediate&_journal_mode=WAL&_busy_timeout=5000")
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, statement := range append(ledger.JournalTables(sqltext.SQLite{}), ledger.TapeTables(sqltext.SQLite{})...) {
		if strings.HasPrefix(statement, "ALTER TABLE ") { // for tables of an earlier version
			continue
		}
		_, err := db.Exec(statement)
		require.NoError(t, err)
	}
	return db
}

// TestWhatIsLostIsSaid fills the queue while the journal cannot be opened: runs wait
// a little, what has no room is dropped and counted, and the next record says it.
func TestWhatIsLostIsSaid(t *testing.T) {
	db, log, open := database(t), &lines{}, make(chan struct{})
	w := ledger.NewWriter(func(ctx context.Context) (*ledger.Journal, error) {
		select {
		case <-open:
			own := sqlitedriver.Open("file:" + file(t, db) + "?_txlock=immediate&_busy_timeout=5000")
			return ledger.NewJournal(own, sqltext.SQLite{}, "w", time.Minute), nil
		default:
			return nil, errors.New("not yet")
		}
	}, time.Hour, func(context.Context, *ledger.Journal) {}, slog.New(slog.NewTextHandler(log, nil)))
	record := func(n int) journal.Record {
		return journal.Record{Run: fmt.Sprintf("run-%05d", n), Started: time.Now(), Outcome: journal.OK}
	}
	const room, more = 1024, 5
	for n := range room {
		w.Append(context.Background(), record(n))
	}
	for n := range more {
		began := time.Now()
		w.Append(context.Background(), record(room+n))
		require.Less(t, time.Since(began), 5*time.Second)
	}
	close(open)
	w.Flush(context.Background())
	w.Append(context.Background(), record(room+more))
	w.Close(context.Background())

	var runs, lost, behind int
	require.NoError(t, db.QueryRow("SELECT COUNT(*), SUM(lost) FROM koan_journal_runs").Scan(&runs, &lost))
	require.Equal(t, room+1, runs)
	require.Equal(t, more, lost)
	require.Contains(t, log.String(), "records=5")
	require.Contains(t, log.String(), "cannot be opened")
	require.NoError(t, db.QueryRow("SELECT COUNT(*) FROM koan_writers WHERE id = 'w' AND lost_at > 0 AND lease_until = 0").Scan(&behind))
	require.Equal(t, 1, behind, "the next start looks for what is lost in receipts")
	w.Append(context.Background(), record(0)) // after the end
}

func TestAGracefulEndWritesEverything(t *testing.T) {
	db := database(t)
	w := ledger.NewWriter(func(context.Context) (*ledger.Journal, error) {
		own := sqlitedriver.Open("file:" + file(t, db) + "?_txlock=immediate&_busy_timeout=5000")
		return ledger.NewJournal(own, sqltext.SQLite{}, "w", time.Minute), nil
	}, time.Hour, func(context.Context, *ledger.Journal) {}, slog.New(slog.DiscardHandler))
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for n := range 50 {
				id := fmt.Sprintf("run-%d-%02d", g, n)
				w.Begin(context.Background(), journal.Record{Run: id, Script: journal.Script{CodeDigest: "sha256:x"}})
				w.Append(context.Background(), journal.Record{
					Run: id, Script: journal.Script{CodeDigest: "sha256:x"}, Started: time.Now(), Outcome: journal.OK, Subject: "\"\\\n\x00\xff é",
					Trail: []journal.Call{{Position: "1", Outcome: journal.OK, Tool: "a\tb"}, {Position: "1.1", Outcome: "x"}},
				})
			}
		})
	}
	w.Begin(context.Background(), journal.Record{Run: "open"})
	all.Wait()
	w.Close(context.Background())
	for query, want := range map[string]int{
		"SELECT COUNT(*) FROM koan_journal_runs WHERE json_valid(id) = 0 AND outcome = 'ok' AND subject LIKE '%é'": 400,
		"SELECT COUNT(*) FROM koan_run_calls WHERE position = '1.1' AND sequence = 2":                              400,
		"SELECT COUNT(*) FROM koan_begun":                                1,
		"SELECT runs FROM koan_writers":                                  400,
		"SELECT COUNT(*) FROM koan_writers WHERE id <> 'gone'":           0,
		"SELECT SUM(bytes) > 0 FROM koan_writers":                        1,
		"SELECT COUNT(*) FROM koan_journal WHERE NOT json_valid(record)": 0,
	} {
		var have int
		require.NoError(t, db.QueryRow(query).Scan(&have), query)
		require.Equal(t, want, have, query)
	}
}

// file is where a database lies.
func file(t *testing.T, db *sql.DB) string {
	var seq int
	var name, path string
	require.NoError(t, db.QueryRow("PRAGMA database_list").Scan(&seq, &name, &path))
	return path
}

// What waits to be written is bounded in bytes too: long scripts, runs of many calls.
func TestQueueIsBoundedInBytes(t *testing.T) {
	w := ledger.NewWriter(func(context.Context) (*ledger.Journal, error) { return nil, errors.New("not yet") },
		time.Hour, func(context.Context, *ledger.Journal) {}, slog.New(slog.DiscardHandler))
	record := journal.Record{Run: "run", Started: time.Now(), Outcome: journal.OK, Script: journal.Script{Code: strings.Repeat("x", 400_000)}, Trail: make([]journal.Call, 2000)}
	const room = 16 << 20 / (400_000 + 2000*256)
	waited := 0
	for range room - 1 {
		began := time.Now()
		w.Append(context.Background(), record)
		if time.Since(began) > 40*time.Millisecond {
			waited++ // for its turn on a busy machine; where there is no room, all from then on wait
		}
	}
	require.Less(t, waited, room/2, "there is room")
	began := time.Now()
	for range 3 {
		w.Append(context.Background(), record)
	}
	require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond, "no more is taken in, after a moment each")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w.Close(ctx)
}
