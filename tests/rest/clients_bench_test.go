package rest

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
)

// BenchmarkCreatesOnPostgreSQL measures how many rows clients create in a second, each waiting for
// the last one to be on the disk, beside as many that insert a row with nothing around it.
func BenchmarkCreatesOnPostgreSQL(b *testing.B) {
	pgtest.Durable(b)
	place := pgtest.Place(b)
	raw := pgtest.Open(b)
	raw.SetMaxOpenConns(64)
	raw.SetMaxIdleConns(64)
	_, err := raw.Exec("CREATE TABLE raw_rows (id TEXT PRIMARY KEY, title TEXT NOT NULL)")
	require.NoError(b, err)
	kit := koantest.NewConfined(b, fixtureApp(), koantest.Setting{Key: "database", Value: place}, koantest.Setting{Key: "files.dir", Value: b.TempDir()})
	s := mount(b, kit, framework.HTTPOptions{})
	require.Equal(b, http.StatusCreated, s.do("POST", "/api/todo", `{"title":"Buy milk"}`).status)
	var number atomic.Int64
	for _, clients := range []int{1, 16, 32, 64} {
		for name, create := range map[string]func() bool{
			"raw": func() bool {
				_, err := raw.Exec("INSERT INTO raw_rows VALUES ($1, 'Buy milk')", fmt.Sprint(number.Add(1)))
				return err == nil
			},
			"REST": func() bool { return s.do("POST", "/api/todo", `{"title":"Buy milk"}`).status == http.StatusCreated },
		} {
			b.Run(fmt.Sprintf("%s by %d", name, clients), func(b *testing.B) {
				var left, failed atomic.Int64
				left.Store(int64(b.N))
				var group sync.WaitGroup
				for range clients {
					group.Go(func() {
						for left.Add(-1) >= 0 {
							if !create() {
								failed.Add(1)
							}
						}
					})
				}
				group.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
				require.Zero(b, failed.Load())
			})
		}
	}
}
