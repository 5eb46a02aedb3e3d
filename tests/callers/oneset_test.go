package callers

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rest sends a request to the REST API, and returns the response's status and body.
func (s *server) rest(token, method, path, body string, header ...string) (int, string) {
	s.t.Helper()
	resp := s.open(token, method, path, body, header...)
	raw, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp.StatusCode, string(raw)
}

// open sends a request to the REST API.
func (s *server) open(token, method, path, body string, header ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, strings.TrimSuffix(s.url, "/mcp")+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// TestTheOnlySetOfACallerIsItsDefault: whoever may name one set alone names it nowhere, on any face.
func TestTheOnlySetOfACallerIsItsDefault(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens := write(t, dir, "tokens.yaml", "tokens:\n"+token("branch", "'*'", "branch-a")+token("both", "'*'", "default, branch-a")+token("any", "'*'", "'branch-*'"))
	s := serve(t, dir, "--server.tokensFile", tokens, "--codeMode.faces", "koan,codemode", "--exposure", "full", "--tools.style", "perEntity")
	stream := bufio.NewReader(s.open("branch", "GET", "/api/events?entity=Event", "").Body)
	opened, err := stream.ReadString('\n') // it follows from here on
	require.NoError(t, err)
	require.NotEmpty(t, opened)

	title := func(a answer) any {
		require.Empty(t, a.fault(), a.raw)
		return a.data()["title"]
	}
	require.Equal(t, "tool", title(s.tool("branch", "event.upsert", map[string]any{"model": map[string]any{"id": "t", "title": "tool"}})))
	for name, code := range map[string]string{
		"method":  `SDK.Entities.Event.upsert({ id: "s", title: SDK.run.set }).title`,
		"module":  `import { event_upsert } from "@codemode/servers/koan"; globalThis.result = (await event_upsert({ model: { id: "m", title: "branch-a" } })).title`,
		"request": `SDK.Entities.Event.upsert({ id: "q", title: "branch-a" }, "branch-a").title`,
	} {
		require.Equal(t, "branch-a", s.script("branch", code).data()["result"], name)
	}
	status, body := s.rest("branch", "POST", "/api/event", `{"id":"r","title":"rest"}`)
	require.Equal(t, http.StatusCreated, status, body)
	for _, query := range []string{"", "?set=branch-a"} { // with a key, alike: naming the default changes nothing
		status, body = s.rest("branch", "PUT", "/api/event/r"+query, `{"id":"r","title":"kept"}`, "If-None-Match", "*", "Idempotency-Key", "one")
		require.Equal(t, http.StatusPreconditionFailed, status, body)
	}
	status, body = s.rest("branch", "GET", "/api/event?sort=id&fields=id", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"items":[{"id":"m"},{"id":"q"},{"id":"r"},{"id":"s"},{"id":"t"}]`)

	page := s.ask("branch", "resources/read", map[string]any{"uri": "koan://entities/Event"})
	require.Contains(t, page.raw, `rest`, page.raw)
	require.Contains(t, strings.Join(s.ask("branch", "resources/list", nil).names(t, "resources", "uri"), " "), "koan://entities/Event")

	status, body = s.rest("branch", "POST", "/api/files", "a file", "Content-Type", "text/plain")
	require.Equal(t, http.StatusCreated, status, body)
	id, _, _ := strings.Cut(body[strings.Index(body, "file_"):], `"`)
	require.Equal(t, "a file", s.script("branch", `SDK.Files.text("`+id+`")`).data()["result"])
	require.Equal(t, "made", s.script("branch", `SDK.Files.text(SDK.Files.create({ text: "made" }).id)`).data()["result"])
	status, body = s.rest("both", "GET", "/api/files/"+id, "")
	require.Equal(t, http.StatusOK, status, body)

	seen := map[string]bool{}
	for len(seen) < 5 {
		line, err := stream.ReadString('\n')
		require.NoError(t, err)
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			require.Contains(t, data, `"set":"branch-a"`)
			seen[data] = true
		}
	}

	require.EqualValues(t, 1, s.script("both", `SDK.Entities.Event.count()`).data()["result"], "of two sets, the default one is the default")
	require.EqualValues(t, 5, s.script("both", `SDK.Entities.Event.count({}, "branch-a")`).data()["result"])
	require.Equal(t, "unknown_set", s.script("any", `SDK.Entities.Event.count()`).fault(), "a pattern is no set")
}
