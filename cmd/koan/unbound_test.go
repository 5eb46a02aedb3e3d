package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
)

// A role that passes by row level security is told so at the start; one that it binds sees its rows alone.
func TestRolesThatPassByRowLevelSecurity(t *testing.T) {
	place, db := foreign(t, `CREATE TABLE notes (id int PRIMARY KEY, owner text); INSERT INTO notes VALUES (1, 'rls_reader'), (2, 'other');
ALTER TABLE notes ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON notes USING (owner = current_user)`, true)
	pgtest.Psql(t, pgtest.Server(t), "CREATE ROLE rls_reader LOGIN")
	i, err := start(t, map[string]string{"database": place})
	require.NoError(t, err)
	require.Contains(t, strings.Join(i.Report(), "\n"), "passes by row level security, as a superuser, an owner or by BYPASSRLS; callers see all rows of public.notes")
	require.Equal(t, 2.0, does(t, i, "koan::Note.count", `{}`)["count"])

	_, err = db.Exec("GRANT SELECT ON notes TO rls_reader")
	require.NoError(t, err)
	i, err = start(t, map[string]string{"database": strings.Replace(place, "postgres://postgres@", "postgres://rls_reader@", 1)})
	require.NoError(t, err)
	require.NotContains(t, strings.Join(i.Report(), "\n"), "row level security")
	require.Equal(t, 1.0, does(t, i, "koan::Note.count", `{}`)["count"])
}
