package framework_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
)

// A program that embeds an app asks callers who they are as the app's own server does.
func TestCallersOfAnEmbeddedApp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	const token = "secret"
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "tokens:\n  - {subject: ann, sha256: %x, scopes: [entities:write], sets: [default]}\n", sha256.Sum256([]byte(token))), 0o600))
	var life []string
	i, err := framework.New(t.Context(), app(&life), framework.Options{Log: quiet(), Config: framework.Source{Flags: map[string]string{"server.tokensFile": file}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, i.Stop(t.Context())) })
	callers, err := i.Callers("https://example.org/mcp")
	require.NoError(t, err)
	call := func(authorization string) (framework.Principal, error) {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("Authorization", authorization)
		return callers.Authenticate(r)
	}
	p, err := call("Bearer " + token)
	require.NoError(t, err)
	require.Equal(t, "ann", p.Subject)
	_, err = call("Bearer another")
	require.Equal(t, fault.Unauthorized, fault.CodeOf(err))
}
