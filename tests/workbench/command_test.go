package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/run/store"
)

// asCommand makes the test's program the app's own.
const asCommand = "WORKBENCH_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main() // never returns
	}
	os.Exit(m.Run())
}

// line is what `workbench run` prints (CONTRACT section 7).
type line struct {
	Result struct {
		OK      bool            `json:"ok"`
		Answer  json.RawMessage `json:"answer"`
		Changes []store.Change  `json:"changes"`
		Error   struct{ Code, Message string }
	} `json:"result"`
}

// command runs `workbench` with a data folder of its own, and returns the line, what it
// wrote to standard error, and its exit status.
func command(t *testing.T, data, folder string, args ...string) (line, string, int) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(program, append(args, "--database", "sqlite://"+data)...)
	c.Env = append(os.Environ(), asCommand+"=yes", "KOAN_WORKBENCH_DATA="+folder)
	var out, failure bytes.Buffer
	c.Stdout, c.Stderr = &out, &failure
	if err := c.Run(); err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	var l line
	require.NoError(t, json.Unmarshal(out.Bytes(), &l), "%s%s", out.String(), failure.String())
	return l, failure.String(), c.ProcessState.ExitCode()
}

// The app seeds itself from the folder that its key names; a run that is none of the dry
// ones stays, so its second one has nothing to do.
func TestRunCommand(t *testing.T) {
	t.Parallel()
	data, folder := t.TempDir(), absolute(t, tables)
	file, args := "scripts/calendar-09.js", `{"name": "olga"}`

	l, _, status := command(t, data, folder, "run", file, "--args", args, "--dry-run")
	require.Zero(t, status)
	require.True(t, l.Result.OK)
	require.Len(t, l.Result.Changes, 4)

	l, _, status = command(t, data, folder, "run", file, "--args", args, "--include", "changes")
	require.Zero(t, status)
	require.Len(t, l.Result.Changes, 4)

	l, _, status = command(t, data, folder, "run", file, "--args", args, "--include", "changes")
	require.Zero(t, status)
	require.Empty(t, l.Result.Changes)
	require.JSONEq(t, "0", string(l.Result.Answer))
}

// Without its tables the app does not start, and says what to do; it starts when they are
// there.
func TestMissingTables(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	file := filepath.Join(t.TempDir(), "count.js")
	require.NoError(t, os.WriteFile(file, []byte(`SDK.Out.answer(SDK.Entities.Visit.count())`), 0o600))

	l, failure, status := command(t, data, t.TempDir(), "run", file)
	require.Equal(t, 1, status)
	require.False(t, l.Result.OK)
	require.Contains(t, failure, "emails.csv")
	require.Contains(t, failure, "workbench.data must name the folder of WorkBench's tables")

	l, _, status = command(t, data, absolute(t, tables), "run", file)
	require.Zero(t, status)
	require.JSONEq(t, "1000", string(l.Result.Answer))
}

// A table with wrong values fills nothing, and each wrong value is named.
func TestWrongTables(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS(tables)))
	raw, err := os.ReadFile(filepath.Join(folder, "events.csv"))
	require.NoError(t, err)
	raw = append(raw, "a,b,c@x,2023-13-01 09:00:00,half an hour\n"...)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "events.csv"), raw, 0o600))

	_, failure, status := command(t, t.TempDir(), folder, "run", "scripts/calendar-09.js", "--args", `{"name": "olga"}`)
	require.Equal(t, 1, status)
	require.Contains(t, failure, "events.csv, row 301, column event_start")
	require.Contains(t, failure, "events.csv, row 301, column duration")
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	p, err := filepath.Abs(path)
	require.NoError(t, err)
	return p
}
