//go:build cgo

package sqlitedriver

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"
)

// BenchmarkWithoutC measures the translation to Go against the C library: a row by its key,
// a page of rows, and a row written in a transaction of its own.
func BenchmarkWithoutC(b *testing.B) {
	open := func(dir string, connect func(name string) *sql.DB) *sql.DB {
		db := connect("file:" + filepath.Join(dir, "a.db") + settings)
		b.Cleanup(func() { require.NoError(b, db.Close()) })
		_, err := db.Exec("CREATE TABLE things (id integer PRIMARY KEY, name text, amount integer)")
		require.NoError(b, err)
		for i := range 1000 {
			_, err := db.Exec("INSERT INTO things VALUES (?, ?, ?)", i, fmt.Sprintf("thing %d", i), i)
			require.NoError(b, err)
		}
		return db
	}
	translated := func(name string) *sql.DB {
		c, err := sqlite.NewConnector(name + "&_time_format=sqlite")
		require.NoError(b, err)
		return sql.OpenDB(c)
	}
	for name, work := range map[string]func(db *sql.DB, i int) error{
		"Get": func(db *sql.DB, i int) error {
			var text string
			return db.QueryRow("SELECT name FROM things WHERE id = ?", i%1000).Scan(&text)
		},
		"Page": func(db *sql.DB, i int) error {
			rows, err := db.Query("SELECT id, name, amount FROM things WHERE amount > ? ORDER BY name LIMIT 20", i%900)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var id, amount int
				var text string
				if err := rows.Scan(&id, &text, &amount); err != nil {
					return err
				}
			}
			return rows.Err()
		},
		"Write": func(db *sql.DB, i int) error {
			_, err := db.Exec("UPDATE things SET amount = amount + 1 WHERE id = ?", i%1000)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			raw, own := open(b.TempDir(), Open), open(b.TempDir(), translated)
			var times [2]time.Duration
			b.ResetTimer()
			for i := range b.N {
				for n, db := range []*sql.DB{raw, own} {
					start := time.Now()
					require.NoError(b, work(db, i))
					times[n] += time.Since(start)
				}
			}
			b.ReportMetric(float64(times[0].Microseconds())/float64(b.N), "raw-µs")
			b.ReportMetric(float64(times[1].Microseconds())/float64(b.N), "own-µs")
			b.ReportMetric(float64(times[1])/float64(times[0]), "x-raw")
		})
	}
}
