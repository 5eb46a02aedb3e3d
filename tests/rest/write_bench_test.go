package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
)

// BenchmarkRESTWrites measures writes of one row and of a script's 100, with and without what the
// change log and undo keep of them.
func BenchmarkRESTWrites(b *testing.B) {
	for _, database := range []string{"SQLite", "PostgreSQL"} {
		for _, changes := range []string{"true", "false"} {
			at := "sqlite://" + b.TempDir()
			if database == "PostgreSQL" {
				at = pgtest.Place(b)
			}
			kit := koantest.NewConfined(b, fixtureApp(), koantest.Setting{Key: "database", Value: at}, koantest.Setting{Key: "files.dir", Value: b.TempDir()},
				koantest.Setting{Key: "journal.changes", Value: changes})
			s := mount(b, kit, framework.HTTPOptions{})
			require.Equal(b, http.StatusCreated, s.do("PUT", "/api/todo/a", `{"title":"Buy milk"}`).status)
			name := fmt.Sprintf("%s/changes=%s/", database, changes)
			b.Run(name+"patch", func(b *testing.B) {
				for i := range b.N {
					require.Equal(b, http.StatusOK, s.do("PATCH", "/api/todo/a", fmt.Sprintf(`{"views":%d}`, i), "Content-Type", mergePatch).status)
				}
			})
			b.Run(name+"patch by 16", func(b *testing.B) {
				b.SetParallelism(8)
				b.RunParallel(func(p *testing.PB) {
					for p.Next() {
						s.do("PATCH", "/api/todo/a", `{"notes":"x"}`, "Content-Type", mergePatch)
					}
				})
			})
			b.Run(name+"upsert 100", func(b *testing.B) {
				models := "[" + strings.TrimSuffix(strings.Repeat(`{"title":"Buy milk","notes":"two bottles"},`, 100), ",") + "]"
				post := func() {
					require.Equal(b, http.StatusOK, s.do("POST", "/api/todo:upsert-many", `{"models":`+models+`}`).status)
				}
				for range 20 {
					post()
				}
				if database == "PostgreSQL" { // as autovacuum does in time: it forgets plans for empty tables
					pgtest.Psql(b, at, "ANALYZE")
				}
				b.ResetTimer()
				for range b.N {
					post()
				}
			})
		}
	}
}

const mergePatch = "application/merge-patch+json"
