package rest

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
)

// All processes on one database make the same tags, at the same time and after each other, with
// whatever secret.
func TestETagsOfOtherProcesses(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestETagsOfOtherProcesses) {
		return
	}
	place := koantest.Setting{Key: "database", Value: "sqlite://" + t.TempDir()}
	if pgtest.Here(t) {
		place.Value = pgtest.Place(t)
	}
	first := serve(t, fixtureApp(), framework.HTTPOptions{}, place)
	made := first.do("POST", "/api/label", `{"name":"urgent"}`)
	made.object(http.StatusCreated)
	at, tag := made.header.Get("Location"), made.header.Get("ETag")
	for _, other := range []*server{
		serve(t, fixtureApp(), framework.HTTPOptions{}, place),
		serve(t, fixtureApp(), framework.HTTPOptions{}, place, koantest.Setting{Key: "server.secret", Value: strings.Repeat("s", 32)}),
	} {
		require.Equal(t, tag, other.do("GET", at, "").header.Get("ETag"))
		require.Equal(t, http.StatusNotModified, other.do("GET", at, "", "If-None-Match", tag).status)
		other.do("PATCH", at, `{"name":"urgent"}`, "If-Match", tag).object(http.StatusOK)
	}
	elsewhere := serve(t, fixtureApp(), framework.HTTPOptions{})
	same := elsewhere.do("POST", "/api/label", `{"name":"urgent"}`)
	require.Equal(t, made.object(http.StatusCreated), same.object(http.StatusCreated))
	require.NotEqual(t, tag, same.header.Get("ETag"), "the key belongs to the data")
}

// Rows with a version need no key: they are read and written while none can be had.
func TestVersionsNeedNoKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, fixtureApp(), framework.HTTPOptions{}, koantest.Setting{Key: "database", Value: "sqlite://" + dir})
	ledger, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "koan.ledger"))
	require.NoError(t, err)
	defer ledger.Close()
	conn, err := ledger.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "CREATE TABLE koan_secrets (other TEXT)")
	require.NoError(t, err)
	require.Equal(t, `"1"`, s.do("PUT", "/api/todo/a", `{"title":"A"}`).header.Get("ETag"))
	require.Equal(t, `"1"`, s.do("GET", "/api/todo/a", "").header.Get("ETag"))
	code, _ := s.do("POST", "/api/label", `{"name":"urgent"}`).problem(http.StatusServiceUnavailable)
	require.Equal(t, string(fault.ServiceUnavailable), code)
	require.JSONEq(t, `{"count":0}`, string(s.do("POST", "/api/label:count", "{}").body), "what has no tag was not stored")
}
