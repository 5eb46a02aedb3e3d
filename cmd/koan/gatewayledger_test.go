package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
)

// A koan.yaml that `koan init` has written is for `koan serve`: the gateway starts beside it, and leaves the
// database alone.
func TestGatewayLeavesTheDatabaseOfKoanServeAlone(t *testing.T) {
	each(t, func(t *testing.T, s store) {
		before := s.list(t, s.names)
		dir := t.TempDir()
		t.Setenv("XDG_DATA_HOME", dir)
		file := filepath.Join(t.TempDir(), configFile)
		require.NoError(t, os.WriteFile(file, []byte(`database: "`+s.place+"\"\nreadOnly: true\nentities:\n  Customer:\n    table: customers\n"), 0o600))
		i, err := framework.New(t.Context(), gateway(), framework.Options{Config: framework.Source{File: file}})
		require.NoError(t, err)
		defer func() { _ = i.Stop(context.Background()) }()
		require.Contains(t, strings.Join(i.Report(), "\n"), "`database` is not used here")
		script(t, i, "return 1", map[string]any{"idempotencyKey": "once"})
		require.Equal(t, before, s.list(t, s.names))
		require.FileExists(t, filepath.Join(dir, "koan-gateway", "koan.ledger"))
	})
}

// The gateway's ledger is where ledger.database says.
func TestGatewayKeepsItsLedgerWhereItIsTold(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	dir := t.TempDir()
	i, err := framework.New(t.Context(), gateway(), framework.Options{Config: framework.Source{Flags: map[string]string{"ledger.database": "sqlite://" + dir}}})
	require.NoError(t, err)
	defer func() { _ = i.Stop(context.Background()) }()
	require.NotContains(t, strings.Join(i.Report(), "\n"), "not used")
	script(t, i, "return 1", map[string]any{"idempotencyKey": "once"})
	require.FileExists(t, filepath.Join(dir, "koan.ledger"))
}
