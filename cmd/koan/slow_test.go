package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
)

// slowView is a view whose rows no database has within an hour, beside a table.
func slowView(onPostgreSQL bool) string {
	const table = "CREATE TABLE items (id INTEGER PRIMARY KEY, name VARCHAR(20)); INSERT INTO items VALUES (1, 'one');\n"
	if onPostgreSQL {
		return table + "CREATE VIEW slow AS SELECT id, name FROM items, pg_sleep(3600)"
	}
	return table + "CREATE VIEW slow AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000000) SELECT count(*) AS id FROM n"
}

// onBoth runs a test over a database of each kind.
func onBoth(t *testing.T, statements func(onPostgreSQL bool) string, test func(t *testing.T, place string, onPostgreSQL bool)) {
	for _, onPostgreSQL := range []bool{false, true} {
		t.Run(map[bool]string{false: "SQLite", true: "PostgreSQL"}[onPostgreSQL], func(t *testing.T) {
			place, _ := foreign(t, statements(onPostgreSQL), onPostgreSQL)
			test(t, place, onPostgreSQL)
		})
	}
}

// stillServes checks that a database answers and takes a write after a slow statement.
func stillServes(t *testing.T, i *framework.Instance) {
	t.Helper()
	require.Equal(t, "one", does(t, i, "koan::Item.get-by-id", `{"id":"1"}`)["name"])
	require.Equal(t, "two", does(t, i, "koan::Item.upsert", `{"model":{"id":"2","name":"two"}}`)["name"])
}

// A slow view ends with the call's own time, on both databases, and what waits behind it goes on.
func TestSlowStatementEndsWithItsCall(t *testing.T) {
	onBoth(t, slowView, func(t *testing.T, place string, _ bool) {
		i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never", "server.toolTimeoutMs": "1000"})
		require.NoError(t, err)
		h, err := i.HTTPHandler(framework.HTTPOptions{Authenticate: func(*http.Request) (framework.Principal, error) { return tester, nil }})
		require.NoError(t, err)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/slow", nil))
		require.Contains(t, w.Body.String(), string(fault.ToolTimeout))
		stillServes(t, i)
	})
}

// A script that asks a slow view ends with the script's time, and changes nothing.
func TestSlowStatementEndsWithItsScript(t *testing.T) {
	onBoth(t, slowView, func(t *testing.T, place string, _ bool) {
		i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never", "sandbox.timeoutMs": "1500"})
		require.NoError(t, err)
		_, err = call(t, i, "code::koan.execute", map[string]any{"code": `SDK.Entities.Item.patch("1", { name: "changed" }); return SDK.Entities.Slow.count()`})
		require.Contains(t, []fault.Code{fault.Timeout, fault.ToolTimeout}, fault.CodeOf(err), "%v", err)
		stillServes(t, i)
	})
}

// PostgreSQL itself ends a statement after the URL's statement_timeout; the fault names it, and the server goes on.
func TestStatementTimeoutOfTheURL(t *testing.T) {
	onBoth(t, slowView, func(t *testing.T, place string, onPostgreSQL bool) {
		if !onPostgreSQL {
			_, err := start(t, map[string]string{"database": place + "?statement_timeout=100", "readOnly": "false"})
			require.Error(t, err, "SQLite has no such setting, and no such file is made")
			return
		}
		i, err := start(t, map[string]string{"database": place + "&statement_timeout=300", "readOnly": "false", "approval.mode": "never"})
		require.NoError(t, err)
		f := refused(t, i, "koan::Slow.collection", `{}`)
		require.Equal(t, fault.ServiceUnavailable, f.Code, "%v", f)
		require.Contains(t, f.Hint, "statement_timeout")
		stillServes(t, i)
		did, err := call(t, i, "code::koan.execute", map[string]any{"code": `SDK.Entities.Item.patch("1", { name: "changed" }); return SDK.Entities.Slow.count()`})
		require.True(t, err != nil || did["error"] != nil, "%v", did)
		require.Equal(t, "one", does(t, i, "koan::Item.get-by-id", `{"id":"1"}`)["name"], "the run is rolled back")
	})
}

// A page has as many rows as it may, a call as many bytes, whatever a table has.
func TestRowsOfACallAreBounded(t *testing.T) {
	onBoth(t, func(bool) string {
		values := make([]string, 1200)
		for i := range values {
			values[i] = fmt.Sprintf("(%d, '%s')", i+1, strings.Repeat("x", 200))
		}
		return "CREATE TABLE items (id INTEGER PRIMARY KEY, name VARCHAR(200)); INSERT INTO items VALUES " + strings.Join(values, ",")
	}, func(t *testing.T, place string, _ bool) {
		i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
		require.NoError(t, err)
		f := refused(t, i, "koan::Item.collection", `{"pageSize":100000}`)
		require.Equal(t, fault.InvalidPayload, f.Code, "%v", f)
		require.Equal(t, "/pageSize", f.Path)
		require.NotEmpty(t, does(t, i, "koan::Item.collection", `{}`)["nextCursor"], "a page is not the table")
		f = refused(t, i, "koan::Item.delete-by-query", `{"filter":{"name":{"$ne":"y"}},"maxAffected":1000}`)
		require.Equal(t, fault.InvalidPayload, f.Code, "%v", f)
		require.EqualValues(t, 1200, does(t, i, "koan::Item.count", `{}`)["count"])
	})
}
