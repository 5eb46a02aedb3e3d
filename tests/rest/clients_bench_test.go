package rest

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
)

// BenchmarkWrites measures how many rows clients create and change in a second, each waiting for its last
// write to be on the disk, what part that is of clients that send the same statement with nothing around
// it, and the CPU time of a write in this process.
func BenchmarkWrites(b *testing.B) {
	pgtest.Durable(b)
	if pgtest.ForEach(b, BenchmarkWrites) {
		return
	}
	settings := []koantest.Setting{{Key: "files.dir", Value: b.TempDir()}}
	if pgtest.Here(b) {
		settings = append(settings, koantest.Setting{Key: "database", Value: pgtest.Place(b)})
	}
	s := mount(b, koantest.NewConfined(b, fixtureApp(), settings...), framework.HTTPOptions{})
	raw := rawRows(b)
	var last struct{ ours, raw atomic.Int64 }
	for from := 0; from < changed; from += 500 {
		var models []string
		for n := from; n < from+500; n++ {
			models = append(models, fmt.Sprintf(`{"id":"w%d","title":"Buy milk"}`, n))
			require.True(b, raw("INSERT INTO raw_rows (title, id) VALUES ('Buy milk', $1)", fmt.Sprint("w", n)))
		}
		r := s.do("POST", "/api/todo:upsert-many", `{"models":[`+strings.Join(models, ",")+`]}`)
		require.Equal(b, http.StatusOK, r.status)
	}
	for _, w := range []struct {
		name      string
		ours, raw func(n int64) bool
	}{
		{
			"create",
			func(int64) bool {
				return s.do("POST", "/api/todo", `{"title":"Buy milk"}`).status == http.StatusCreated
			},
			func(n int64) bool {
				return raw("INSERT INTO raw_rows (title, id) VALUES ('Buy milk', $1)", fmt.Sprint(n))
			},
		},
		{
			"patch",
			func(n int64) bool {
				return s.do("PATCH", fmt.Sprintf("/api/todo/w%d", n%changed), fmt.Sprintf(`{"title":"Buy milk %d"}`, n)).status == http.StatusOK
			},
			func(n int64) bool {
				return raw("UPDATE raw_rows SET title = $1 WHERE id = $2", fmt.Sprint("Buy milk ", n), fmt.Sprint("w", n%changed))
			},
		},
	} {
		for _, clients := range []int{1, 4, 16, 64} {
			b.Run(fmt.Sprintf("%s/clients=%d", w.name, clients), func(b *testing.B) {
				alone := timeOf(b, clients, b.N, func() bool { return w.raw(last.raw.Add(1)) })
				before := cpuTime(b)
				took := timeOf(b, clients, b.N, func() bool { return w.ours(last.ours.Add(1)) })
				b.ReportMetric((cpuTime(b)-before).Seconds()*1000/float64(b.N), "cpu-ms")
				b.ReportMetric(float64(b.N)/took.Seconds(), "rows/s")
				b.ReportMetric(alone.Seconds()/took.Seconds(), "of-raw")
			})
		}
	}
}

// changed is how many rows there are for clients to change, one after the other.
const changed = 5000

// rawRows returns a function that runs one statement on a table of the benchmark's own, as durable as the
// app's writes, and reports whether it succeeded. On SQLite the statements wait for each other.
func rawRows(b *testing.B) func(query string, args ...any) bool {
	var db *sql.DB
	if pgtest.Here(b) {
		db = pgtest.Open(b)
		db.SetMaxOpenConns(64)
		db.SetMaxIdleConns(64)
	} else {
		db = sqlitedriver.Open("file:" + filepath.Join(b.TempDir(), "raw.db") + "?_journal_mode=WAL&_synchronous=FULL&_stmt_cache_size=16")
		db.SetMaxOpenConns(1)
		b.Cleanup(func() { _ = db.Close() })
	}
	_, err := db.Exec("CREATE TABLE raw_rows (id TEXT PRIMARY KEY, title TEXT NOT NULL)")
	require.NoError(b, err)
	return func(query string, args ...any) bool {
		_, err := db.Exec(query, args...)
		return err == nil
	}
}

// cpuTime returns the CPU time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// timeOf returns how long so many clients take for n things that each of them does one after the other.
func timeOf(b *testing.B, clients, n int, do func() bool) time.Duration {
	var left, failed atomic.Int64
	left.Store(int64(n))
	var group sync.WaitGroup
	began := time.Now()
	for range clients {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if !do() {
					failed.Add(1)
				}
			}
		})
	}
	group.Wait()
	require.Zero(b, failed.Load())
	return time.Since(began)
}
