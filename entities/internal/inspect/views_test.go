package inspect_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/inspect"
	"github.com/koan-go/koan/tests/pgtest"
)

// A view is left out for what the server says of it. A connection that breaks says nothing of any view.
func TestOnlyTheServerSaysThatAViewCannotBeRead(t *testing.T) {
	pgtest.Psql(t, pgtest.Server(t), "CREATE DATABASE views")
	db, err := sql.Open("pgx", strings.Replace(pgtest.Server(t), "/postgres?", "/views?", 1))
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	_, err = db.Exec(`CREATE TABLE notes (id int PRIMARY KEY); CREATE VIEW ids AS SELECT id FROM notes;
CREATE FUNCTION odd() RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN missing(); END';
CREATE VIEW broken AS SELECT odd() AS n`)
	require.NoError(t, err)
	names := func(d *inspect.Database) (out []string) {
		for _, r := range d.Relations {
			out = append(out, r.Name)
		}
		return out
	}
	found, err := inspect.PostgreSQL(t.Context(), db)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"notes", "ids", "broken"}, names(found))
	require.NoError(t, found.OmitUnreadable(t.Context(), db))
	require.ElementsMatch(t, []string{"notes", "ids"}, names(found))

	found, err = inspect.PostgreSQL(t.Context(), db)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.Error(t, found.OmitUnreadable(t.Context(), db))
}
