package rest

import (
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/pgtest"
)

// awkwardIDs are those that a server, a client or a proxy could take for more than one step of a
// path, or for none.
var awkwardIDs = []string{
	"https://example.com/list/1", "a//b", "/x", "x/", "/", "//", "a/./b", "a/../b", "../..", "./", "/..", "...", ".a",
	`a\b`, "a?b#c", "a%2Fb", "%2e%2e", "a b+c", "a;b,c", "a:query", "+new", "ä/日本",
}

// What a Location names can be read, changed, replaced and deleted there.
func TestLocationOfAnyID(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestLocationOfAnyID) {
		return
	}
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	var paths []string
	for _, id := range awkwardIDs {
		made := s.do("POST", "/api/todo", `{"id":`+strconv.Quote(id)+`,"title":"made"}`)
		require.Equal(t, id, made.object(http.StatusCreated)["id"])
		at := made.header.Get("Location")
		paths = append(paths, at)
		require.Equal(t, id, s.do("GET", at, "").object(http.StatusOK)["id"], at)
		require.Equal(t, "patched", s.do("PATCH", at, `{"title":"patched"}`, "If-Match", `"1"`).object(http.StatusOK)["title"], at)
		require.Equal(t, "put", s.do("PUT", at, `{"title":"put"}`).object(http.StatusOK)["title"], at)
		require.EqualValues(t, 1, s.do("DELETE", at, "").object(http.StatusOK)["deleted"], at)
		again := s.do("PUT", at, `{"title":"again"}`, "If-None-Match", "*")
		require.Equal(t, id, again.object(http.StatusCreated)["id"])
		require.Equal(t, at, again.header.Get("Location"))
	}
	needs.Program(t, "curl")
	for i, at := range paths {
		out, err := exec.Command("curl", "-sS", "-L", s.url+at).CombinedOutput()
		require.NoError(t, err)
		require.Contains(t, string(out), `"title":"again"`, awkwardIDs[i])
	}
	needs.Node(t)
	node := exec.Command("node", "-e", `for (const at of process.argv.slice(2)) { const r = await fetch(new URL(at, process.argv[1])); if (!r.ok) throw new Error(at + ": " + r.status); console.log((await r.json()).id); }`, "--input-type=module", s.url)
	node.Args = append(node.Args, paths...)
	out, err := node.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, awkwardIDs, strings.Split(strings.TrimSpace(string(out)), "\n"))
}

// Dots alone are steps of a path for every client, however they are encoded: no address is made of
// them. Rows that have them from elsewhere can be reached by operations that take ids in the body.
func TestIDThatNoPathCanHave(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestIDThatNoPathCanHave) {
		return
	}
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	for _, id := range []string{".", ".."} {
		for _, c := range []struct{ method, path, body string }{
			{"POST", "/api/todo", `{"id":"` + strings.ReplaceAll(id, ".", `\u002e`) + `","title":"x"}`},
			{"PUT", "/api/todo/" + strings.ReplaceAll(id, ".", "%2e"), `{"title":"x"}`},
		} {
			r := s.do(c.method, c.path, c.body)
			code, path := r.problem(http.StatusBadRequest)
			require.Equal(t, []string{"invalid_payload", "/id"}, []string{code, path}, "%s", r.body)
			require.Contains(t, string(r.body), ":query")
		}
		s.kit.Run(`SDK.Entities.Todo.upsert({ id: SDK.args, title: "scripted" })`, koantest.Input{Args: id})
		found := s.do("POST", "/api/todo:query", `{"filter":{"id":"`+id+`"}}`).object(http.StatusOK)
		require.Len(t, found["items"], 1)
		require.EqualValues(t, 1, s.do("POST", "/api/todo:update-by-query", `{"filter":{"id":"`+id+`"},"changes":{"notes":"n"},"maxAffected":1}`).object(http.StatusOK)["updated"])
		require.EqualValues(t, 1, s.do("POST", "/api/todo:delete-many", `{"ids":["`+id+`"]}`).object(http.StatusOK)["deleted"])
	}
}

// Paths that are not clean name nothing, whoever serves them.
func TestPathsThatAreNotClean(t *testing.T) {
	t.Parallel()
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	for _, path := range []string{"/api/files/..%2F..%2Fetc%2Fpasswd", "/api/todo%2F1", "/api%2Ftodo", "/api/todo/%2e%2e/1", "/health%2F..%2Fstatus", "/api/actions/..%2Fgreet", "/tools%2Fgreet"} {
		require.Equal(t, http.StatusNotFound, s.do("GET", path, "").status, path)
	}
}
