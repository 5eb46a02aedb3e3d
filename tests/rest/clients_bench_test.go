package rest

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
)

// BenchmarkCreates measures how many rows clients create in a second on PostgreSQL, each waiting for
// its last one to be on the disk, and what part that is of clients that insert a row with nothing
// around it.
func BenchmarkCreates(b *testing.B) {
	pgtest.Durable(b)
	place := pgtest.Place(b)
	raw := pgtest.Open(b)
	raw.SetMaxOpenConns(64)
	raw.SetMaxIdleConns(64)
	_, err := raw.Exec("CREATE TABLE raw_rows (id TEXT PRIMARY KEY, title TEXT NOT NULL)")
	require.NoError(b, err)
	kit := koantest.NewConfined(b, fixtureApp(), koantest.Setting{Key: "database", Value: place}, koantest.Setting{Key: "files.dir", Value: b.TempDir()})
	s := mount(b, kit, framework.HTTPOptions{})
	create := func() bool { return s.do("POST", "/api/todo", `{"title":"Buy milk"}`).status == http.StatusCreated }
	require.True(b, create())
	var number atomic.Int64
	insert := func() bool {
		_, err := raw.Exec("INSERT INTO raw_rows VALUES ($1, 'Buy milk')", fmt.Sprint(number.Add(1)))
		return err == nil
	}
	for _, clients := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			alone := timeOf(b, clients, b.N, insert)
			took := timeOf(b, clients, b.N, create)
			b.ReportMetric(float64(b.N)/took.Seconds(), "rows/s")
			b.ReportMetric(alone.Seconds()/took.Seconds(), "of-raw")
		})
	}
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
