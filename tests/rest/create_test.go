package rest

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
)

// Create makes what is not there, and says where it is; what is there already is a conflict, and stays.
func TestCreate(t *testing.T) {
	t.Parallel()
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	r := s.do("POST", "/api/todo:create", `{"model":{"id":"a b","title":"one"},"set":"archive"}`)
	require.Equal(t, http.StatusCreated, r.status, "%s", r.body)
	at := r.header.Get("Location")
	require.Equal(t, "/api/todo/a%20b?set=archive", at)
	require.Equal(t, "one", s.do("GET", at, "").object(http.StatusOK)["title"])

	again := s.do("POST", "/api/todo:create", `{"model":{"id":"a b","title":"two"},"set":"archive"}`).object(http.StatusConflict)
	require.Equal(t, "conflict", again["code"])
	require.Equal(t, "/model/id", again["path"])
	require.Contains(t, again["hint"], "patch or upsert")
	require.Equal(t, "one", s.do("GET", at, "").object(http.StatusOK)["title"])

	once := s.do("POST", "/api/todo:create", `{"model":{"title":"once"}}`, "Idempotency-Key", "k")
	require.Equal(t, once.object(http.StatusCreated), s.do("POST", "/api/todo:create", `{"model":{"title":"once"}}`, "Idempotency-Key", "k").object(http.StatusCreated))
	require.EqualValues(t, 1, s.do("POST", "/api/todo:count", `{"filter":{"title":"once"}}`).object(http.StatusOK)["count"])
	require.Equal(t, http.StatusMethodNotAllowed, s.do("POST", "/api/audit-log:create", `{"model":{}}`).status, "a read-only entity has none")
}
