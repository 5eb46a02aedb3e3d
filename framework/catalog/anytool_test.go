package catalog_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

func TestNamedTool(t *testing.T) {
	unlisted := catalog.ID{Kind: catalog.KindUpstream, Owner: "github", Op: catalog.AnyTool}
	tool, ok := unlisted.NamedTool(json.RawMessage(`{"tool":"list","input":{}}`))
	require.True(t, ok)
	require.Equal(t, catalog.ID{Kind: catalog.KindUpstream, Owner: "github", Op: "list"}, tool)
	for _, input := range []string{`{"tool":"a::b"}`, `{"tool":""}`, `{}`, `[`, ``} {
		_, ok := unlisted.NamedTool(json.RawMessage(input))
		require.False(t, ok, input)
	}
	_, ok = tool.NamedTool(json.RawMessage(`{"tool":"other"}`))
	require.False(t, ok)
}
