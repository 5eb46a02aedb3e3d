package oauth

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/internal/bearer"
)

func TestMetadata(t *testing.T) {
	v, err := New(Options{
		Issuer: "https://id.example.org", Resource: resource, Name: "todo", Scopes: func() []string { return []string{"todo.read"} },
	})
	require.NoError(t, err)
	ask := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		v.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w
	}
	for _, path := range []string{WellKnown, WellKnown + "/mcp"} {
		w := ask(http.MethodGet, path)
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "*", w.Header().Get("Access-Control-Allow-Origin"))
		var got map[string]any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		require.Equal(t, map[string]any{
			"resource": resource, "authorization_servers": []any{"https://id.example.org"}, "scopes_supported": []any{"todo.read"},
			"bearer_methods_supported": []any{"header"}, "resource_name": "todo",
		}, got)
	}
	require.Equal(t, http.StatusNotFound, ask(http.MethodGet, WellKnown+"/other").Code)
	require.Equal(t, http.StatusNoContent, ask(http.MethodOptions, WellKnown).Code)
	require.Equal(t, http.StatusMethodNotAllowed, ask(http.MethodPost, WellKnown).Code)

	require.Equal(t, `Bearer realm="koan", scope="todo.read", resource_metadata="https://tools.example.org/.well-known/oauth-protected-resource/mcp"`,
		v.Challenge(bearer.Challenge{}).String())
	c, ok := v.StepUp([]string{"todo.read"})
	require.True(t, ok)
	require.Contains(t, c.String(), `error="insufficient_scope"`)
	require.Contains(t, c.String(), `scope="todo.read"`)
	_, ok = v.StepUp([]string{"todo.read", "secret"})
	require.False(t, ok, "strangers are not told of that scope")
}
