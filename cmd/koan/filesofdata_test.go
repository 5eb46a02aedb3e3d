package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
)

// Scripts over a database that exists have files; they are in the folder of the ledger.
func TestFilesBesideADatabaseThatExists(t *testing.T) {
	onBoth(t, func(bool) string { return "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)" }, func(t *testing.T, place string, _ bool) {
		i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
		require.NoError(t, err)
		run := func(in map[string]any) (out struct{ Result any }) {
			_, err := i.Invoke(t.Context(), framework.Principal{Subject: "ann", Sets: []string{"*"}, Scopes: []string{auth.All}}, "code::koan.execute", in, &out)
			require.NoError(t, err)
			return out
		}
		large := run(map[string]any{"onLarge": "file", "code": `SDK.Entities.Note.create({ id: "1", body: SDK.Files.create({ name: "n.txt", text: "kept" }).id }); return "x".repeat(300000)`})
		handle := large.Result.(map[string]any)["$file"]
		read := run(map[string]any{"args": handle, "code": `return [SDK.Files.text(SDK.Entities.Note.getById("1").body), SDK.Files.get(SDK.args).size]`})
		require.Equal(t, []any{"kept", 300002.0}, read.Result)
	})
}
