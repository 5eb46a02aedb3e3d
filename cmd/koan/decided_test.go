package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqlitedriver"
)

// What a fault tells people to type works: a plan over a database that exists is listed, approved, undone and
// replayed by commands of koan.
func TestPlansOfADatabaseAreDecidedAtTheCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := sqlitedriver.Open("file:" + filepath.Join(dir, "shop.db"))
	t.Cleanup(func() { _ = db.Close() })
	_, err := db.Exec("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO customer VALUES (1, 'Ann'), (2, 'Bob')")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "koan.yaml"), []byte("database: sqlite:shop.db\nreadOnly: false\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty.js"), []byte(`SDK.Entities.Customer.deleteMany(["1", "2"]); SDK.Out.answer("gone")`), 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	koan := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Args = append([]string{"koan"}, args...) // by whose name TestMain knows that this is koan
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+filepath.Join(dir, "data"))
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			require.NotEmpty(t, out.String(), "%v: %s", err, errs.String())
		}
		return out.String()
	}
	rows := func() (n int) {
		t.Helper()
		require.NoError(t, db.QueryRow("SELECT count(*) FROM customer").Scan(&n))
		return n
	}
	var run struct {
		PlanID string `json:"plan_id"`
		Result struct{ Error struct{ Hint string } }
	}
	require.NoError(t, json.Unmarshal([]byte(koan("run", "empty.js")), &run))
	require.NotEmpty(t, run.PlanID)
	require.Contains(t, run.Result.Error.Hint, "`koan approve "+run.PlanID+"`")
	require.Equal(t, 2, rows())

	require.Contains(t, koan("approve", "--list"), run.PlanID)
	require.Contains(t, koan("approve", run.PlanID, "--yes"), `"gone"`)
	require.Equal(t, 0, rows())
	require.Contains(t, koan("runs"), run.PlanID)
	require.Contains(t, koan("replay", run.PlanID), "identical")
	require.Contains(t, koan("undo", run.PlanID), `"ok":true`)
	require.Equal(t, 2, rows())
}
