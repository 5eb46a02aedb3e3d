package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
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
