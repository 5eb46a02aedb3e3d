package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ready waits until /readyz answers with a status, and with words.
func (w *web) ready(status int, words ...string) {
	w.t.Helper()
	var got int
	var body string
	require.Eventually(w.t, func() bool {
		resp, err := http.Get(strings.TrimSuffix(w.url, "/mcp") + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		got, body = resp.StatusCode, string(raw)
		return err == nil && got == status && contains(body, words...)
	}, 10*time.Second, 200*time.Millisecond, "%d %q\n%s", status, words, w.stderr)
	require.NotContains(w.t, body, w.data, "paths are not for everybody")
}

func contains(text string, words ...string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

func (w *web) healthy() {
	w.t.Helper()
	resp, err := http.Get(strings.TrimSuffix(w.url, "/mcp") + "/healthz")
	require.NoError(w.t, err)
	_ = resp.Body.Close()
	require.Equal(w.t, http.StatusOK, resp.StatusCode)
}

// TestReadinessNamesDamage damages files and repairs them while the server runs, whose
// answer names each of them.
func TestReadinessNamesDamage(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	w := a.web()
	status, _ := w.call("todo.upsert", `{"model":{"title":"x"}}`)
	require.Equal(t, http.StatusOK, status)
	w.ready(http.StatusOK, "ready")
	ledger, set := filepath.Join(a.data, "koan.ledger"), filepath.Join(a.data, "default.db")
	damage := func(path string, with []byte) (mend func()) {
		require.NoError(t, os.Rename(path, path+".kept"))
		require.NoError(t, os.WriteFile(path, with, 0o600))
		return func() { require.NoError(t, os.Rename(path+".kept", path)) }
	}
	mend := damage(ledger, []byte(strings.Repeat("garbage ", 1000)))
	w.ready(http.StatusServiceUnavailable, "the file of the ledger is not a SQLite database")
	mendSet := damage(set, nil)
	w.ready(http.StatusServiceUnavailable, "the file of the ledger is not a SQLite database", `the file of the set "default" is empty`)
	w.healthy()
	mend()
	mendSet()
	w.ready(http.StatusOK, "ready")
	require.NoError(t, os.Remove(ledger))
	w.ready(http.StatusServiceUnavailable, "the file of the ledger is missing")
}

// TestReadinessNamesDamageInPlace damages the file that the server has open, whose header it must not
// read by itself.
func TestReadinessNamesDamageInPlace(t *testing.T) {
	t.Parallel()
	for says, damage := range map[string]func(path string) error{
		`the file of the set "default" is empty`:   func(path string) error { return os.Truncate(path, 0) },
		`the file of the set "default" is damaged`: func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("garbage ", 4096)), 0o600) },
	} {
		a := newApp(t)
		w := a.web()
		status, _ := w.call("todo.upsert", `{"model":{"title":"x"}}`)
		require.Equal(t, http.StatusOK, status)
		require.NoError(t, damage(filepath.Join(a.data, "default.db")))
		w.ready(http.StatusServiceUnavailable, says)
	}
}

func TestReadinessNeedsRequiredPlugins(t *testing.T) {
	t.Parallel()
	a := withNap(t)
	w := a.web("--plugins.required", "nap,other")
	w.ready(http.StatusServiceUnavailable, "there is no plugin other")
	w = withNap(t).web("--plugins.required", "nap")
	w.ready(http.StatusOK, "ready")
}

func TestDoctorFailsWithoutRequiredPlugins(t *testing.T) {
	t.Parallel()
	a := withNap(t)
	r := a.exec("", "doctor", "--plugins.required", "other,nap")
	require.Equal(t, 1, r.status, r.stdout)
	require.Regexp(t, `FAIL +plugin other +plugins\.required lists it, but there is no such plugin in `, r.stdout)
	require.Regexp(t, `ok +plugin nap `, r.stdout)
	require.Contains(t, r.stderr, "1 check failed")
	r = a.exec("", "doctor", "--plugins.required", "nap")
	require.Zero(t, r.status, r.stdout)
}

// TestSetFileRemovedWhileOpen checks that writes are rejected if the file is removed or
// replaced: they would be acknowledged and lost.
func TestSetFileRemovedWhileOpen(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	w := a.web()
	status, _ := w.call("todo.upsert", `{"model":{"title":"x"}}`)
	require.Equal(t, http.StatusOK, status)
	set := filepath.Join(a.data, "default.db")
	copied, err := os.ReadFile(set)
	require.NoError(t, err)
	require.NoError(t, os.Rename(set, set+".kept"))
	refused := func(why string) {
		for _, call := range [][2]string{{"todo.upsert", `{"model":{"title":"y"}}`}, {"todo.count", `{}`}, {"koan.code.execute", `{"code":"SDK.Entities.Todo.upsert({title: 'y'})"}`}} {
			_, out := w.call(call[0], call[1])
			require.Contains(t, fmt.Sprint(out), why, call[0])
		}
	}
	refused("is gone while the app had it open")
	w.ready(http.StatusServiceUnavailable, `the file of the set "default" is missing`)
	require.NoError(t, os.WriteFile(set, copied, 0o600))
	refused("was replaced by another file while the app had it open")
	w.ready(http.StatusServiceUnavailable, `was replaced by another file`)
	require.NoError(t, os.Rename(set+".kept", set))
	_, out := w.call("todo.count", `{}`)
	require.EqualValues(t, 2, out["count"], "the first todo and the app's own")
	w.ready(http.StatusOK, "ready")
}
