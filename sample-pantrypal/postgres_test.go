package main

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
)

// In PostgreSQL the same workflows have the same answers, and leave and undo the same; and the
// pages of another process show the same data.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	place := pgtest.Place(t)
	k := openAt(t, monday, koantest.Setting{Key: "database", Value: place}, koantest.Setting{Key: "journal.enabled", Value: "true"})
	k.sample("haul.png")
	tried := 0
	for _, w := range workflows(t) {
		if !slices.Contains([]string{"haul", "week-plan", "shop", "cooked", "waste"}, w.Name) {
			continue
		}
		tried++
		t.Run(w.Name, func(t *testing.T) { kitchen{k.Kit, t, k.photos}.try(w) })
	}
	require.Equal(t, 5, tried)
	t.Run("pages", func(t *testing.T) {
		w := serveWeb(t, place)
		for path, want := range map[string]string{"/": "Maple Street", "/shelves": "Feta"} {
			status, _, text := w.do("GET", path, "")
			require.Equal(t, http.StatusOK, status, "%s", text)
			require.Contains(t, text, want)
		}
	})
}

// The same data as in TestFirstModelIsTakenOver, as that model's binary keeps it in PostgreSQL.
func TestFirstModelIsTakenOverInPostgreSQL(t *testing.T) {
	t.Parallel()
	pgtest.Psql(t, string(unpacked(t, "earlier/testdata/default.sql.gz")))
	takeOver(t, koantest.Setting{Key: "database", Value: pgtest.Server(t)}) // its schemas have the app's name
}
