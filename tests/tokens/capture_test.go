//go:build baselines

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
)

// TestCaptureBaselines runs the database servers of baselines/package.json over
// PantryPal's tables, and keeps what they list in testdata/baselines. It installs them
// from npm, some of them compile: `make baselines`.
func TestCaptureBaselines(t *testing.T) {
	t.Parallel()
	run := func(name string, args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Stderr = "baselines", os.Stderr
		out, err := cmd.Output()
		require.NoError(t, err, "%s %v: %s", name, args, out)
		return out
	}
	run("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
	node, err := filepath.Abs("../npm/node_modules/node/bin/node") // some want a newer one than Debian has
	require.NoError(t, err)
	file, url := pantryFile(t), pantryTables(t)
	var about struct{ Dependencies map[string]string }
	raw, err := os.ReadFile(filepath.Join("baselines", "package.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &about))
	for name := range about.Dependencies {
		database := file
		switch {
		case strings.HasSuffix(name, "/sdk"):
			continue
		case strings.Contains(name, "postgres"):
			database = url
		}
		out := run(node, "capture.mjs", name, database)
		at := filepath.Join("testdata", "baselines", strings.NewReplacer("@", "", "/", "-").Replace(name)+".json")
		require.NoError(t, os.WriteFile(at, out, 0o644))
	}
}

// pantryFile is PantryPal's data, as SQLite has it.
func pantryFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	_, stop, err := pantrypalOver("sqlite://"+dir, vision(t), sample, javaScript)
	require.NoError(t, err)
	stop()
	return filepath.Join(dir, "default.db")
}

// pantryTables copies PantryPal's tables into the schema where such servers look.
func pantryTables(t *testing.T) string {
	t.Helper()
	server := pgtest.Server(t)
	_, stop, err := pantrypalOver(server, vision(t), sample, javaScript)
	require.NoError(t, err)
	stop()
	db, err := sql.Open("pgx", server)
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(context.Background(), `SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema LIKE 'pantrypal.%' AND table_name NOT LIKE 'koan_%'`)
	require.NoError(t, err)
	var made []string
	for rows.Next() {
		var schema, table string
		require.NoError(t, rows.Scan(&schema, &table))
		made = append(made, `CREATE TABLE public."`+table+`" (LIKE "`+schema+`"."`+table+`" INCLUDING ALL)`)
	}
	require.NoError(t, rows.Close())
	require.NotEmpty(t, made)
	for _, statement := range made {
		_, err := db.ExecContext(context.Background(), statement)
		require.NoError(t, err)
	}
	return "postgres://postgres@localhost/postgres?host=" + server[strings.Index(server, "host=")+len("host="):]
}
