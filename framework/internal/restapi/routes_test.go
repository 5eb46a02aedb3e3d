package restapi

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

// Each route has its place in everything that is made of the table: its method is served, entities
// cannot have its path, the document has it unless it is private, and so has the reference.
func TestRoutesAreComplete(t *testing.T) {
	reserved := map[string]bool{}
	for _, r := range fixedRoutes() {
		below, ok := strings.CutPrefix(r.path, apiPath)
		first, _, _ := strings.Cut(below, "/")
		if ok && !strings.HasPrefix(first, "{") {
			reserved[first] = true
		}
		require.NotNil(t, r.serve, r.path)
		require.False(t, r.private && r.describe != nil, r.path)
	}
	require.Equal(t, slices.Sorted(maps.Keys(reserved)), catalog.ReservedPaths())
	for path := range reserved {
		_, ok := catalog.Routed(path)
		require.False(t, ok, path)
	}
	require.Equal(t, []string{"/api", "/api/", "/docs", "/health", "/openapi.json", "/status", "/status/", "/tools", "/tools/"}, Paths())

	var pages strings.Builder
	for _, page := range []string{"reference/rest.md", "howto/console.md"} {
		text, err := os.ReadFile("../../../docs/" + page)
		require.NoError(t, err)
		pages.Write(text)
	}
	named := strings.NewReplacer("{entity}", "ENTITY", "{id...}", "ID", "{id}", "ID", "{name}", "NAME", "{domain}", "DOMAIN", "{function}", "FUNCTION")
	for _, r := range fixedRoutes() {
		path := named.Replace(r.path)
		require.True(t, strings.Contains(pages.String(), path) || strings.Contains(pages.String(), strings.TrimPrefix(path, "/api/console")), "the docs lack %s", path)
	}
}
